"""The map: its trace holds the model's own numbers, and they reach the browser."""

import base64
import dataclasses
import json
import re

import numpy
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from ipywidgets import embed
from nodes import MODULE, answered, needs_node
from samples import refuses

from helpers.data.clothes import CLASSES, Pictures, as_input, clothes
from helpers.models.bert import BertConfig, BertEncoder
from helpers.pretrained.storyteller import load_storyteller
from helpers.pretrained.toy_models import load_toy
from helpers.pretrained.trace import trace_encoder, trace_translation
from helpers.pretrained.wardrobe import load_wardrobe
from helpers.text.tokenization import BOS, EOS
from helpers.transformer.attention import heads_off
from helpers.transformer.masks import causal_mask
from helpers.transformer.transformer import Transformer, TransformerConfig
from helpers.widgets import map_data
from helpers.widgets.map_data import entries, pack_recurrent, pack_trace
from helpers.widgets.map_inside import TEMPERATURES, pack_insides
from helpers.widgets.map_places import HERE
from helpers.widgets.map_tours import STEPS, STRIP, TOURS
from helpers.widgets.model_map import model_map
from helpers.widgets.modules import STATIC

GOOD_PLACES = [
    "encoder/0", "encoder/2/self-attention/3", "decoder/1/cross-attention/0/2,11",
    "decoder/0/masked-self-attention/1/0,0", "encoder/embedding", "decoder/output", "",
    "encoder/0/self-attention/norm/3", "decoder/2/feed-forward/norm/0", "encoder/embedding/10",
    "encoder/0/feed-forward/neuron/14,11", "decoder/0/cross-attention/1/v/11",
    "encoder/2/self-attention/0/1,2/why", "encoder/2/self-attention/0/1,2/why,0",
    "decoder/1/cross-attention/join/11",
]  # fmt: skip
BAD_PLACES = [
    "encoder/3", "middle/0", "encoder/0/cross-attention/0", "encoder/0/self-attention",
    "encoder/0/self-attention/4", "decoder/0/cross-attention/0/0,12", "encoder/-1",
    "encoder/0/self-attention/0/1", "encoder/output", "encoder/0/self-attention/norm/12",
    "encoder/0/feed-forward/neuron/13,0", "encoder/0/self-attention/neuron/0,0",
    "encoder/0/self-attention/0/o/1", "encoder/0/self-attention/0/q/12",
    "encoder/0/self-attention/0/1,12/why", "encoder/embedding/11", "encoder/embedding/0/1",
    "encoder/0/feed-forward/join/1", "encoder/0/self-attention/join/12",
]  # fmt: skip
SENTENCE = "Un chien noir court dans la neige avec un bâton."  # twelve tokens


@pytest.fixture(scope="module")
def trace(translator):
    return translator.trace(SENTENCE)


@pytest.fixture(scope="module")
def gpt():
    return load_storyteller().trace("The king said to his daughter")


@pytest.fixture(scope="module")
def vit():
    return load_wardrobe().trace(clothes("test", 10).images[9])


STILL = re.compile(r'<img alt="(.*?)" [^>]*base64,([^"]*)">')


def names(ids):
    return [f"t{int(i)}" for i in ids]


def small_trace(norm_first=False, n=5, tokens_of=names):
    """Trace a small untrained model on n tokens."""
    torch.manual_seed(0)
    config = TransformerConfig(
        src_vocab_size=20, tgt_vocab_size=20, norm_first=norm_first, d_model=16, n_heads=2,
        n_layers=2, d_ff=32, max_len=600,
    )  # fmt: skip
    model = Transformer(config)
    source, target = torch.randint(1, 20, (n,)), torch.randint(1, 20, (n + 1,))
    return model, source, target, trace_translation(model, source, target, tokens_of, "small")


@pytest.fixture
def windowed(monkeypatch):
    """Trace a model whose first head sees two tokens only: each one and the one before it."""

    def target_mask(_, ids):
        causal = causal_mask(ids.shape[1])
        return torch.stack([causal.triu(-1), causal])[None]

    def source_mask(_, ids):
        causal = causal_mask(ids.shape[1])
        return torch.stack([causal.triu(-1), causal | True])[None]

    monkeypatch.setattr(Transformer, "target_mask", target_mask)
    monkeypatch.setattr(Transformer, "source_mask", source_mask)
    return small_trace(norm_first=True)[3]


def parts(stack):
    return [part for layer in stack.layers for part in layer]


# ---- the trace: the model's own numbers ------------------------------------------------------


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_trace_holds_what_the_model_computes(norm_first):
    model, source, target, found = small_trace(norm_first)
    model.eval()
    with torch.no_grad():
        memory = model.encode(source[None])[0]
        logits = model(source[None], target[None, :-1])[0]
    torch.testing.assert_close(found.encoder.output, memory)
    for row, candidates in enumerate(found.candidates):
        ids = logits[row].topk(10).indices.tolist()
        ids += set(target[row + 1 : row + 2].tolist()) - set(ids)  # what is written comes last
        assert [c.token for c in candidates] == names(ids)
        assert [c.rank for c in candidates] == [(logits[row] >= logits[row, i]).sum() for i in ids]
        assert numpy.allclose([c.logit for c in candidates], logits[row, ids], atol=1e-5)
        shares = logits[row].softmax(-1)[ids]
        assert numpy.allclose([c.probability for c in candidates], shares, atol=1e-6)


