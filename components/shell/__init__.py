"""The frame of every page: address and links, hidden parts, theme, session, text and names."""
