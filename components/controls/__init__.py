"""Controls made from the fields of a configuration, and editable tables of numbers."""
