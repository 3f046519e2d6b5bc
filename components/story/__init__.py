"""The page The story: five scenes that are scrolled, beside one picture that stays."""
