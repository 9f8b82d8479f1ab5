"""The site's translator in JavaScript, run by node beside the same model in PyTorch."""

import base64
import random
import re
from pathlib import Path

import numpy
import pytest
import torch
from nodes import MODULE, answered, needs_node

from helpers.pretrained.translator import TRANSLATOR
from helpers.text.tokenization import BOS
from helpers.widgets.map_data import pack_trace, problem_with

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
pytestmark = needs_node
SENTENCES = [
    "Un chien noir court dans la neige avec un bâton.",
    "Une petite fille en manteau rouge joue avec un chien noir.",
    "L’homme  qu'on voit\u00a0s'e\u0301lance à 3 m. de « l'autobus » !",  # all that `clean` changes
    "framboise",
    "?",
    "Xyzzy, 1234567 kilomètres; ça & là: œuvre d'Été (20 %)",
    "Un vieil homme assis sur un banc regarde " + "les enfants qui jouent et " * 3 + "les oiseaux.",
]
REFUSED = ["", " \n", "Он спит.", "Un <eos> chien", "Un chien " * 200]


def in_javascript(sentences):
    asked = {
        "weights": str(TRANSLATOR),
        "tokenizer": str(TRANSLATOR.with_suffix(".tokenizer.json")),
        "sentences": sentences,
    }
    return answered(str(HERE / "translate.mjs"), feed=asked)


@pytest.fixture(scope="module")
def answers():
    return dict(zip(SENTENCES, in_javascript(SENTENCES), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("sentence", SENTENCES)
def test_ids_translation_and_logits_are_those_of_pytorch(sentence, translator, answers):
    answer = answers[sentence]
    src_ids, found = translator._pair(sentence)
    assert answer["ids"] == src_ids[0].tolist()
    assert answer["found"] == found
    assert answer["translation"] == translator.translate(sentence)
    with torch.inference_mode():
        expected = translator.model(src_ids, torch.tensor([[BOS, *found[:-1]]]))[0]
    logits = numpy.frombuffer(base64.b64decode(answer["logits"]), numpy.float32)
    assert numpy.abs(logits - expected.numpy().ravel()).max() < 1e-4


def unpacked(data):
    return numpy.frombuffer(data, "<i2").astype(int)


def arrays(described):
    """List the arrays of a described trace, wherever they are."""
    if isinstance(described, dict) and "at" in described:
        return [described]
    parts = described.values() if isinstance(described, dict) else described
    return [one for part in parts if isinstance(part, dict | list) for one in arrays(part)]


@pytest.mark.slow
@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_map_gets_the_numbers_that_python_sends(sentence, translator, answers):
    answer = answers[sentence]
    trace = translator.trace(sentence)
    described, data = pack_trace(trace)
    ours, theirs = unpacked(base64.b64decode(answer["data"])), unpacked(data)
    assert len(ours) == len(theirs)
    pairs = list(zip(arrays(answer["described"]), arrays(described), strict=True))
    assert len(pairs) > 80
    for mine, wanted in pairs:
        assert (mine["at"], mine["shape"]) == (wanted["at"], wanted["shape"])
        scale = wanted.pop("scale")
        assert mine.pop("scale") == pytest.approx(scale, rel=1e-4)
        here = slice(wanted["at"], wanted["at"] + numpy.prod(wanted["shape"]))
        assert numpy.abs(ours[here] - theirs[here]).max() <= 1
    candidates, wanted = (one.pop("candidates") for one in (answer["described"], described))
    assert [[word for word, *_ in row] for row in candidates] == [
        [word for word, *_ in row] for row in wanted
    ]
    # Whether a token can be scored comes fourth, from Python alone: in a page nothing is scored.
    numbers, others = ([part[1:4] for row in one for part in row] for one in (candidates, wanted))
    assert numpy.allclose(numbers, others, atol=1.1e-3)
    assert answer["described"] == described
    assert answer["problem"] == problem_with(trace)


def test_what_python_refuses_is_refused_in_a_sentence(translator):
    for sentence, answer in zip(REFUSED, in_javascript(REFUSED), strict=True):
        with pytest.raises(ValueError):
            translator.trace(sentence)
        assert answer["kind"] == "Unreadable"
        assert re.fullmatch(r"[A-Z].*\.", answer["error"])


@pytest.mark.slow
def test_a_sentence_too_long_for_the_map_is_translated_all_the_same(translator):
    long = "Un homme et une femme marchent dans la rue avec " + "un chien et " * 20 + "un chat."
    (answer,) = in_javascript([long])
    assert answer["translation"] == translator.translate(long)
    assert answer["problem"] == problem_with(translator.trace(long))
    assert "too thin to see" in answer["problem"]


def test_text_of_every_kind_is_cut_into_the_same_pieces(translator):
    letters = sorted(translator.alphabet) + ["\u2019", "\t", "\u00a0", "e\u0301", "'s", "  "]
    texts = ["".join(random.choices(letters, k=random.randint(1, 40))) for _ in range(300)]
    texts = [f"x{text}" for text in texts]  # never empty
    script = (
        'import { readFileSync } from "node:fs";\n'
        f"import {{ Tokenizer }} from {str(ROOT / 'web/static/tokenizer.js')!r};\n"
        'const { file, texts } = JSON.parse(readFileSync(0, "utf8"));\n'
        'const tokenizer = new Tokenizer(JSON.parse(readFileSync(file, "utf8")));\n'
        "const cut = (text) => tokenizer.encode(text);\n"
        "const rows = texts.map((text) => [cut(text), tokenizer.tokens(cut(text)),"
        " tokenizer.decode(cut(text))]);\n"
        "process.stdout.write(JSON.stringify(rows));"
    )
    asked = {"file": str(TRANSLATOR.with_suffix(".tokenizer.json")), "texts": texts}
    found = answered(*MODULE, script, feed=asked)
    tokenizer = translator.tokenizer
    for text, (ids, tokens, back) in zip(texts, found, strict=True):
        assert ids == tokenizer.encode(text)
        assert tokens == tokenizer.tokens(ids)
        assert back == tokenizer.decode(ids)
