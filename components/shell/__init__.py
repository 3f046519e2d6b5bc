"""What every page shares besides charts: address and links, hidden parts, theme, session, text and names."""