def test_every_head_is_traced_split_and_sent_with_its_own_mask(windowed):
    maps = windowed.network.attention_maps(windowed.source_ids[None], windowed.target_ids[None])
    view = model_map(windowed)
    near = ["10000", "11000", "01100", "00110", "00011"]
    for name, wide, kind in (
        ("encoder", "all", "self-attention"), ("decoder", "causal", "masked-self-attention"),
    ):  # fmt: skip
        for layer, sublayers in enumerate(getattr(windowed, name).layers):
            heads = sublayers[0].heads
            torch.testing.assert_close(heads.weights, getattr(maps, name)[0, layer])
            assert torch.equal(heads.weights > 0, heads.mask)
            assert view._trace[name]["layers"][layer][0]["mask"] == [near, wide]
            for head, seen in enumerate(heads.scores[:, -1]):
                place = f"{name}/{layer}/{kind}/{head}/4,"
                view.place = f"{place}3/why"
                assert abs(numpy.sum(view._asked["pairs"]) - seen[3].item()) < 1e-5
                mean = seen[heads.mask[head, -1]].mean().item()
                assert abs(numpy.sum(view._asked["mean"]) - mean) < 1e-5
            refuses(
                "there is no place", view.set_trait, "place", f"{name}/{layer}/{kind}/0/4,2/why"
            )
            view.place = f"{name}/{layer}/{kind}/1/4,2/why"
    for layer, (_, cross, _) in enumerate(windowed.decoder.layers):
        torch.testing.assert_close(cross.heads.weights, maps.cross[0, layer])
        assert view._trace["decoder"]["layers"][layer][1]["mask"] == ["all"]


def test_an_encoder_alone_is_traced_too():
    config = BertConfig(vocab_size=30, d_model=16, n_heads=2, n_layers=2, d_ff=32, max_len=20)
    model = BertEncoder(config).eval()
    ids = torch.randint(1, 30, (6,))
    found = trace_encoder(model, ids, names(ids), "small BERT")
    with torch.no_grad():
        torch.testing.assert_close(found.encoder.output, model(ids[None])[0])
    assert found.decoder is None
    assert not found.encoder.output.requires_grad
    assert model_map(found)._problem == ""
    refuses("no part 'cross-attention'", model_map, found, here="cross-attention")


def test_the_translators_trace_is_that_of_its_own_translation(translator, trace):
    attended = translator.attend(SENTENCE)
    found = torch.stack([layer[1].heads.weights for layer in trace.decoder.layers])
    torch.testing.assert_close(found, attended.maps["cross"][0])
    assert trace.written == attended.target_tokens
    assert trace.decoder.tokens == attended.maps["cross"][1] == ["<bos>", *trace.written[:-1]]
    assert [row[0].token for row in trace.candidates] == trace.written  # greedy
    other = translator.trace(SENTENCE, "A dog.")
    assert other.written == ["▁A", "▁dog", ".", "<eos>"]


# ---- the way to the browser ------------------------------------------------------------------


def unpacked(data, place):
    """Read an array back as the browser does."""
    codes = numpy.frombuffer(data, "<i2")
    size = int(numpy.prod(place["shape"]))
    return (codes[place["at"] : place["at"] + size] * place["scale"]).reshape(place["shape"])


def test_what_is_packed_is_right_to_half_a_step(trace):
    described, data = pack_trace(trace)
    pairs = [(described["encoder"]["layers"][0][0], parts(trace.encoder)[0])]
    pairs.append((described["decoder"]["layers"][2][1], trace.decoder.layers[2][1]))
    for place, part in pairs:
        for name in ("query", "key", "value"):
            exact = getattr(part.heads, name).numpy()
            step = place[name]["scale"]
            assert abs(unpacked(data, place[name]) - exact).max() <= 0.501 * step
            assert step < 0.004
        chosen = entries(place["after"]["width"], STRIP)
        close = unpacked(data, place["after"]) - part.after[:, chosen].numpy()
        assert abs(close).max() <= 0.501 * place["after"]["scale"]
    for width in (33, 64, 100, 256):
        chosen = entries(width, STRIP)
        assert {entry % 2 for entry in chosen} == {0, 1}  # sines and cosines
        assert len(set(chosen)) == STRIP
        assert chosen == sorted(chosen)
        assert max(chosen) < width


RECEIVE = """
let text = "";
for await (const chunk of process.stdin) text += chunk;
const sent = JSON.parse(text);
const bytes = (codes) => new DataView(Uint8Array.from(atob(codes), (c) => c.charCodeAt(0)).buffer);
"""
REPLY = """
import { entryOf, readTrace } from "MODULE";
const model = readTrace(sent.described, bytes(sent.data));
const found = model.stacks.flatMap((stack) => stack.layers.flat().filter((one) => one.heads).map(
  ({ heads }) => heads.map((one) => [
    ...[one.scores, one.weights, one.context].map((m) => [...m.data]),
    [...one.scores.data.keys()].map((i) => one.allowed(Math.floor(i / one.k.rows), i % one.k.rows)),
  ])
));
const strip = model.stacks[0].entered;
const entries = Array.from({ length: strip.cols }, (_, col) => entryOf(strip, col));
console.log(JSON.stringify({ found, entries }));
"""


def in_node(script, trace):
    """Let node read a trace as the browser does, and return what the script writes."""
    described, data = pack_trace(trace)
    inside, more = pack_insides(trace)
    data, more = (base64.b64encode(one).decode() for one in (data, more))
    feed = {"described": described, "data": data, "inside": inside, "more": more}
    return run_in_node(script, feed)


def run_in_node(script, feed):
    script = (RECEIVE + script).replace("MODULE", str(STATIC / "map_trace.js"))
    script = script.replace("INSIDES", str(STATIC / "map_insides.js"))
    return answered(*MODULE, script, feed=feed)


