"""Lesson 00, start here."""

from helpers.exercises.model import Exercise, Mistake, normal


def alignment_from_weights(weights):
    """Find the source word with the most weight for every target word: (T, S) -> (T,)."""
    return weights.argmax(dim=-1)


# fmt: off
EXERCISES = [
    Exercise(
        name="alignment_from_weights", title="which source token each written token looks at",
        task="Return, for every row, the position of the largest weight. A row belongs to a token that was written, a column to a token that was read.",
        minutes=3, difficulty=1, importance=2,
        reference=alignment_from_weights, draw=normal("t s", (2, 3), (4, 6), (5, 7), scale=2, then=lambda x: (x.softmax(-1),)),
        mistakes=[
            Mistake("down the columns", "argmax(dim=-1)", "argmax(dim=-2)",
                    "This finds, for every token that was read, the written token that looks at it most: one result per column. The exercise asks for one per row. Which dimension runs along a row?"),
            Mistake("weight instead of position", "argmax", "amax",
                    "This is how much weight the best word has. The exercise asks for its position: argmax."),
            Mistake("a dimension of size 1 kept", "dim=-1", "dim=-1, keepdim=True",
                    "The shape is (T, 1). One position per row is (T,), so leave out keepdim."),
            Mistake("counted from 1", "return", "result + 1",
                    "The positions are counted from 1. Here, as everywhere in Python, they start at 0."),
            Mistake("average position", "return", "(weights * weights.new_tensor(range(weights.shape[-1]))).sum(-1)",
                    "This is the average position. A word that attends to the first and to the last source word would be aligned with the middle, which it doesn't attend to."),
        ],
        also_right=[lambda w: w.sort(dim=-1, descending=True).indices[..., 0]],
        pytorch="`t.argmax(dim=0)` finds the position of the largest number in each column of a table, `t.argmax(dim=-1)` in each row: the last dimension is the one that runs along a row.",
        then="The next cell uses it to link the words of the map.",
        hints=["Take one row. At which position is the largest number?", "weights.argmax(dim=-1)"],
        look_at="Taking the largest weight discards the others. Where two words share the weight, as with French “ne … pas” for “not”, the alignment shows only one of them.",
    ),
]
