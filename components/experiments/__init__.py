"""What the pages of claims and papers share: cards of which one is open, and its run."""
