"""The Transformer and its parts, as boxes and arrows."""

PICTURES = []
