"""What there is to learn: lessons with their challenges,
common errors, and the words of the app. No torch, no drawing.
"""
