"""What every page has around its content: address, links, hiding, theme, words and names."""
