"""The films of lessons 04 and 08: a map of attention fills; training beside writing."""

import torch
import torch.nn.functional as F

from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import BOS, EOS
from helpers.transformer.decoding import greedy
from helpers.widgets.svg import number
from images.stage import TEXT, Scene, film

# ---- lesson 04: every query meets every key ------------------------------------------------------

WORDS = ("the", "cat", "sleeps")
ACROSS, DOWN = (182, 286, 390), (104, 178, 252)  # the middles of columns and rows


def self_attention_filling():
    """A film: a map of attention over the cat sleeps. Copies of the query of the go along the first
    row, copies of the keys come down, and each meeting gives a score: 1, 4 and 3. A softmax turns
    the row into weights that sum to 1. The other two rows do the same, both at once, since no row
    waits for another. Then the weights of each row mix the values into a context.
    """
    x = torch.tensor([[1.0, 0, 1], [0, 2, 1], [1, 1, 0]])
    w_q = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0]])
    w_k = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 1, 0]])
    scores = (x @ w_q) @ (x @ w_k).T
    weights = (scores / 3**0.5).softmax(-1).tolist()
    # What is said; then how far row 0 and the two others are: 1 meeting, 2 scores, 3 weights.
    told = [
        ("Each word has a query, on the left, and a key, on top. Who attends to whom?", 0, 0),
        ("The query of “the” meets all three keys …", 1, 0),
        ("… and each dot product gives a score.", 2, 0),
        ("Scaled by √3, a softmax makes weights of them. The row sums to 1.", 3, 0),
        (
            "The other rows don't wait for it: all nine pairs meet in one product, Q Kᵀ.",
            3,
            1,
        ),
        ("Nine scores.", 3, 2),
        ("The softmax works along each row, never along a column.", 3, 3),
        ("Each row mixes the three values, and that's the word's context.", 3, 4),
    ]
    scenes = [_filling(scores.tolist(), weights, *moment) for moment in told]
    return film(scenes, 314)


def _filling(scores, weights, caption, first, others):
    scene = Scene(caption, key=(first, others) != (3, 2))
    scene.text("keys", 286, 18, "keys", "key", bold=True)
    scene.text("queries", 56, 66, "queries", "query", bold=True)
    for j, word in enumerate(WORDS):
        scene.card(f"key {j}", ACROSS[j], 42, word, "key", 92)
        scene.card(f"query {j}", 56, DOWN[j], word, "query", 92)
    for i, y in enumerate(DOWN):
        done = others if i else first
        for j, x in enumerate(ACROSS):
            name, weight = f"{i} {j}", weights[i][j]
            scene.rect(f"cell {name}", x - 50, y - 33, 100, 66, "value", "edge",
                       weight if done >= 3 else 0.0)  # fmt: skip
            if done == 1:
                turn = 0.15 * j, 0.15 * j + 0.6
                scene.card(
                    f"q {name}", x - 20, y, "q", "query", 36, True, 30, start=(56, y), when=turn
                )
                scene.card(
                    f"k {name}", x + 20, y, "k", "key", 36, True, 30, start=(x, 42), when=turn
                )
            elif done > 1:
                text = number(scores[i][j], 0) if done == 2 else f"{weight:.2f}"
                scene.text(f"in {name}", x, y + 7, text, "ink", 20, bold=True)
        if done == 4 or (others == 4 and not i):
            for j, x in enumerate(ACROSS):
                scene.dot(f"value {i} {j}", 461, y, 2 + 14 * weights[i][j], "value", opacity=0,
                          start={"x": x, "opacity": 1})  # fmt: skip
            scene.dot(f"context {i}", 461, y, 14, "result", when=(0.5, 1))
    if others == 4:
        scene.text("contexts", 476, 304, "contexts", "result", anchor="end", bold=True)
    return scene


# ---- lesson 08: training beside writing ----------------------------------------------------------

COLUMNS = [128 + 76 * i for i in range(5)]


