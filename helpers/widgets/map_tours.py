"""The map's tours: sentences that drive the picture, filled in with the learner's own words."""

from helpers.pretrained.recurrent_trace import RecurrentTrace
from helpers.widgets.loss_words import loss_words, one_step
from helpers.widgets.map_words import words_of
from helpers.widgets.recurrent_tour import recurrent_tour

STRIP = 32  # entries of a vector in a colour strip: `map_data.entries` chooses them

# A step is a sentence and what the picture shows with it, if not all. Words in braces come from the
# trace. With `habit`, the page adds what the open head does on this sentence, or the clearest head
# does. With `answer`, a press on a decoder's head opens it, its first weight is framed, and the
# answer told. With `losses`, the loss of every row stands where the next token does, with `pushes`
# its gradient; with `back`, a wave runs from there to the embeddings.
STEPS = {
    "whole": (
        "This is a whole Transformer, translating one sentence. The encoder, above, reads it once. "
        "The decoder, below, runs once per token: here, it's about to write “{next}”.",
        {"written": "{written}"},
    ),
    "whole-encoder": (
        "This is a whole encoder at work on one sentence. It reads all tokens at once and returns "
        "one vector per token.",
    ),
    "whole-gpt": (
        "This is a whole GPT at work: a decoder without an encoder. It was given the first "
        "{n_given} tokens and wrote the blue ones itself, one after the other.",
    ),
    "whole-vit": (
        "This is a whole Vision Transformer at work. The picture is cut into {n_patches} patches, "
        "which play the part of words, and the model says what the picture shows.",
    ),
    "embeddings": (
        "A model calculates with numbers, so the text is cut into {n_source} tokens, and "
        "each token gets a vector of {width} learned numbers. Its strip shows {shown} of them as "
        "colours.",
        {"parts": ["embeddings"]},
    ),
    "positions": (
        "So far the model couldn't tell “dog bites man” from “man bites dog”. That is why each "
        "position has a vector as well, and it's added to the embedding.",
        {"parts": ["positions"]},
    ),
    "patches": (
        "One linear layer turns the pixels of a patch into a vector of {width} numbers. The class "
        "token isn't part of the picture, so it starts from a learned vector of its own.",
        {"place": "encoder/embedding", "beat": 0},
    ),
    "positions-rotary": (
        "So far two tokens' score is the same wherever they stand. That is why each head rotates "
        "queries and keys like clock hands (grey: before), further at each position: distance now "
        "counts.",
        {"place": "{turned}"},
    ),
    "positions-vit": (
        "So far equal patches get equal vectors, wherever they lie. That is why each place has a "
        "learned vector as well, and it's added to the patch's.",
        {"place": "encoder/embedding"},
    ),
    "self-attention": (
        "No token knows its neighbours yet. Each head (a square) lets it collect from all of them.",
        {"parts": ["self-attention"], "habit": True},
    ),
    "follow-source": (
        "Let's follow “{source}”. Bands show what it collects: in the first layer most from “{from_1}” "
        "({share_1}), in the last from “{from_2}” ({share_2}). Each layer goes on from what the one "
        "before found.",
        {"follow": "{follow_source}"},
    ),
    "self-attention-vit": (
        "In self-attention every patch collects from all patches. Each small picture is a head: "
        "the bluer a patch, the more the class token takes from it.",
        {"parts": ["self-attention"], "habit": True},
    ),
    "follow-class": (
        "Let's follow the class token. The wider a band, the more it collects from that patch, and "
        "the blue of each head's picture shows where these patches are.",
        {"follow": "encoder:0"},
    ),
    "guesses": (
        "Each layer adds to the class token's vector. Here is what the model would answer if it "
        "stopped there, and the probability of “{right}”. From which layer on does the answer "
        "stay?",
        {"parts": ["verdicts"]},
    ),
    "feed-forward": (
        "Attention only collects. To make something of it, a feed-forward network widens each "
        "vector to {hidden} numbers, sets the negative ones to 0 (what is left is blue) and narrows "
        "it again.",
        {"parts": ["feed-forward"]},
    ),
    "feed-forward-encoder": (
        "Attention only collects. A feed-forward network then works on each vector by itself: it "
        "widens it to {hidden} numbers, bends each with a GELU curve and narrows it again.",
        {"parts": ["feed-forward"]},
    ),
    "add-and-norm": (
        "Why doesn't mixing wash out the words? At each ⊕ a sublayer's result is only added to the "
        "vector that ran past it. Along this residual stream the embedding reaches the last layer.",
        {"parts": ["add-and-norm"]},
    ),
    "memory": (
        "The encoder is done. Its output, the memory, has one vector per source token, and each now "
        "depends on the whole sentence. It's computed once and read for every token that is written.",
        {"parts": ["memory"]},
    ),
    "masked": (
        "The decoder's own attention is masked. A token is allowed to attend to itself and "
        "earlier tokens only: the later ones aren't written yet. Which weight must be 1? "
        "Guess, then press a square.",
        {
            "parts": ["masked-self-attention"],
            "answer": "The framed weight is 1.00: “<bos>” has nothing else to attend to.",
        },
    ),  # fmt: skip
    "masked-gpt": (
        "What is to be predicted must stay hidden, so above each diagonal the weights are 0.",
        {"parts": ["masked-self-attention"], "habit": True},
    ),
    "matching": (
        "How does a token find what it needs? In a head, its query (what it looks for) meets each "
        "key (what a token offers). The larger their dot product, the score, the more it takes.",
        {"place": "{head}", "beat": 2},
    ),
    "cross": (
        "How does the decoder know what to translate? The memory goes to each of its layers, and "
        "there cross-attention lets every target token collect from the source's tokens.",
        {"parts": ["cross-attention"]},
    ),
    "cross-queries": (
        "Cross-attention connects the two halves. Queries come from the decoder, keys and values "
        "from the memory, so each row spreads its weight over the source's tokens.",
        {"parts": ["cross-attention"]},
    ),
    "follow-target": (
        "The decoder has read “{read}” and is about to write “{next}”. In its last "
        "cross-attention, averaged over the heads, “{looked_at}” gets {looked_share} of the "
        "weight.",
        {"follow": "{follow_target}", "written": "{written}"},
    ),
    "output": (
        "The last vector, that of “{read}”, becomes one score per token of the vocabulary. A "
        "softmax turns the scores into probabilities: “{next}” gets {next_share}{drawn}.",
        {"parts": ["output"], "written": "{written}"},
    ),
    "classes": (
        "Only the class token's vector goes to the last linear layer. A softmax turns its scores, "
        "one per class, into probabilities: {next_share} for “{next}”. {aim}",
        {"parts": ["output"]},
    ),
    "choose": (
        "Now it's your turn. Some of the other pictures are misread. Which, would you guess? Press "
        "one to see what the model makes of it, layer by layer.",
    ),
    "loop-gpt": (
        "One of the likeliest tokens is drawn, here “{next}”, and read as well: the picture grows "
        "by a row, and the next token is drawn. Press play after the tour to see it happen.",
        {"parts": ["decoding"], "written": "{written}"},
    ),
    "loop": (
        "What is written is read back in, and the decoder goes on with the next token until it "
        "writes <eos>. Press play after the tour to see the whole translation appear.",
        {"parts": ["decoding"], "written": "{written}"},
    ),
    "layer": (
        "This is one layer from the inside. The line above runs past each sublayer: that's the "
        "residual stream, and at ⊕ the sublayer's result is added to it.",
        {"place": "{layer}"},
    ),
    "heads": (
        "A layer has {n_heads} heads, so a token can collect information in {n_heads} different "
        "ways at once. Does one of them look mostly at a neighbour? Guess, then press its square.",
        {"place": "{layer}"},
    ),
    "queries": (
        "Inside one head. Each token's vector is multiplied by three learned matrices. The first "
        "gives its query: what this token is looking for.",
        {"place": "{head}", "beat": 0, "habit": True},
    ),
    "keys": (
        "The second matrix gives the keys: what each token can be found by. They stand upright, "
        "so that every query meets every key.",
        {"place": "{head}", "beat": 1},
    ),
    "scores": (
        "Each cell is the dot product of its row's query and its column's key, divided by "
        "√{d_head}. A large score means that the two match.",
        {"place": "{head}", "beat": 2},
    ),
    "weights": (
        "A softmax turns each row of scores into weights. They are all positive and sum to 1, so "
        "what one token gains another one loses.",
        {"place": "{head}", "beat": 3},
    ),
    "mixture": (
        "The third matrix gives the values, and each row of weights mixes them. W_O then joins "
        "the mixtures of all heads, and the result is added to the token's vector.",
        {"place": "{head}", "beat": 5},
    ),
    "its-number": (
        "Why does “{looked_at}” get so much? In the last layer, head {cross_head}, what “{read}” "
        "is looking for (its query) fits what “{looked_at}” offers (its key), so {d_head} "
        "products add up to a large score.",
        {"place": "{cross_number}", "written": "{written}"},
    ),
    "why": (
        "Why “{looked_at}”? In head {cross_head}, query and key are sums of token, position and "
        "all that was written before, so the score splits into parts: one bar each. The headline "
        "names what decides.",
        {"place": "{why}", "written": "{written}"},
    ),
    "one-number": (
        "And here is where a single score comes from: {d_head} products, added up. A larger "
        "Transformer has more of these sums, but each of them works just like this one.",
        {"place": "{number}"},
    ),
    "logits": (
        "These are the ten largest logits. “{best}” is {ahead} ahead of “{second}”, and so a "
        "softmax makes it {times} times as likely. What does a temperature of 2 do to that? "
        "Guess, then try it.",
        {"place": "{output}", "written": "{written}"},
    ),
    "forced": (
        "In training the decoder reads the reference, whatever it would write itself (teacher "
        "forcing). That is why all rows are computed at once. In this one, “{next}” gets "
        "{next_share}.",
        {"parts": ["output"], "written": "{written}"},
    ),
    "loss": (
        "How wrong is each row? It costs −ln p of the reference's next token. “{costliest}” costs "
        "most: −ln {probability} = {costs} nats. The mean is the loss. {expected}",
        {"parts": ["loss"], "written": "{last}", "losses": True},
    ),
    "gradient": (
        "Which way should the logits go? The gradient of −ln p is p − y: {push} at “{costliest}”, "
        "so a step raises its logit; +{rival_share} at “{rival}”, so that one falls. The size says "
        "how far.",
        {"parts": ["loss"], "written": "{last}", "losses": True, "pushes": True},
    ),
    "training": (
        "From the logits, the gradient flows back along every line (green arrows) to each learned "
        "number. One step at learning rate {rate} takes this loss from {before} to {after}; "
        "training takes thousands.",
        {"written": "{last}", "losses": True, "back": True},
    ),
    "yours": (
        "Now it's your turn. Open a layer and find a head whose job you can name, or press a token "
        "to see where its information comes from.",
    ),
}

