"""Tests on inputs that Hypothesis draws."""

from hypothesis import given, settings


def drawn(*strategies, most=60, **named):
    """Run a test on up to `most` draws from strategies: the same each time, however slow it is."""
    often = settings(max_examples=most, deadline=None, derandomize=True)
    return lambda test: often(given(*strategies, **named)(test))
