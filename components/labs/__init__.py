"""The labs: worked examples to experiment with. Each lab is a folder; what several share is here."""