@pytest.mark.slow
@needs_node
@pytest.mark.parametrize("which", ["trace", "gpt", "vit", "windowed"])
def test_the_browser_computes_the_models_own_attention(which, request):
    trace = request.getfixturevalue(which)
    answer = in_node(REPLY, trace)
    assert answer["entries"] == entries(trace.stacks[0].embeddings.shape[-1], STRIP)
    found = answer["found"]
    exact = [part for stack in trace.stacks for part in parts(stack) if part.heads]
    assert len(found) == len(exact)
    for theirs, part in zip(found, exact, strict=True):
        for h, (scores, weights, context, allowed) in enumerate(theirs):
            heads = part.heads
            assert numpy.allclose(scores, heads.scores[h].ravel(), atol=0.02)
            assert numpy.allclose(weights, heads.weights[h].ravel(), atol=0.005)
            assert numpy.allclose(context, heads.context[h].ravel(), atol=0.02)
            assert allowed == heads.mask[h].ravel().tolist()


def test_at_every_temperature_the_shares_are_the_whole_vocabularys(translator, trace):
    sums, packed = pack_insides(trace)[0]["sums"], pack_trace(trace)[0]["candidates"]
    with torch.no_grad():
        logits = translator.model.output_proj(trace.decoder.output)
    for k, temperature in enumerate(TEMPERATURES):
        shares = (logits / temperature).softmax(-1)
        for row, found in enumerate(trace.candidates):
            ours = [numpy.exp(one[1] / temperature - sums[row][k]) for one in packed[row]]
            assert numpy.allclose(ours, shares[row, [one.id for one in found]], atol=3e-5)
            # What is left is said to go to all others: nearly nothing, where it's cold.
            assert abs(sum(ours) - shares[row, [one.id for one in found]].sum()) < 5e-5


INSIDE = """
import { readTrace } from "MODULE";
import { normed, readInsides } from "INSIDES";
const model = readTrace(sent.described, bytes(sent.data));
readInsides(model, sent.inside, bytes(sent.more));
const all = model.stacks.flatMap((stack) => stack.layers.flat().map((one) => [one, stack.n]));
console.log(JSON.stringify(all.map(([{ norm, neurons, hidden }, n]) => ({
  norm: norm && Array.from({ length: n }, (_, row) => normed(norm, row).leaves),
  before: neurons && [...neurons.before.data],
  writes: neurons && [...neurons.writes.data],
  after: neurons && [...hidden.data],
}))));
"""


@pytest.mark.slow
@needs_node
@pytest.mark.parametrize("which", ["trace", "gpt", "vit", "post-norm"])
def test_the_browser_shows_the_models_own_norms_and_neurons(which, request):
    if which == "post-norm":
        *_, trace = small_trace(norm_first=False)
    else:
        trace = request.getfixturevalue(which)
    found = in_node(INSIDE, trace)
    exact = [part for stack in trace.stacks for part in parts(stack)]
    layers = [layer for stack in ("encoder", "decoder") if getattr(trace, stack)
              for layer in getattr(trace.network, f"{stack}_layers", None) or trace.network.layers
              for _ in range(2 if hasattr(layer, "cross_attention") else 1)]  # fmt: skip
    some = entries(exact[0].after.shape[-1], STRIP)
    for theirs, part in zip(found, exact, strict=True):
        normed = part.read if trace.norm_first else part.after
        assert numpy.allclose(theirs["norm"], normed[:, some].numpy(), atol=0.01)
    networks = [layer.feed_forward for layer in dict.fromkeys(layers)]
    shown = [(theirs, part) for theirs, part in zip(found, exact, strict=True) if not part.heads]
    for (theirs, part), network in zip(shown, networks, strict=True):
        which = entries(part.hidden.shape[-1], 64)
        before = torch.tensor(theirs["before"]).view(len(part.hidden), -1)
        assert torch.allclose(network.activation(before), part.hidden[:, which], atol=0.01)
        after = torch.tensor(theirs["after"]).view_as(before)
        assert part.hidden.min() < 0 or torch.equal(after, before.relu())  # to the last digit
        writes = network.linear_2.weight.detach().T[which][:, some]
        assert numpy.allclose(theirs["writes"], writes.ravel(), atol=0.002)


PROJECTED = """
import { readProjection } from "INSIDES";
const { made } = readProjection(sent.asked, bytes(sent.more), sent.joined);
console.log(JSON.stringify([...made.data]));
"""


@pytest.mark.slow
@needs_node
@pytest.mark.parametrize("place", [
    "encoder/1/self-attention/2/q/1", "decoder/0/masked-self-attention/3/k/4",
    "decoder/2/cross-attention/1/q/5", "decoder/2/cross-attention/1/k/11",
    "decoder/2/cross-attention/1/v/0", "encoder/1/self-attention/join/3",
])  # fmt: skip
def test_the_browser_makes_the_models_own_queries_keys_and_values(place, trace):
    stack, layer, kind, head, *letter, row = place.split("/")
    view = model_map(trace, place=place)
    assert view._asked["place"] == place
    feed = {"asked": view._asked, "more": base64.b64encode(view._asked_data).decode()}
    part = next(p for p in getattr(trace, stack).layers[int(layer)] if p.kind == kind)
    if head == "join":  # the mixtures of all heads, times W_O
        feed["joined"] = (part.heads.weights @ part.heads.value)[:, int(row)].flatten().tolist()
        exact = part.found[int(row), entries(256, STRIP)]
    else:
        name = {"q": "query", "k": "key", "v": "value"}[letter[0]]
        exact = getattr(part.heads, name)[int(head), int(row)]
    assert numpy.allclose(run_in_node(PROJECTED, feed), exact, atol=0.01)


def test_a_rotated_query_says_so(gpt):
    turns, part = torch.tensor(pack_insides(gpt)[0]["turns"]), gpt.decoder.layers[1][0]
    query = gpt.network.layers[1].self_attention.query_proj(part.read)[3].view(-1, len(turns), 2)
    even, odd = query.detach().unbind(-1)
    cos, sin = (3 * turns).cos(), (3 * turns).sin()
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(1)
    torch.testing.assert_close(turned, part.heads.query[:, 3], atol=1e-4, rtol=1e-4)
    assert model_map(gpt, tour="14")._tour[4]["place"].split("/")[-2] == "q"
    assert "turns" not in pack_insides(small_trace()[3])[0]


