"""The labs: lecture notes as things to touch. Each page composes parts that stand here."""
