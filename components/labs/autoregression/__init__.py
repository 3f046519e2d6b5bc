"""The autoregression lab."""