_HEAD = ["queries", "keys", "scores", "weights", "mixture", "one-number"]
TOURS = {
    "00": [
        "whole", "embeddings", "positions", "self-attention", "follow-source", "feed-forward",
        "memory", "masked", "cross", "follow-target", "output", "its-number",
    ],
    "03": ["self-attention", *_HEAD],
    "04": ["self-attention", "masked", *_HEAD],
    "05": ["embeddings", "positions"],
    "06": ["self-attention", "heads", "mixture", "cross-queries"],
    "07": [
        "layer", "add-and-norm", "feed-forward", "memory", "masked", "cross-queries",
        "follow-target", "why",
    ],
    "08": ["follow-target", "output", "logits", "loop"],
    "09": ["forced", "loss", "gradient", "training"],
    "14": [
        "whole", "embeddings", "masked", "matching", "positions", "follow-source", "feed-forward",
        "output", "logits", "loop",
    ],
    "15": [
        "whole", "embeddings", "positions", "self-attention", "follow-source", "memory", "output",
        "yours",
    ],
    "all": [
        "whole", "embeddings", "positions", "self-attention", "follow-source", "feed-forward",
        "add-and-norm", "memory", "masked", "cross-queries", "follow-target", "output", "loop",
        "layer", *_HEAD, "logits", "yours",
    ],
}  # fmt: skip
# What a model with a single stack has instead of a step, and which steps it doesn't have.
INSTEAD = {
    "": {
        "whole": "whole-encoder", "feed-forward": "feed-forward-encoder",
        "its-number": "one-number",
    },
    "GPT": {
        "whole": "whole-gpt", "positions": "positions-rotary", "masked": "masked-gpt",
        "feed-forward": "feed-forward-encoder", "loop": "loop-gpt", "its-number": "one-number",
    },
    "ViT": {
        "whole": "whole-vit", "embeddings": "patches", "positions": "positions-vit",
        "self-attention": "self-attention-vit", "follow-source": "follow-class",
        "feed-forward": "feed-forward-encoder", "output": "classes", "memory": "guesses",
        "yours": "choose", "its-number": "one-number",
    },
}  # fmt: skip
_OF_TWO_STACKS = {
    "memory", "cross", "cross-queries", "follow-target", "forced", "loss", "gradient", "training",
}  # fmt: skip
_WITHOUT_DECODER = {"masked", "loop", "logits", *_OF_TWO_STACKS}
WITHOUT = {
    "": {"output", *_WITHOUT_DECODER},
    "GPT": {"self-attention", *_OF_TWO_STACKS},
    "ViT": _WITHOUT_DECODER - {"memory"},
}


