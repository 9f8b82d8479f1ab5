"""Pictures drawn by matplotlib from a model's own numbers."""

from helpers import plots
from helpers.pretrained.translator import load_translator


def attention_of_a_translation():
    """A heatmap: rows are English words as they are written, columns the French words read;
    red and coat cross over.
    """
    plots.style()
    sentence = "Une petite fille en manteau rouge joue avec un chien noir."
    weights, written, read = load_translator().attend(sentence).maps["cross"]
    return plots.attention_heatmap(weights[-1].mean(0), written, read).figure


PICTURES = [attention_of_a_translation]
