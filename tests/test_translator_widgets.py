"""Widgets of the bundled translator: their numbers are the core's, their limits are said."""

import html
import json
import re

import pytest
import torch
import torch.nn.functional as F
import traitlets
from explorer_promises import check_that_every_change_shows, check_the_still_picture, clicks, send
from samples import refuses

from helpers.data.captions import CAPTIONS
from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import BOS, EOS
from helpers.transformer import decoding
from helpers.transformer.attention import heads_off
from helpers.transformer.masks import causal_mask
from helpers.transformer.transformer import Transformer
from helpers.widgets.decoding_explorer import DecodingExplorer, dialled
from helpers.widgets.head_switches import NOISE, HeadSwitches, attention_layers
from helpers.widgets.shape_steps import N_STAGES, stages, try_line
from helpers.widgets.shape_tracer import ShapeTracer
from helpers.widgets.svg import number

CHANGES = {
    HeadSwitches: {"silent": ("cross 2.2", "cross 3.1"), "alone": True},
    ShapeTracer: {"step": 3, "sentence": "Un chat dort.", "lit": "D", "line": "tensor([[1]])"},
    DecodingExplorer: {"step": 3, "sentence": "Un chat dort.", "method": "beam", "forced": (9,)},
}
STATION = "Des gens attendent le train dans une grande gare."


@pytest.fixture
def make(translator):
    """Give a function that makes any of the widgets."""

    def make_(kind, **state):
        more = (CAPTIONS[:4],) if kind is HeadSwitches else ()
        return kind(translator, *more, **state)

    return make_


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHANGES, ids=lambda kind: kind.__name__)
def test_it_keeps_what_every_explorer_promises(kind, make):
    check_the_still_picture(make(kind))
    check_that_every_change_shows(make(kind), CHANGES[kind])


@pytest.mark.parametrize("kind", [ShapeTracer, DecodingExplorer], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    ("typed", "said"),
    [("", "An empty text"), ("Un chat 中.", "never seen 中"), ("chat " * 40, "At most 24")],
)
def test_a_sentence_that_cannot_be_used_is_refused_in_words(kind, typed, said, make):
    widget = make(kind)
    before = widget.sentence
    widget.sentence = typed
    assert widget.sentence == before
    assert said in widget.controls["sentence"].error
    refuses(said, make, kind, sentence=typed)
    widget.reset()
    assert not widget.controls["sentence"].error


# Heads ------------------------------------------------------------------------------------------


def test_loss_and_translations_are_those_of_the_silenced_model(make, translator):
    widget = make(HeadSwitches)
    whole = widget.numbers["loss"]
    widget.silent = ("cross 3.1", "cross 3.2", "encoder 2.4")
    sources = [source for source, _ in CAPTIONS[:4]]
    layers = attention_layers(translator.model)
    with heads_off(layers["cross 3"], [0, 1]), heads_off(layers["encoder 2"], [3]):
        assert widget.numbers["translations"] == translator.translate(sources)
        losses, tokens = 0.0, 0
        for source, target in CAPTIONS[:4]:
            ids = torch.tensor([[BOS, *translator.tokenizer.encode(target, eos=True)]])
            logits = translator.model(translator.encode([source]), ids[:, :-1])
            losses += F.cross_entropy(logits[0], ids[0, 1:], reduction="sum").item()
            tokens += ids.shape[1] - 1
    assert widget.numbers["loss"] == pytest.approx(losses / tokens, rel=1e-4)
    bar, seen = r'y="30.0" width="([\d.]+)" height="22.0" fill="#7', widget.svg
    widget.controls["No cross-attention"].click()
    short, long = (float(re.search(bar, one)[1]) for one in (seen, widget.svg))
    assert short < long  # a larger loss is a longer bar, on one axis
    assert len(set(widget.numbers["translations"])) == 1
    assert "no longer sees the French" in widget.tell()[1]
    widget.controls["No self-attention"].click()  # what they look like is still told apart
    assert "rises by 0.29. And with no cross" in widget.tell()[1]
    lines = re.findall(r"<text [^>]*>([^<]*<tspan.*?)</text>", widget.draw()[1].to_svg())
    assert 30 < max(len(re.sub("<[^>]*>", "", line)) for line in lines) <= 34  # in their column
    widget.silent = ("cross 3.1", "cross 3.2", "encoder 1.1", "cross 2.2")  # words, not by colour
    marked = re.findall(r'<tspan [^>]*bold" text-decoration="([^"]+)">(.*?)</tspan>', widget.svg)
    assert marked[:3] == [("line-through", "plays"), ("underline", "is"), ("underline", "playing")]
    widget.silent = ()
    assert widget.numbers["loss"] == pytest.approx(whole, rel=1e-6)