def test_the_parts_of_a_score_add_up_to_the_models_own(trace):
    view = model_map(trace, place="encoder/2/self-attention/0/1,2")
    assert not view._asked
    for name, layer, part, kind, row, col in [
        ("encoder", 2, 0, "self-attention", 1, 2),
        ("decoder", 2, 0, "masked-self-attention", 3, 1),
        ("decoder", 2, 0, "masked-self-attention", 11, 1),
        ("decoder", 1, 1, "cross-attention", 2, 4),
    ]:
        view.place = f"{name}/{layer}/{kind}/0/{row},{col}/why"
        heads = getattr(trace, name).layers[layer][part].heads
        scores = heads.scores[0, row]
        told = view._asked
        assert abs(numpy.sum(told["pairs"]) - scores[col].item()) < 1e-4
        seen = scores[heads.mask[0, row]]  # what the causal mask hides is no key to compare with
        assert len(seen) == (row + 1 if kind.startswith("masked") else 12)
        assert abs(numpy.sum(told["mean"]) - seen.mean().item()) < 1e-4
        assert numpy.shape(told["pairs"]) == (len(told["names"]), len(told["keys"]))
        view.place += ",0"  # compared with another key
        assert abs(numpy.sum(view._asked["mean"]) - scores[0].item()) < 1e-4
        assert view._asked["pairs"] == told["pairs"]
    assert view._double.cache_info().misses == 1  # the model is copied once
    for cell in ("1,2/why", "1,0/why,2", "1,0/why,0", "1,0/why0"):
        place = f"decoder/2/masked-self-attention/0/{cell}"
        refuses("there is no place", view.set_trait, "place", place)


def test_another_token_is_written_and_the_model_goes_on(translator, trace):
    row, rank = 3, 1
    token = trace.candidates[row][rank]
    view = model_map(trace, tour="00")
    view.chosen = [[row, rank]]
    text = view.trace.written
    assert text[: row + 1] == [*trace.written[:row], token.token]
    # Greedy again, a token at a time and without a cache.
    source = translator.encode([SENTENCE])
    ids = [BOS, *translator.tokenizer.encode("A black dog"), token.id]
    while ids[-1] != EOS:
        ids.append(int(translator.model(source, torch.tensor([ids]))[0, -1].argmax()))
    assert text == translator.tokenizer.tokens(ids[1:])
    assert view._trace["drawn"][row] == rank
    view.chosen = [[row, rank], [row + 1, 2]]  # from where the first choice led
    assert view.trace.written[: row + 1] == text[: row + 1]
    assert view.trace.written[row + 1] == view.trace.candidates[row + 1][2].token != text[row + 1]
    for wrong in ([[row, 10]], [[50, 0]], [[2, 1], [1, 1]]):
        refuses("can't be chosen at position", view.set_trait, "chosen", wrong)
    view.chosen = []
    assert view.trace.written == trace.written
    view.sentence = "Un chat dort."
    view.chosen, view.temperature = [[0, 1]], 2.0
    view.sentence = SENTENCE
    assert (view.chosen, view.trace.written, view.temperature) == ([], trace.written, 1.0)


def test_without_a_head_the_map_shows_what_the_model_does_without_it(translator):
    text, model = "Un chien noir court dans la neige.", translator.model
    view = model_map(translator.trace(text), place="heads")
    whole, worth = view.trace, view._asked["heads"]
    assert len(worth) == 36
    for place, attention, written in [
        ("decoder/2/cross-attention/1", model.decoder_layers[2].cross_attention, "is running"),
        ("encoder/1/self-attention/1", model.encoder_layers[1].self_attention, "runs"),
        ("decoder/0/masked-self-attention/3", model.decoder_layers[0].self_attention, "runs"),
    ]:
        view.off = [place]
        with heads_off(attention, [int(place[-1])]):
            assert (said := f"dog {written} through") in translator.translate(text)
            assert view.trace.candidates == translator.trace(text).candidates != whole.candidates
        (row, share, changed, rank), known = worth[place], whole.candidates
        assert (changed >= 0) == (view.trace.written != whole.written)
        if changed >= 0:
            assert view.trace.written[changed] == known[changed][rank].token
        with torch.inference_mode(), heads_off(attention, [int(place[-1])]):
            after = model(whole.source_ids[None], whole.target_ids[None])[0].softmax(-1)
        own = [
            next(one for one in found if one.token == written)
            for found, written in zip(known, whole.written, strict=True)
        ]
        lost = [one.probability - after[i, one.id].item() for i, one in enumerate(own)]
        assert own[row].probability - share == pytest.approx(max(lost), abs=1e-5)
        assert view._trace["written"][2:][: len(said.split())] == said.split()
        assert view._inside["whole"][0] == ("A", whole.candidates[0][0].probability)
    view.off = ["decoder/2/cross-attention/0", "decoder/2/cross-attention/1"]
    step = next(one for one in view._tour if "averaged over the heads" in one["text"])
    mean = view.trace.decoder.layers[-1][1].heads.weights[2:].mean(0)[step["written"]]
    assert f"gets {100 * mean.max():.0f}% of the weight" in step["text"]  # what is off has no say
    view.off = ["encoder/1/self-attention/1", place]
    view.place = "decoder/1/masked-self-attention/3/5,1/why"
    score = view.trace.decoder.layers[1][0].heads.scores[3, 5, 1]  # of the model without them
    assert abs(numpy.sum(view._asked["pairs"]) - score.item()) < 1e-4
    view.place = f"{place.rsplit('/', 1)[0]}/join/3"
    sent, column = view._asked["weight"], model.decoder_layers[0].self_attention.out_proj.weight[0]
    codes = numpy.frombuffer(bytes(view._asked_data), numpy.int16)[sent["at"] :][: 256 * 32 : 32]
    assert numpy.allclose(codes * sent["scale"], column.detach(), atol=2e-3)  # W_O is what it was
    view.chosen = [[3, 1]]  # it goes on without them, too
    assert view.trace.written[3] != whole.written[3]
    view.sentence = "Un chat dort."  # they stay off
    assert view._inside["whole"][-2][0] == "."
    view.off = ["decoder/2/cross-attention/0"]
    view.sentence = text
    with heads_off(model.decoder_layers[2].cross_attention, [0]):
        assert view.trace.candidates == translator.trace(text).candidates != whole.candidates
    view.off = []
    assert view.trace.candidates == whole.candidates
    assert "whole" not in view._inside
    for wrong in ("decoder/2/feed-forward/0", "encoder/0/self-attention/4", "encoder/0"):
        refuses("no head", view.set_trait, "off", [wrong])
    small = small_trace(norm_first=True)[3]
    refuses("no head", model_map, small, off=["encoder/0/self-attention/0"])


