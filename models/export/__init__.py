"""Take a result home: configuration, numbers, a script, a digest. Torch-free."""