@pytest.mark.slow
def test_costs_alone_are_those_of_one_silent_head(make, translator):
    widget = make(HeadSwitches, alone=True)
    costs = widget.numbers["costs"]
    assert list(costs) == widget.names()
    shown = re.findall(r"--dark: #\w+|>−?0\.\d\d<", widget.svg)
    assert "−0.03" in "".join(shown)  # a head in the way
    widget.silent = ("cross 2.2",)
    again = re.findall(r"--dark: #\w+|>−?0\.\d\d<", widget.svg)
    numbers = [[one for one in found if one[0] == ">"] for found in (shown, again)]
    assert numbers[0] == numbers[1]  # a silent head's cost stays
    assert len(again) == len(shown) - 1  # but its cell is hollow
    assert widget.draw()[0].to_svg().count("<line") == 0
    assert "on these 4 sentences" in widget.svg
    cost = widget.numbers["loss"] - widget.numbers["whole"]
    assert costs["cross 2.2"] == pytest.approx(cost, abs=1e-4)  # stored
    widget.silent = ("cross 3.1", "encoder 2.4")
    said = "One by one they cost 0.14, together 0.13. On 4 sentences a gap"
    assert said in widget.tell()[1]
    widget.silent = ("cross 3.1", "cross 3.2", "encoder 1.1", "cross 2.2")  # 0.06 apart
    assert widget.tell()[1] == "Switch the last one back on, and try another."
    quiet = ("cross 3.1", "cross 2.2", "encoder 2.4")
    for widget.silent in quiet, (*quiet, "encoder 2.1"):
        told = widget.tell()[1]
    assert told.startswith("The last one changed no translation: leave it off")
    widget.silent = [name for name in widget.names() if name.startswith(("cross 2", "cross 3"))]
    more = widget.numbers["loss"] - widget.numbers["whole"]
    assert more - sum(costs[name] for name in widget.silent) > NOISE
    assert "probably depend on one another" in widget.tell()[1]
    widget.silent = ("encoder 2.1",)
    assert "The loss fell. On 4 sentences a gap" in widget.tell()[1]
    other = HeadSwitches(translator, CAPTIONS[4:6], silent=("cross 2.2",), alone=True).numbers
    assert other["costs"]["cross 2.2"] == pytest.approx(other["loss"] - other["whole"])


def test_a_click_on_a_head_switches_it_off_and_on_again(make):
    widget = make(HeadSwitches)
    for wanted in (("encoder 1.3",), ()):
        found = re.search(r'aria-label="encoder 1\.3[^"]*" data-set="([^"]*)"', widget.svg)[1]
        widget._handle_custom_msg({"set": json.loads(html.unescape(found)), "number": 1}, [])
        assert widget.silent == wanted
    for place in [one for one in clicks(widget) if "1." in one["silent"]]:  # drawn before any came
        widget.take(place)
    assert len(widget.silent) == sum("1." in name for name in widget.names())
    height, names = widget.draw()[0].height, widget.names()
    for widget.silent in names[-12:], names:  # every translation is another
        assert widget.draw()[0].height == height