def test_a_choice_that_leads_too_far_is_taken_back_and_said(trace, translator, monkeypatch):
    longer = translator.trace("Un chien noir court dans la neige avec un bâton et un chat blanc.")
    view = model_map(dataclasses.replace(trace, onward=lambda row, token_id: longer))
    monkeypatch.setattr(map_data, "MOST_TOKENS", len(trace.encoder.tokens))
    view.chosen = [[3, 1]]
    assert "too thin to see" in view._refused
    assert (view.chosen, view.trace.written) == ([], trace.written)


def test_a_gpt_reads_another_beginning_and_goes_on_from_a_chosen_token(gpt):
    view = model_map(gpt)
    assert (view._asks, view.sentence) == (True, gpt.text)
    view.sentence = "Once upon a time"
    assert view.trace.stacks[0].tokens[: view.trace.given] == ["Once", " upon", " a", " time"]
    row, token = gpt.given, gpt.candidates[gpt.given][2]
    found = gpt.onward(row, token.id)
    assert found.written[: row + 1] == [*gpt.written[:row], token.token]
    assert len(found.written) == len(gpt.written)
    view = model_map(gpt, temperature=0.1)
    last, first = len(gpt.written) - 1, gpt.given
    view.chosen = [[last, 1]]  # written on, and drawn at the temperature that is set
    assert view.trace.written[:last] == gpt.written[:last]
    assert view.trace.drawn_at == [1.0] * (last + 1) + [0.1] * 3
    assert all(view.trace.candidates[row][0].token == view.trace.written[row] for row in (12, 13))
    view.chosen = [[first, 2]]
    cold, view.temperature = view.trace.written, 2.0
    view.chosen = [[first, 2], [first + 3, 1]]  # what the first choice led to stays
    assert view.trace.written[: first + 3] == cold[: first + 3]
    view.sentence = text = view._trace["goesOn"]  # unchanged text: the model goes on from its end
    assert (view.trace.text, set(view.trace.drawn_at)) == (text, {2.0})


def test_twelve_tokens_stay_under_450_kb_in_the_notebook(trace):
    assert len(trace.encoder.tokens) == 12
    view = model_map(trace, tour="00")
    state = len(json.dumps(embed.dependency_state([view], drop_defaults=False)))
    output = len(json.dumps(view._repr_mimebundle_()))
    assert len(view._data) < state  # the numbers are in it
    assert output <= 450_000  # compressed; the state is saved only where one asks for it


# ---- state, words, errors --------------------------------------------------------------------


def test_places_tokens_and_parts_that_are_not_there_are_refused(trace):
    view = model_map(trace)
    for place in GOOD_PLACES:
        view.place = place
        assert view.place == place
    for place in BAD_PLACES:
        refuses("there is no place", view.set_trait, "place", place)
    view.follow = "decoder:11"
    refuses("there is no token 'decoder:12'", view.set_trait, "follow", "decoder:12")
    for here in HERE:
        assert model_map(trace, here=here).here == here
    view.yours = ["embeddings", "self-attention"]
    refuses("no part 'selfattention'", view.set_trait, "yours", ["embeddings", "selfattention"])
    refuses("has: embeddings, positions", model_map, trace, here="crossattention")
    refuses("model_map has no layer", model_map, trace, layer=2, error=TypeError)
    refuses("got NoneType", model_map, None, error=TypeError)


def follow_tour(view):
    """Go to every place of a tour, whose texts are filled in and short."""
    for step in view._tour:
        assert not re.search(r"[{}]|None|nan", step["text"])
        assert len(step["text"]) <= 200, step["text"]
        view.place, view.follow = step.get("place", ""), step.get("follow", "")


@pytest.mark.parametrize("tour", [*TOURS, list(STEPS)])
def test_every_tour_is_filled_in_and_leads_to_places_that_exist(trace, tour):
    view = model_map(trace, tour=tour)
    wanted = TOURS[tour] if isinstance(tour, str) else tour
    assert len(view._tour) == len(wanted)
    follow_tour(view)
    known = "text place follow written beat parts habit answer losses pair guess"
    assert set().union(*view._tour) <= {*known.split(), "back", "plays", "leaves", "forgets"}


