"""The Transformer with the parts lit that a learner wrote."""

from helpers.notebook import ON_DARK
from helpers.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, tint
from helpers.widgets.stills import DRAWING, as_image
from helpers.widgets.svg import Sheet

WIDTH, HEIGHT, ROOM = 256, 46, 72  # of a box, and from one box to the next
ATTENTION = (
    "scaled_dot_product_attention", "split_heads", "merge_heads", "multi_head_attention",
    "MultiHeadAttention",
)  # fmt: skip
NORMS = "layer_norm", "residual_post_norm", "residual_pre_norm"
WRITING = "greedy_decode", "write", "top_k_filter", "top_p_filter", "beam_step"
COLUMNS = {
    "encoder": [
        ("embedding, positions", GREY, ("sinusoidal_positions", "Embedding")),
        ("self-attention", BLUE, (*ATTENTION, "padding_mask")),
        ("add & norm", GREY, NORMS),
        ("feed-forward", GREEN, ("feed_forward",)),
        ("encoder layer", BLUE, ("EncoderLayer",)),
    ],
    "decoder": [
        ("masked self-attention", ORANGE, (*ATTENTION, "causal_mask", "decoder_mask")),
        ("cross-attention", PURPLE, (*ATTENTION, "padding_mask")),
        ("feed-forward", GREEN, ("feed_forward",)),
        ("decoder layer", ORANGE, ("DecoderLayer",)),
        ("the whole Transformer", PURPLE, ("Transformer",)),
    ],
    "around it": [
        ("Bahdanau's attention", GREY, ("additive_scores", "attention_context")),
        ("one word at a time", GREY, ("attend", "simple_self_attention")),
        ("loss, learning rate", GREY, ("cross_entropy", "smooth_targets", "warmup_rate")),
        ("training", GREEN, ("train",)),
        ("writing", PURPLE, WRITING),
    ],
}


def draw(mine: dict[str, bool]) -> str:
    """Draw the parts of a Transformer, filled as far as they are the learner's: an ``<img>``.

    `mine` says of every part whether the learner wrote it. Parts that aren't drawn don't matter.
    """
    sheet, said = Sheet(3 * WIDTH + 100, 40 + 5 * ROOM), []
    sheet.rect(0, 0, sheet.width, sheet.height, "white", round=8)
    for i, (column, boxes) in enumerate(COLUMNS.items()):
        x = 16 + i * (WIDTH + 34)
        sheet.text(x, 24, column, GREY)
        for j, (title, colour, names) in enumerate(reversed(boxes)):
            y = 38 + j * ROOM
            known = [name for name in names if name in mine]
            own = sum(mine[name] for name in known)
            if not known:
                continue
            _box(sheet, x, y, title, colour, own, len(known))
            if j + 1 < len(boxes) and column != "around it":
                sheet.arrow(x + WIDTH / 2, y + ROOM, x + WIDTH / 2, y + HEIGHT + 2)
            said.append(f"{title}: {own} of {len(known)}")
    alt = f"The Transformer, and how many of its parts are yours. {'; '.join(said)}."
    still = as_image(sheet.to_svg(alt), alt, f'width="{sheet.width}" {DRAWING}')
    return f"{still}<style>{ON_DARK}</style>"


def _box(sheet, x, y, title, colour, own, n):
    sheet.rect(x, y, WIDTH, HEIGHT, "white", round=6)
    if own:
        sheet.rect(x, y, WIDTH * own / n, HEIGHT, tint(colour, 0.35), round=6)
    line, said = (2.5, "✓") if own == n else (1.5, f"{own}/{n}")
    sheet.rect(x, y, WIDTH, HEIGHT, "none", colour if own else tint(GREY, 0.4), line, 6)
    sheet.text(x + 10, y + 29, title, bold=own == n)
    sheet.text(x + WIDTH - 10, y + 29, said, GREY, anchor="end", bold=own == n)