def test_it_says_where_the_head_silenced_last_looks(make, translator):
    widget = make(HeadSwitches)
    for widget.silent in (("cross 3.1",), ("cross 3.1", "encoder 2.4")):
        pass
    assert "On average, encoder 2.4 gives 80% of" in widget.svg
    said = "2 heads are silent, 4 of 4 translations unchanged. Your best with all 4 unchanged: 2."
    assert widget.tell()[0] == said
    widget.alone = True
    assert "other captions: 0.03." in widget.svg
    assert widget._n_others == len(CAPTIONS) - 4
    assert "the loss’s rise without it" in widget.svg
    shares = []
    for source, _ in CAPTIONS[:4]:
        ids = translator.encode([source])
        weights = translator.model.attention_maps(ids, torch.tensor([[BOS]])).encoder[0, 1, 3]
        shares.append(weights.diagonal(-1)[1:].mean().item())  # from the third token on
    before = f"{sum(shares) / 4:.0%} of its weight to the token before."
    assert widget.look("encoder 2.4").endswith(before)
    assert "encoder 3.2 spreads its weight: the largest share is 22%" in widget.look("encoder 3.2")
    assert widget.look("cross 3.1").endswith("to one French token per English token.")
    widget.silent = widget.names()
    assert widget.tell()[0].endswith(
        "0 of 4 translations unchanged. Your best with all 4 unchanged: 2."
    )
    widget.silent = ("cross 3.1",)
    assert "of its weight" not in widget.svg  # encoder 2.4 is on again


def test_a_head_that_is_not_there_is_refused(make):
    with pytest.raises(traitlets.TraitError, match="no head 'cross 4.1'"):
        make(HeadSwitches, silent=("cross 4.1",))
    refuses("two to six", HeadSwitches, load_translator(), CAPTIONS[:1])


# Shapes -----------------------------------------------------------------------------------------


def test_traced_tensors_end_in_the_models_own_logits(translator, monkeypatch):
    def last_three(_, ids):  # whatever the model's mask is
        return causal_mask(ids.shape[1]).triu(-2)[None, None]

    monkeypatch.setattr(Transformer, "target_mask", last_three)
    src_ids = translator.encode([CAPTIONS[0][0]])
    tgt_ids = torch.tensor([[BOS, *translator.tokenizer.encode(CAPTIONS[0][1])]])
    found = stages(translator.model, src_ids, tgt_ids)
    assert len(found) == N_STAGES
    with torch.no_grad():
        logits = translator.model(src_ids, tgt_ids)
    torch.testing.assert_close(found[-3].tensor, logits)
    maps = translator.model.attention_maps(src_ids, tgt_ids)
    by_name = {stage.name: stage.tensor for stage in found}
    torch.testing.assert_close(by_name["weights, layer 1"], maps.encoder[:, 0])
    torch.testing.assert_close(by_name["own weights, layer 1"], maps.decoder[:, 0])
    torch.testing.assert_close(by_name["cross weights, layer 1"], maps.cross[:, 0])
    letters = {"B": 1, "S": src_ids.shape[1], "T": tgt_ids.shape[1], "D": 256, "H": 4, "K": 64,
               "F": 512, "V": 4000}  # fmt: skip
    for stage in found:
        assert tuple(stage.tensor.shape) == tuple(letters[one] for one in stage.letters.split())


def test_every_line_makes_its_tensor_and_every_slip_does_not(make):
    found = make(ShapeTracer).numbers["stages"]
    for stage in found:
        own = try_line(stage.line, stage.names, stage.tensor.shape)
        torch.testing.assert_close(own.tensor, stage.tensor)
        broken = try_line(stage.slip, stage.names, stage.tensor.shape)
        assert broken.tensor is None or not broken.tensor.equal(stage.tensor), stage.slip
        assert broken.tensor is not None or broken.why or broken.said, stage.slip


SIZES = {"q": (1, 4, 11, 64), "k": (1, 4, 11, 64), "x": (1, 11, 256), "memory": (1, 13, 256),
         "weights": (1, 4, 11, 11), "E": (4000, 256)}  # fmt: skip


