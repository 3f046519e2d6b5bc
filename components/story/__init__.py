"""The page The story: five scenes to scroll through beside one picture that stays."""
