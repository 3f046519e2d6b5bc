"""The page The story: six scenes to scroll through beside one picture that stays."""
