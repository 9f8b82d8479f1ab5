"""Where a model attended: its maps, and the tokens to read them by."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attention:
    """Where a model looked, with the tokens to read it by.

    Parameters
    ----------
    maps : dict of str to (weights, query_tokens, key_tokens)
        Weights have the shape (layers, heads, queries, keys). A translation has the maps
        "encoder", "decoder" and "cross"; BERT has "encoder".
    source_tokens : list of str
        What the encoder read.
    target_tokens : list of str
        What the decoder wrote; empty where there is no decoder. Row t of "decoder" and "cross" was
        computed when token t was written. Its query is the decoder's newest *input* at that
        moment, the token before, and that is what both maps carry on their rows.
    """

    maps: dict
    source_tokens: list
    target_tokens: list

    def __repr__(self):
        shapes = ", ".join(f"{name} {tuple(w.shape)}" for name, (w, _, _) in self.maps.items())
        return f"Attention({shapes})"