@pytest.mark.parametrize(
    ("line", "clash"),
    [
        ("(q @ k / 8).softmax(-1)", [("q", {3}), ("k", {2})]),
        ("x = x + memory", [("x", {1}), ("memory", {1})]),
        ("x @ E", [("x", {2}), ("E", {0})]),
        ("x * weights", [("x", {2}), ("weights", {3})]),
        ("2 * (weights @ q[:, :3])", [("weights", {1}), ("q[:, :3]", {1})]),
        ("layer(q.flatten(2))", [("q.flatten(2)", {2})]),
    ],
)
def test_a_broken_line_shows_pytorchs_error_and_the_dimensions_that_clash(line, clash):
    names = {name: torch.zeros(size) for name, size in SIZES.items()}
    trial = try_line(line, {**names, "layer": torch.nn.Linear(256, 8)}, (1, 11, 8))
    assert [(words, bad) for words, _, bad in trial.operands] == clash
    sizes = [str(shape[i]) for _, shape, bad in trial.operands for i in bad]
    assert all(size in trial.why for size in sizes)
    with pytest.raises(RuntimeError) as raised:
        eval(line.removeprefix("x = "), {**names, "layer": torch.nn.Linear(256, 8)})
    assert str(raised.value).startswith(trial.said)
    assert trial.said


def test_a_line_that_gives_nothing_useful_is_answered_in_words():
    for line, said in [
        ("x = y +", "can't read"),
        ("import os", "can't read"),
        ("x = 1; y = 2", "can't read"),
        ("shape = x.shape", "of type Size, not a tensor"),
        ("x = z", "no z at this step. The tensors here: E, k, memory"),
        ("x = open('file')", "no open at this step"),
        ("x = x.transpose(1, 2)", "can't use a tensor of this shape"),
        ("x = x.transpos(1, 2)", "A tensor has no transpos."),
        ("x = x.shape.softmax(-1)", "A Size has no softmax."),
    ]:
        trial = try_line(line, {n: torch.zeros(size) for n, size in SIZES.items()}, (1, 11, 256))
        assert trial.tensor is None
        assert said in trial.why


@pytest.mark.parametrize("line", ["x[9].tanh()", "x[9] @ x", "[x][3]", "x.view(1, 2, 3)"])
def test_what_fails_inside_an_operation_is_told_in_pytorchs_or_pythons_words(line):
    trial = try_line(line, {n: torch.zeros(size) for n, size in SIZES.items()}, (1, 11, 256))
    with pytest.raises((IndexError, RuntimeError)) as raised:
        eval(line, {"x": torch.zeros(SIZES["x"])})
    assert trial.tensor is None
    assert trial.said == str(raised.value).partition("\n")[0]


def test_a_line_is_broken_mended_and_left_behind_with_its_step(make):
    widget = make(ShapeTracer, step=7, lit="D")
    own = widget.line
    for said in ("Every row sums to 1.", "D = 256: width of the model, in 11 of 28"):
        assert said in widget.svg  # both, the tensor's and the letter's
    assert widget.svg.count(">femme<") == 2 == widget.svg.count(">scène<")  # beside and below
    assert "q @ k.transpose" in own
    widget.controls["Break it"].click()
    assert "64 isn't 11" in widget.describe()
    assert "layer 1: this line fails." in widget.tell()[0]
    assert "Which letters clash?" in widget.tell()[1]
    assert widget.controls["Break it"].hidden
    widget.controls["Mend it"].click()
    assert widget.line == own
    widget.line = "weights = (q @ k.mT / K ** 0.5).softmax(-1)"
    assert "Your line is right as well" in widget.describe()
    widget.line = "weights = (q @ k.mT).softmax(-1)"
    assert "numbers differ" in widget.describe()
    assert "What does your line do otherwise?" in widget.tell()[1]
    widget.step = 28
    assert all(f">{piece}<" in widget.svg for piece in ("woman", "blue", "is", "a", "stage"))
    widget.step = 8
    assert widget.line == "context = weights @ v"
    widget.line = " "
    assert widget.line == "context = weights @ v"


# Decoding ---------------------------------------------------------------------------------------


def test_greedy_is_what_the_translator_writes(make, translator):
    widget = make(DecodingExplorer)
    assert widget.numbers["translation"] == translator.translate(widget.sentence)
    for i in range(len(widget.numbers["ids"])):
        widget.step = i + 1
        best = widget.numbers["candidates"][0]
        assert best[0] == widget.numbers["ids"][i]
        assert best[2] == best[3]