def test_the_tour_speaks_of_this_trace(translator, trace):
    view = model_map(trace, tour=["embeddings", "follow-target", "loss"])
    first, second, third = (step["text"] for step in view._tour)
    assert "12 tokens" in first
    assert "256 learned numbers" in first
    row = view._tour[1]["written"]
    assert row == view.written  # it stays with the word that the map begins with
    mean = trace.decoder.layers[-1][1].heads.weights.mean(0)[row]
    key = trace.encoder.tokens[int(mean.argmax())].removeprefix("▁")
    assert f"“{key}” gets {100 * mean.max():.0f}% of the weight" in second
    least = min(found[0].probability for found in trace.candidates)
    assert f"{-numpy.log(least):.2f} nats" in third
    near, join = model_map(trace, tour=["heads", "mixtures"])._tour
    told = r"“(.+?)”.* Head (\d) takes .+ from “(.+?)”, the token (after|before)"
    word, head, other, side = re.search(told, join["text"]).groups()
    assert re.match(f"Head {head} .* the one {side} .* No other", near["answer"][int(head) - 1])
    row, names = int(join["place"].split("/")[-1]), [one.strip("▁") for one in trace.encoder.tokens]
    assert [names[row], names[row + (1 if side == "after" else -1)]] == [word, other]
    way = "ahead, just right" if side == "after" else "back, just left"
    assert f"Which one looks one token {way}" in near["text"]  # asked only where it can be seen
    alike = model_map(translator.trace("Oui"), tour=["heads"])._tour[0]
    assert "No head stands out" in alike["text"]
    shares = [int(re.search(r"gives (\d+)%", one)[1]) for one in alike["answer"]]
    assert sorted(shares)[-1] - sorted(shares)[-2] < 10
    assert model_map(trace, tour="")._tour == []
    refuses("no tour '17'", model_map, trace, tour="17")
    refuses("no step 'jump'", model_map, trace, tour=["jump"])


def test_a_followed_token_turns_to_another_one_by_more_than_ten_points(translator):
    view = model_map(translator.trace(SENTENCE), tour=["follow-source"])
    (_, one, two), row = re.findall("“(.*?)”", view._tour[0]["text"]), view._tour[0]["follow"][8:]
    tokens = [token.strip("▁") for token in view.trace.encoder.tokens]
    first, *_, last = (parts[0].heads.weights.mean(0) for parts in view.trace.encoder.layers)
    by = first[int(row)] - 0.1, last[int(row)] - 0.1
    assert by[0][tokens.index(one)] > first[int(row), tokens.index(two)]
    assert by[1][tokens.index(two)] > last[int(row), tokens.index(one)]


def test_nothing_too_much_and_nan_give_a_sentence_instead_of_a_picture(trace):
    long = small_trace(n=500)[3]
    assert "500 tokens, and the map draws up to 64" in model_map(long)._problem
    empty = dataclasses.replace(trace.encoder, tokens=[])
    assert "no tokens" in model_map(dataclasses.replace(trace, encoder=empty))._problem
    broken = small_trace()[3]
    broken.decoder.layers[1][1].found[0, 0] = float("nan")
    view = model_map(broken)
    assert "decoder layer 2, cross attention" in view._problem
    assert view.static_html() == f"<p>{view._problem}</p>"
    assert view._data == b""


def test_the_static_picture_says_what_it_shows_and_tokens_are_only_text(trace):
    found = STILL.search(model_map(trace).static_html())
    alt, svg = found[1], base64.b64decode(found[2]).decode()
    assert "Un chien noir court" in alt
    assert "3 encoder layers with 4 heads each" in alt
    assert all(f">{word}</text>" in svg for word in ("chien", "black", "memory"))
    bad = small_trace(tokens_of=lambda ids: ['<script>alert("1")</script>' for _ in ids])[3]
    found = STILL.search(model_map(bad).static_html())
    assert "<" not in found[1]
    assert "<script" not in base64.b64decode(found[2]).decode()
    assert model_map(bad).static_html().count("</script>") == 1  # ours; none from a token


# ---- another sentence ------------------------------------------------------------------------


def test_it_opens_at_a_whole_word_that_is_sure_of_its_source(translator):
    view = model_map(translator.trace("Un photographe prend des photographies d'un rhinocéros."))
    assert view.trace.written[view.written] == "▁taking"  # not “ink”


def test_the_map_traces_another_sentence_and_refuses_in_words(translator, trace):
    view = model_map(trace, tour="00", place="decoder/1", follow="")
    assert view.sentence == SENTENCE
    assert view._asks
    for refused, words in (
        ("", "Type a sentence"),
        ("Он спит.", "has never seen"),
        ("un chien et " * 25, "draws up to 64"),
    ):
        view.sentence = refused
        assert words in view._refused
        assert view.trace is trace
    view.sentence = "Un chat dort."
    assert view._refused == ""
    assert view.place == ""
    assert view.trace.encoder.tokens == translator.trace("Un chat dort.").encoder.tokens
    assert view._trace["encoder"]["tokens"] == ["Un", "chat", "dort", ".", "<eos>"]
    assert "5 tokens" in view._tour[1]["text"]
    view.place = "decoder/2/cross-attention/0/4,4"  # the sentence that is there now
    assert not model_map(translator.trace(SENTENCE, "A dog."))._asks  # a translation of one's own


