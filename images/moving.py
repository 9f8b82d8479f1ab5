"""Films: what happens one step after the other."""

PICTURES = []