def test_beams_are_the_cores(make, translator):
    widget = make(DecodingExplorer, method="beam", beam_size=3, length_penalty=1.0, step=4)
    with torch.no_grad():
        step = translator.model.decoder_step(translator.encode([widget.sentence]))
        wanted = decoding.beam(step, 1, BOS, EOS, 24, 3, 1.0)[0]
    assert widget.numbers["finished"] == wanted
    sums = re.findall(r"([−\d.]+)/([\d.]+) = ([−\d.]+)<", widget.svg)
    assert len(sums) > 1  # who lost, too
    for sum_ in sums:
        total, norm, score = (float(one.replace("−", "-")) for one in sum_)
        assert total / norm == pytest.approx(score, abs=1e-3)
    path = widget._winner()
    ids = [widget.numbers["columns"][t][row][1] for t, row in sorted(path.items())]
    assert ids == wanted[0].ids
    widget.sentence = STATION
    widget.step = widget.controls["step"].max
    assert "finished, not among the 3<" in widget.svg
    for penalty in (0.0, 3.0):
        widget.take({"beam_size": 4, "length_penalty": penalty})
        finished = widget.numbers["finished"]
        flipped = finished[0] is not max(finished, key=lambda one: one.log_prob)
        assert flipped == (penalty > 0) == ("The length penalty decides" in widget.tell()[1])
        likeliest = max(one.log_prob for one in finished)
        ended = sum(one[1] == EOS for each in widget.numbers["columns"] for one in each)
        assert f">and {ended - widget.svg.count(' tokens: ')} more<" in widget.svg
        assert f" tokens: {number(likeliest, 3)}/" in widget.svg  # what `tell` names is in the list
    widget.take({"sentence": "Deux enfants courent.", "length_penalty": 1.4})
    assert (widget.step, widget.controls["step"].max) == (6, 11)  # where the winner ends; all
    assert widget.tell()[0].startswith(
        "Step 6: the eventual winner is number 1 of 6 (2 end, 4 go on)"
    )
    assert "((5 + 6 tokens)/6)^1.4 = 2.336<" in widget.svg
    widget.beam_size = 6
    assert widget.svg.count("The same text from other tokens: child ") == 1
    for _, _, log_prob in widget.numbers["columns"][widget.step - 1]:
        assert f">{number(log_prob)}<" in widget.svg
    widget.take({"beam_size": 1, "step": 24})
    assert widget.tell()[0].startswith("Step 5: the eventual winner is number 1 of 2 (1 ends, 1 dr")
    widget.take({"beam_size": 4, "step": 4})
    assert widget.tell()[1] == "Greedy leaves the winner’s path at step 3. What does it take there?"
    widget.step = 3
    assert widget.tell()[1] == "Greedy takes “run” here, and writes: Two children run."
    widget.step = 11
    assert widget.tell()[0] == "Step 11: the winner ended at step 6, and here the search stops."
    assert "at its last token" in widget.svg
    widget.take({"sentence": STATION, "step": 1})
    assert "Kept at step 1:" in widget.svg
    held = next(one for one in clicks(widget) if one.get("forced") == widget.numbers["ids"][:1])
    send(widget, set=held, number=1)
    assert "the same without you" in widget.tell()[1]
    assert "Kept at steps 1 to 2" in widget.svg  # step 1 has nothing left to choose from
    widget.take({"forced": (), "beam_size": 4})  # word and number stay in their box, on a phone too
    texts = '<text [^>]* y="([0-9.]+)"[^>]*>[^<]+</text>' * 2
    box = r'y="([0-9.]+)" width="84.0" height="([0-9.]+)"[^>]*stroke=[^>]*/>'
    assert (found := re.findall(box + texts, widget.svg))
    for y, high, word, log_prob in (map(float, one) for one in found):
        assert y + 15 < word < log_prob < y + high - 3


