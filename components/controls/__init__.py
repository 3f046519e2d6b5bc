"""Controls made from the fields of a configuration, and tables of numbers that one edits."""