def training_and_inference_decoder():
    """A film: the translator reads Une grande gare, above in training, below as it writes. In
    training the inputs are bos, A, large and station. One pass predicts A, large, train and eos;
    with the targets come the losses 0.1, 0.2, 1.8 and 0.3. The third prediction is wrong, but the
    next input is the true token, station. In writing each pass gives one token, which moves down
    and is the next input. The third is train, so train goes in, and the fourth is station, not eos.
    Five passes write A, large, train, station and eos.
    """
    translator = load_translator()
    source = translator.encode(["Une grande gare"])
    target = translator.tokenizer.encode("A large station", eos=True)
    with torch.inference_mode():
        logits = translator.model(source, torch.tensor([[BOS, *target[:-1]]]))[0]  # (T, V)
        written = greedy(translator.model.decoder_step(source), 1, BOS, EOS, max_len=10)[0]
    losses = F.cross_entropy(logits, torch.tensor(target), reduction="none").tolist()
    wanted, guessed, own = (
        [word.replace("▁", "") for word in translator.tokenizer.tokens(ids)]
        for ids in (target, logits.argmax(-1).tolist(), written)
    )
    # What is said, whether training's pass is done, the position that is meant, passes of writing.
    told = [
        ("Translate Une grande gare. In training, all true tokens go in at once.", False, None, 0),
        ("One pass gives a prediction at every position. Each has a loss, −log p.", True, None, 0),
        (
            "Position 3 is wrong, so its loss is high. The true “station” goes in even so.",
            True,
            2,
            0,
        ),
        ("Writing begins with <bos> alone. The first pass gives “A”.", True, None, 1),
        ("“A” goes in, and the second pass gives “large”.", True, None, 2),
        ("The third pass gives “train”, as in training …", True, 2, 3),
        ("… but now “train” itself goes in. So the fourth token changes: “station”.", True, 3, 4),
        ("Five tokens took five passes, one after the other. Training took one.", True, None, 5),
    ]
    scenes = [_both(wanted, guessed, losses, own, *moment) for moment in told]
    return film(scenes, 412)


def _both(wanted, guessed, losses, own, caption, trained, meant, passes):
    scene = Scene(caption, 1.8, key=passes != 2)
    _decoder(scene, "training", "query", 162, ["<bos>", *wanted[:-1]])
    scene.text(
        "title", 6, 18, "training: 1 pass" if trained else "training", "query", TEXT, "start", True
    )
    scene.text("target", 6, 51, "target", "query", anchor="start")
    for i, (word, loss) in enumerate(zip(wanted, losses, strict=True)):
        x, wrong = COLUMNS[i], meant == 2 and not passes and i == 2
        scene.card(f"target {i}", x, 45, word, "query", 72, wrong, 30)
        if trained:
            scene.card(f"guess {i}", x, 116, guessed[i], "key", 72, wrong, 30, start=(x, 162))
            scene.dot(f"loss {i}", x - 16, 81, 10 * loss**0.5, "result", start={"r": 0})
            scene.text(f"loss of {i}", x + 14, 87, f"{loss:.1f}", "result", bold=True)
    if trained:
        scene.text("guesses", 6, 122, "predicted", "key", anchor="start")
        scene.text("losses", 6, 87, "loss", "result", anchor="start")
    if passes:
        _written(scene, own, meant, passes)
    return scene


def _written(scene, own, meant, passes):
    many = "1 pass" if passes == 1 else f"{passes} passes"
    scene.text("writing", 6, 250, f"writing: {many}", "key", anchor="start", bold=True)
    scene.text("written", 6, 281, "predicted", "key", anchor="start")
    _decoder(scene, "writing", "key", 326, ["<bos>"], passes)
    x = COLUMNS[passes - 1]
    for i in range(passes - 1):  # each went in, below its next position
        old = i == passes - 2
        scene.card(f"own {i}", COLUMNS[i + 1], 372, own[i], "key", 72, old and passes == 4, 30,
                   when=(0, 0.45) if old else (0, 1))  # fmt: skip
    new = passes - 1
    scene.card(
        f"own {new}",
        x,
        275,
        own[new],
        "key",
        72,
        meant == new,
        30,
        start=(x, 326),
        when=(0.6, 1),
    )


def _decoder(scene, name, colour, y, given, width=None):
    """Draw a decoder over its inputs, as wide as it has inputs."""
    wide = 76 * (width or len(given))
    scene.rect(f"{name} decoder", COLUMNS[0] - 36, y - 18, wide - 4, 36, "muted", "muted", 0.15)
    scene.text(f"{name} name", 6, y + 6, "decoder", "muted", anchor="start")
    scene.text(f"{name} inputs", 6, y + 52, "inputs", colour, anchor="start")
    for i, word in enumerate(given):
        scene.card(f"{name} {i}", COLUMNS[i], y + 46, word, colour, 72, False, 30)


PICTURES = [self_attention_filling, training_and_inference_decoder]