def test_a_wrong_word_in_the_reference_costs_what_training_would_charge(translator, trace):
    view = model_map(trace, here="loss")
    view.reference = "A purple dog runs."
    ids = torch.tensor([BOS, *translator.tokenizer.encode(view.reference, eos=True)])
    with torch.no_grad():
        logits = translator.model(translator.encode([SENTENCE]), ids[None, :-1])[0]
    exact = torch.nn.functional.cross_entropy(logits, ids[1:], reduction="none")
    sent = view._trace["candidates"], view._trace["drawn"]
    ours = [found[drawn] for found, drawn in zip(*sent, strict=True)]
    assert numpy.allclose([-numpy.log(share) for _, _, share, _ in ours], exact, atol=2e-4)
    assert (ours[1][0], view.written) == ("purple", len(ids) - 2)
    assert ours[1][3] == (logits[1] >= logits[1, ids[2]]).sum() > 10
    asks = "“purple” costs most: .* The model expected “black” .95%.[.]$"
    assert re.search(asks, model_map(view.trace, tour=["loss"])._tour[0]["text"])
    tour = model_map(view.trace, tour=["gradient", "training"])._tour
    told = [step["text"] for step in tour]
    assert "−1.00 at “purple”, so a step raises its logit, and +0.95 at “black”" in told[0]
    before, after = map(float, re.search(r"from ([\d.]+) to ([\d.]+)\.", told[1]).groups())
    assert before == round(exact.mean().item(), 2) > after
    # Of a copy's steps the tour tells the first, and the copy reads other sentences, too.
    for steps, loss in ((1, after), (8, 0.0), (0, before)):
        view.steps = steps
        sent = zip(view._trace["candidates"], view._trace["drawn"], strict=True)
        losses = [-numpy.log(found[drawn][2]) for found, drawn in sent]
        assert abs(numpy.mean(losses) - loss) < (0.2 if steps > 1 else 0.006)
        shown = view._inside.get("untrained")
        assert numpy.allclose(shown, exact, atol=2e-4) if steps else shown is None
        assert steps != 1 or numpy.allclose(tour[1]["back"][:-1], losses, atol=2e-4)
    view.steps = 8
    view.sentence = "Un chat noir dort."
    # What the model itself wrote is scored then, whatever the copy writes.
    own = list(translator.trace(view.sentence).written)
    for view.reference in ("A cat.", ""):
        assert (list(view.trace.written) == own) == (view.reference == "")
    assert view.trace.network is not translator.model
    assert "purple" in " ".join(view._inside["own"])
    view.reference = "A cat."
    view.steps = 9  # a copy says what it was trained on
    taught = [[SENTENCE, "A purple dog runs.", 8], ["Un chat noir dort.", "A cat.", 1]]
    assert view._inside["taught"] == taught
    view.steps = 0
    view.sentence, view.reference = SENTENCE, "A purple dog runs."
    assert view.trace.network is translator.model
    # What vanishes once the sentence is cut again isn't offered: a lone space.
    lost = [name for name, *_, kept in view._trace["candidates"][2] if kept == 0]
    again = [translator.tokenizer.encode(f"A purple {name} runs.")[2] for name in lost]
    assert "␣" in lost
    assert not {f"▁{name}" for name in lost} & set(translator.tokenizer.tokens(again))
    for refused, says in (("a dog " * 40, "draws up to 64"), ("läuft 你好", "ä 你 好"), ("", "")):
        view.reference = refused  # the model's own again
        kept = view.trace.written if refused else trace.written
        assert (says in view._refused, view.trace.written) == (True, kept)
    view.sentence = "Un chat dort."
    assert view.written == len(view.trace.written) - 1


def test_a_sentence_that_cannot_be_read_is_one_line_in_a_notebook(translator):
    shell = InteractiveShell()
    for text in ("", "Он спит."):
        with pytest.raises(ValueError) as caught:
            translator.trace(text)
        lines = []
        shell._showtraceback = lambda kind, value, found, lines=lines: lines.extend(found)
        shell.showtraceback((caught.type, caught.value, caught.tb))
        assert len(lines) == 1
        assert str(caught.value) in lines[0]


# ---- models with a single stack: a GPT and a Vision Transformer ------------------------------


def test_a_single_stack_has_its_own_places_parts_and_words(gpt, vit):
    for trace, kind, good, bad in (
        (gpt, "14", "decoder/5/masked-self-attention/5/3,2", "encoder/0"),
        (vit, "15", "encoder/3/self-attention/0/49,0", "decoder/output"),
    ):
        name = good.split("/")[0]
        view = model_map(trace, tour=kind, place=good)
        view.place = f"{name}/output"
        refuses("there is no place", view.set_trait, "place", bad)
        refuses("no part 'cross-attention'", model_map, trace, here="cross-attention")
        for tour in (kind, "all", *TOURS):
            follow_tour(model_map(trace, tour=tour))
        svg = base64.b64decode(STILL.search(view.static_html())[2]).decode()
        assert trace.kind in svg
    assert "decoder without an encoder" in STILL.search(model_map(gpt).static_html())[1]
    assert "49 patches" in STILL.search(model_map(vit).static_html())[1]
    steps = model_map(gpt, tour="14")._tour
    texts = " ".join(step["text"] for step in steps)
    assert "the first 6 tokens" in texts
    # Drawn is one of ten, whose shares then count as the whole.
    row = next(step["written"] for step in steps if "was drawn" in step["text"])
    shares = [one.probability for one in gpt.candidates[row]]
    drawn = next(one for one in gpt.candidates[row] if one.token == gpt.written[row])
    share = f"{drawn.probability / sum(shares):.0%}"
    assert f"only the 10 likeliest can be drawn; among these, it has {share}" in texts.lower()
    assert "rotates" in texts
    assert "encoder above" not in texts


def test_another_picture_is_read_and_each_is_labelled_honestly():
    images, labels = clothes("test", 24)
    trace = load_wardrobe().trace(images[9], Pictures(images[[9, 23]], labels[[9, 23]]))
    view = model_map(trace, tour="15")
    view.sentence = "1"
    known = [each[1:3] for each in view._trace["choices"]]
    assert known == [["sneaker", "sneaker"], ["ankle boot", "sandal"]]
    assert view._trace["reads"] == 1
    layers, network = view.trace.encoder.layers, view.trace.network
    with torch.no_grad():
        early = [network.head(network.norm(parts[-1].after[0])).softmax(-1) for parts in layers]
    label = CLASSES.index(view._trace["right"])
    ours = [share for _, share in view._trace["guesses"]]
    assert numpy.allclose(ours, [shares[label] for shares in early], atol=1e-4)
    # After the last layer, the early answer is the answer.
    assert view.trace.guesses[-1][0].token == view.trace.candidates[0][0].token == "sandal"
    view.sentence = "2"
    assert "from 0 to 1" in view._refused