def tour_of(trace, tour, off=()) -> list[dict]:
    """Write a tour for one trace: a name from `TOURS`, names from `STEPS`, or "" for none.

    Each step has its `text` and what it sets: `place`, `follow`, `written`, `beat`, `parts`. Heads
    that are `off` aren't spoken of. If there is no such tour or step, it is a ValueError.
    """
    if isinstance(tour, str) and tour and tour not in TOURS:
        raise ValueError(f"there is no tour {tour!r}; there are: {', '.join(TOURS)}.")
    names = TOURS[tour] if isinstance(tour, str) and tour else list(tour)
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        raise ValueError(f"the tour has no step {unknown[0]!r}; there are: {', '.join(STEPS)}.")
    if isinstance(trace, RecurrentTrace):
        return recurrent_tour(trace) if names else []
    if len(trace.stacks) == 1:
        untrue = {"positions-rotary": trace.adds_positions, "choose": not trace.choices}
        instead = INSTEAD[trace.kind].items()
        instead = {name: other for name, other in instead if not untrue.get(other)}
        names = [instead.get(name, name) for name in names if name not in WITHOUT[trace.kind]]
    names = [name for name in names if name != "why" or trace.splits]
    words = words_of(trace, off)
    words["shown"] = min(STRIP, words["width"])
    if len(trace.stacks) == 2:
        words |= loss_words(trace) | (one_step(trace) if "training" in names else {})
    return [_filled(words, *STEPS[name]) for name in names]


def _filled(words, text, state=None):
    def fill(value):
        return words.get(value[1:-1], value) if isinstance(value, str) else value

    state = {key: fill(value) for key, value in (state or {}).items()}
    return {"text": text.format(**words), **state}
