"""The trainer: one worker process that computes tapes, and the torch-free client that the pages hold."""
