"""The trainer: one worker process that computes logs, and the torch-free client that the pages hold."""
