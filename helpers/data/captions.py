"""Twenty captions of our own, in the manner of Multi30k, with our translations.

They are small enough to be here, and new to the bundled translator.
"""

from helpers.machine.tables import table_beside

# Pairs of a French and an English text.
CAPTIONS = tuple(table_beside(__file__).items())
