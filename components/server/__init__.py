"""The web server's defence: admission by host and address, bounds for each client, and the headers of every answer."""
