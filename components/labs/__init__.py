"""The labs: worked examples to change. Each page composes parts that stand here."""