def test_a_patch_left_out_is_read_by_no_token():
    images, labels = clothes("test", 24)
    view = model_map(load_wardrobe().trace(images[9], Pictures(images[[9, 23]], labels[[9, 23]])))
    whole, network, out = view.trace, view.trace.network, [17, 23]
    view.left_out = out
    with torch.no_grad():  # as the lesson does it: of 49 patches the model gets 47
        x = network.embed(as_input(images[9:10]))[:, [i for i in range(50) if i not in out]]
        for layer in network.layers:
            x = layer(x)
        shares = network.head(network.norm(x[0, 0])).softmax(-1).sort(descending=True).values
    found = [one.probability for one in view.trace.candidates[0]]
    assert numpy.allclose(found, shares, atol=1e-6)
    assert view.trace.right == whole.right
    assert view._inside["entire"]["guesses"][-1][1] == round(whole.guesses[-1][0].probability, 5)
    for wrong in (0, 50):
        refuses("no patch", view.set_trait, "left_out", [wrong])
    view.sentence = "1"
    assert view.left_out == []
    assert "entire" not in view._inside


# ---- the recurrent pair of lesson 02 ---------------------------------------------------------


def test_a_recurrent_trace_holds_what_the_model_computes():
    toy = load_toy("additive")
    found = toy.trace("le chat noir voit le chien .")
    source = torch.tensor([toy.source.encode("le chat noir voit le chien .", eos=True)])
    target = torch.tensor([[BOS, *toy.target.encode(" ".join(found.written[:-1]))]])
    with torch.no_grad():
        weights = toy.model.attention_maps(source, target)[0]
        logits = toy.model(source, target)[0]
    torch.testing.assert_close(found.weights, weights)
    torch.testing.assert_close(found.scores.softmax(-1), weights)
    mixed = torch.tanh(found.projected_queries[:, None] + found.projected_states)
    torch.testing.assert_close(mixed @ found.vector, found.scores)
    assert [row[0].token for row in found.candidates] == found.written
    alone = [found.again("le chat noir voit le chien .", {6: s}).written[6] for s in range(8)]
    same = [row.count(word) for row, word in zip(found.alone, found.written, strict=True)]
    assert same == [8, 1, 1, 1, 8, 1, alone.count("."), 8]  # “the” comes from anywhere
    assert found.alone[6] == alone
    assert found.candidates[2][0].logit == pytest.approx(logits[2].max().item(), abs=1e-4)
    refuses("attention='none'", load_toy("gru").trace, "le chat dort .")


def test_the_map_of_the_recurrent_pair():
    trace = load_toy("additive").trace("le chat noir voit le chien .")
    view = model_map(trace, here="cross-attention", place="score/2,1")
    follow_tour(view)
    assert [step.get("place", "")[:5] for step in view._tour] == ["", "", "score", "", "", ""]
    compared, guess = (step["text"] for step in view._tour[4:])
    assert "with “black”: in step 2, “noir” gets 91%. In the translation the two words" in compared
    assert "all its weight to “chien”" in guess
    assert model_map(trace, tour="")._tour == []
    refuses("there is no place", view.set_trait, "place", "encoder/0")
    refuses("no part 'head'", view.set_trait, "here", "head")
    described, data = pack_recurrent(trace)
    assert described["recurrent"]
    step = described["scores"]["scale"]
    close = unpacked(data, described["scores"]) - trace.scores.numpy()
    assert abs(close).max() <= 0.501 * step
    assert "cat to chat (0.97)" in STILL.search(view.static_html())[1]


def test_the_recurrent_pair_looks_where_it_is_told_and_reads_another_sentence():
    trace = load_toy("additive").trace("le chat noir voit le chien .")
    view = model_map(trace)
    view.chosen = [[2, 5]]  # the third step looks at “chien” alone
    assert view.trace.weights[2].tolist() == [0, 0, 0, 0, 0, 1, 0, 0]
    torch.testing.assert_close(view.trace.context[2], view.trace.states[5])
    assert (trace.written[2], view.trace.written[2]) == ("cat", "dog")
    assert [view._trace[name][2] for name in ("own", "written")] == ["cat", "dog"]
    torch.testing.assert_close(view.trace.weights[:2], trace.weights[:2])  # earlier steps stay
    assert "At step 3" not in view._tour[1]["text"]  # never a weight that was set
    refuses("can't be chosen at position 2", view.set_trait, "chosen", [[2, 8]])
    view.sentence = "le zèbre dort ."
    assert "never saw “zèbre”" in view._refused
    for tried in re.findall("“(.*?)”", view._refused)[1:]:  # what is offered instead is read
        view.sentence = tried
        assert (view.trace.written[-1], view._refused) == ("<eos>", "")
    view.sentence = "La reine dort ."
    assert (view.trace.written[:2], view.chosen, view._refused) == (["the", "queen"], [], "")
    assert view.written == 2  # it opens where it matters most where the decoder looks
    view.sentence = "Le chat dort"  # the model knows no end but a full stop
    assert (view.trace.source[-2:], view.trace.written[-1]) == ([".", "<eos>"], "<eos>")
    view.sentence = "le chat " * 12
    assert "26 tokens, and the map draws up to 24" in view._refused
    endless = load_toy("additive").trace("le chat dort")
    assert len(endless.written) <= 2 * len(endless.source)
