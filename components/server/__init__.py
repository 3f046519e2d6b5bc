"""The web server's defence: whom it lets in, how much each may hold, and the headers of its answers."""