def test_samples_follow_the_seed_and_the_dials(make):
    widget = make(DecodingExplorer, method="sample", temperature=2.0)
    first = widget.numbers["ids"]
    widget.seed = 2
    assert widget.numbers["ids"] != first
    widget.seed = 1
    assert widget.numbers["ids"] == first
    assert "before → after dials" in widget.svg
    assert "At temperature 2.0, unlikely tokens are drawn" in widget.tell()[1]
    widget.take({"sentence": STATION, "top_k": 3, "seed": 3, "step": 2})
    assert "a chance of 0.15 (0.06 before the dials)" in widget.tell()[0]
    assert "0.06 → 0.15" in widget.svg
    widget.reset()
    widget.temperature = 0.1
    assert widget.numbers["kept"] == len(widget._translator.tokenizer)  # it cuts none
    widget.take({"temperature": 1.1, "seed": 3})
    assert "a chance of 1 in 41,000 (1 in 96,000 before the dials)" in widget.tell()[0]
    assert "red: less than 1 in 1,000" in widget.svg
    widget.top_k = 1
    assert "red: less" not in widget.svg
    assert widget.numbers["kept"] == 1
    assert widget.numbers["translation"] == make(DecodingExplorer).numbers["translation"]


def test_dials_are_filters_then_a_softmax():
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0])
    torch.testing.assert_close(dialled(logits, 2.0, 0, 1.0), (logits / 2).softmax(-1))
    torch.testing.assert_close(dialled(logits, 1.0, 2, 1.0)[:2], logits[:2].softmax(-1))
    assert dialled(logits, 1.0, 0, 0.6).gt(0).sum() == 1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["greedy", "sample", "beam"])
def test_a_forced_token_is_written_and_the_rest_follows(method, make, translator):
    widget = make(DecodingExplorer, method=method)
    free = widget.numbers["ids"]
    second = next(i for i, *_ in make(DecodingExplorer, step=2).numbers["candidates"]
                  if i not in (free[1], EOS))  # fmt: skip
    widget.forced = (free[0], second)
    forced = widget.numbers["ids"]
    assert forced[:2] == [free[0], second]
    if method == "greedy":
        prefix = torch.tensor([[BOS, *forced[:2]]])
        logits = translator.model(translator.encode([widget.sentence]), prefix)
        assert forced[2] == logits[0, -1].argmax()
    if method == "beam":
        prefix = torch.tensor([[BOS, *forced[:-1]]])
        with torch.no_grad():
            scores = translator.model(translator.encode([widget.sentence]), prefix).log_softmax(-1)
        own = scores[0].gather(1, torch.tensor(forced)[:, None])[:, 0].cumsum(0).tolist()
        best, columns = widget.numbers["finished"][0], widget.numbers["columns"]
        assert best.log_prob == pytest.approx(own[-1], abs=1e-3)
        assert best.score == best.log_prob / decoding.length_norm(len(forced), 1.4)
        assert [columns[t][0][2] for t in (0, 1)] == pytest.approx(own[:2], abs=1e-3)
        assert own[1] < -0.5
    assert widget.numbers["by hand"] == [1]  # it would have begun with the first itself
    assert not widget.controls["Undo choices"].disabled
    widget.controls["Undo choices"].click()
    assert widget.numbers["ids"] == free
    widget.forced = (free[0], second)
    widget.sentence = "Un chat dort."
    assert widget.forced == ()


@pytest.mark.parametrize("method", ["greedy", "sample", "beam"])
def test_everything_fits_on_its_sheet_whatever_the_method(method, make):
    widget = make(DecodingExplorer, method=method)
    heights = set()
    for step in (1, widget.controls["step"].max):
        for size in (1, 6):
            widget.beam_size, widget.step = size, step
            heights.add(max(sheet.height for sheet in widget._drawings))
            for sheet in widget._drawings:
                texts = re.findall(r'<text x="[\d.]+" y="([\d.]+)"', sheet.to_svg())
                assert max(map(float, texts)) < sheet.height
    assert len(heights) == 1  # the page does not jump
    left = make(DecodingExplorer, sentence=STATION, method="sample", temperature=2.0).draw()[0]
    assert f'y="{left.height - 4:.1f}"' in left.to_svg()  # 24 tokens, and their sentence below
