"""What draws the learning pages: lessons, common errors, glossary."""
