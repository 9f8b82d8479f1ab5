"""The recurrent steppers: their numbers are the core's, and the controls move the picture."""

import re

import pytest
import torch
from explorer_promises import check_that_every_change_shows, check_the_still_picture
from samples import refuses

from helpers.data.corpus import toy_corpus
from helpers.data.toy_reference import follows_grammar, reference
from helpers.models.seq2seq import Seq2Seq, Seq2SeqConfig
from helpers.plots import GREY, PURPLE
from helpers.pretrained.recurrent_trace import greedy_traces
from helpers.pretrained.toy_models import load_toy
from helpers.text.tokenization import BOS, EOS, WordVocabulary
from helpers.transformer import decoding
from helpers.widgets.bahdanau_stepper import BahdanauStepper
from helpers.widgets.rnn_stepper import LAST, MANY, MOST, RNNStepper
from helpers.widgets.svg import BAD

PAIRS = toy_corpus(60, lengths=(4, 8))
SOURCE = WordVocabulary.build(p.source for p in PAIRS)
TARGET = WordVocabulary.build(p.target for p in PAIRS)
SENTENCE, OTHER = (" ".join(PAIRS[i].source) for i in (0, 1))


def model_of(attention, cell="gru"):
    torch.manual_seed(3)
    sizes = {"src_vocab_size": len(SOURCE), "tgt_vocab_size": len(TARGET)}
    config = Seq2SeqConfig(**sizes, d_embedding=8, d_hidden=20, cell=cell, attention=attention)
    return Seq2Seq(config).eval()


def rnn(**state):
    return RNNStepper(model_of("none"), SOURCE, TARGET, SENTENCE, **state)


def bahdanau(**state):
    return BahdanauStepper(model_of("additive"), SOURCE, TARGET, SENTENCE, **state)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("attention", ["none", "additive"])
@torch.no_grad()
def test_the_trace_is_the_models_own_step(attention, cell):
    model, ids = model_of(attention, cell), SOURCE.encode(SENTENCE, eos=True)
    (found,) = greedy_traces(model, ids, BOS, EOS, MOST)
    src = torch.tensor([ids])
    assert found["written"] == decoding.greedy(model.decoder_step(src), 1, BOS, EOS, MOST)[0]
    assert found["read"] == [BOS, *found["written"][:-1]]
    states, last, _ = model.encode(src)
    torch.testing.assert_close(found["encoder"], states[0])
    torch.testing.assert_close(found["last"], last[0])
    step = model.decoder_step(src)
    for t, row in enumerate(found["probabilities"], 1):
        prefix = torch.tensor([found["read"][:t]])
        torch.testing.assert_close(row, step(prefix)[0].softmax(-1))
    if attention == "additive":
        maps = model.attention_maps(src, torch.tensor([found["read"]]))
        torch.testing.assert_close(found["weights"], maps[0])
    else:
        assert found["weights"] is None


@torch.no_grad()
def test_energies_weights_and_context_are_the_layers():
    w = bahdanau()
    layer = w._model.decoder.attention
    for t in range(1, len(w.numbers["target"]) + 1):
        w.output_step = t
        found = w.numbers
        context, weights = layer(found["state"][None], found["encoder"][None])
        torch.testing.assert_close(found["alpha"], weights[0])
        torch.testing.assert_close(found["alpha"], found["weights"][t - 1])
        torch.testing.assert_close(found["context"], context[0])
        torch.testing.assert_close(found["scores"].softmax(0), weights[0])
        chances = found["probabilities"][t - 1]
        expected = chances.sort(descending=True).values[:3].tolist()
        assert [c for _, c in found["candidates"]] == pytest.approx(expected)
        assert found["candidates"][0][0] == found["target"][t - 1]


@pytest.mark.parametrize(
    ("make", "trait", "other"), [(rnn, "step", "kept"), (bahdanau, "output_step", "forced")]
)
def test_it_keeps_what_every_explorer_promises_at_every_step(make, trait, other):
    w, seen, told = make(), set(), set()
    before = w.state, w.svg, w.describe()
    check_the_still_picture(w)
    assert (w.state, w.svg, w.describe()) == before
    assert 'class="spare"' not in w.svg  # a phone shows all of it
    assert re.search('alt="(.*?)"', w.static_html())[1].startswith(("An encoder", "Transl"))
    check_that_every_change_shows(w, {trait: 3, other: 1, "sentence": OTHER})
    for value in range(1, w.controls[trait].max + 1):
        w.controls[trait].value = value
        assert getattr(w, trait) == value
        seen.add(w.svg)
        told.add(w.describe())
    assert len(seen) == len(told) == w.controls[trait].max > 1


@torch.no_grad()
def test_a_word_told_gets_all_weight_at_that_step_and_the_translation_goes_on_from_there():
    w = bahdanau(output_step=2)
    own = w.numbers["target"]
    w.forced = 1
    found = w.numbers
    assert found["alpha"].tolist() == [float(i == 1) for i in range(len(found["source"]))]
    torch.testing.assert_close(found["context"], found["encoder"][1])
    assert found["written"][:1] == found["whole"]["written"][:1]  # what came before stays
    word = w._model.decoder.embedding.weight[found["read"][1]]
    read = torch.cat([word, found["encoder"][1]])[None, None]
    _, state = w._model.decoder.rnn(read, found["state"][None, None])
    torch.testing.assert_close(found["states"][2], state[0, 0])
    w.take({"output_step": 3})  # what was told was for one step, so the map has its own row again
    assert (w.forced, w.numbers["target"]) == (-1, own)


def test_they_open_where_the_look_is_about_to_go_back_and_where_too_few_numbers_get_through():
    w = bahdanau()
    w.traces = lambda: [{"weights": torch.eye(4)[[0, 2, 1, 3]]}]
    assert w.opening() == {"output_step": 2}
    w.traces = lambda: [{"weights": torch.eye(4)}]
    assert w.opening() == {"output_step": 1}
    assert rnn(step=3).step == 3
    w = rnn(kept=20)
    # Half is enough, a quarter isn't.
    w.traces = lambda most, kept: [{"target": "the cat" if k > 9 else "the dog"} for k in kept]
    assert w.opening() == {"kept": 5}


def test_the_reference_is_what_the_grammar_writes_and_goes_on_where_it_writes_nothing():
    for pair in toy_corpus(2000, seed=5):
        assert reference(pair.source) == list(pair.target)
    for french, english in (
        ("le garçon fatigué dort", "the tired boy sleeps"),
        ("il n' est pas vert", "it is not green"),
        ("noir homme curieux noir .", "black curious black man ."),
    ):
        assert reference(french.split()) == english.split()


def test_many_squeezed_at_once_are_what_each_is_alone():
    gru, encoded, sentence = load_toy("gru"), [], "le chat noir dort ."
    gru.model.encoder.register_forward_hook(lambda *_: encoded.append(1))
    w = RNNStepper(gru.model, gru.source, gru.target, sentence)
    w.step = 2
    assert w.tell()[0] == "“chat” takes 60% of the downward state, and the first, “le”, keeps 40%."
    assert len(encoded) == 2  # and once for all words that a share is measured with
    ids, written = gru.source.encode(sentence, eos=True), [one["written"] for one in w.squeezed()]
    assert len({len(ids) for ids in written}) > 2
    together = greedy_traces(gru.model, ids, BOS, EOS, MOST, range(129))
    for kept, found in enumerate(together):
        (alone,) = greedy_traces(gru.model, ids, BOS, EOS, MOST, [kept])
        assert found["written"] == alone["written"] == written[kept]
        for name in "encoder", "last", "states", "logits", "probabilities":
            torch.testing.assert_close(found[name], alone[name], atol=2e-5, rtol=1e-5)


@torch.no_grad()
def test_a_squeezed_context_keeps_its_largest_numbers_and_nothing_else():
    w = rnn(kept=20)
    whole = w.numbers["last"]
    heights = {sheet.height for w.kept in (20, 5, 0) for sheet in w.draw()}
    assert len(heights) == 2  # the control stays where the hand is, however much is written
    for kept in (0, 5):
        assert f'cx="{104 + 204 * kept / 20:.1f}"' in rnn(kept=kept).draw()[1].to_svg()
    w.step = n = len(w.numbers["source"]) + 1
    assert "two last states, 10 numbers each, form the context: 0 of 20" in w.tell()[0]
    words = len(w.numbers["target"])
    assert w.svg.count(">·<") == words  # nothing is told before it's written
    w.step = n + 2
    assert w.svg.count(">·<") == words - 2
    w.kept = 5  # what is lost is seen at the end
    assert w.step == w.controls["step"].max
    last = w.numbers["last"]
    assert int((last != 0).sum()) == 5
    assert last[last != 0].abs().min() >= whole[last == 0].abs().max()
    torch.testing.assert_close(last[last != 0], whole[last != 0])
    start = w._model.decoder.begin(last[None])[0, 0]
    torch.testing.assert_close(w.numbers["states"][0], start)


def test_the_right_translation_decides_what_is_kept_even_with_all_numbers():
    gru = load_toy("gru")
    w = RNNStepper(gru.model, gru.source, gru.target, "la grande fille chante .", kept=128)
    said = "128 numbers keep 3 of 4 words in order."
    told = "Even all 128 get “girl” wrong, so it’s the model’s own mistake."
    assert (w.tell(), w.numbers["stays"][2][-1]) == ((said, told), False)
    assert any(w.numbers["stays"][2])  # fewer keep it
    assert re.search(f'{BAD}" [^>]*>turtle<', w.svg)
    assert re.search(f'{GREY}" [^>]*>girl<', w.svg)
    assert "grey: the model’s own" in w.svg
    w.kept = 1  # too few, whatever the model can do
    assert re.search(f'{BAD}" [^>]*>girl<', w.svg)
    w.controls["sentence"].value = "le garçon fatigué dort dans le jardin."
    assert (w.step, w.kept) == (w.controls["step"].max, w.opening()["kept"])
    assert w.tell()[1] == told.replace("girl", "tired")
    w.controls["sentence"].value = "Le chat noir dort."  # nothing to type before the stop
    assert (w.sentence, w.numbers["target"][-2:]) == ("Le chat noir dort .", [".", "<eos>"])
    right = w.numbers["right"]
    said = f"Every word is kept, which takes at least {right.index(True)}."
    for w.kept in reversed(range(129)):
        odd = w.numbers["target"][:-1] != w.numbers["whole"]
        assert odd is not right[w.kept]
        assert w.tell()[1].startswith(said) is not odd
        again = re.search("worse: with ([0-9]+), “([a-z]+)” is wrong again", w.tell()[1])
        assert bool(again) == (not odd and not all(right[w.kept :]))
        lost = again and w.traces(kept=range(129))[int(again[1])]["lost"]
        assert not again or again[2] in [w.numbers["whole"][i] for i in lost]
    assert "Nothing gets through, so" in w.tell()[1]
    w.take({"sentence": "elle dort .", "step": LAST})
    assert "il, elle: these texts only say “it”" in w.svg
    w.take({"sentence": "la femme voit le chat noir .", "kept": 128})
    assert w.tell()[1].startswith("Even all 128 get “black” wrong, so")
    w.kept = 53
    assert w.tell()[1].startswith("Every word is kept, which takes at least")
    w.take({"sentence": "le petit chat voit un chien noir .", "kept": 4})
    # “sees” is written, but after the dog.
    assert {"sees", "black", "dog"} <= {*w.numbers["target"]}
    assert [w.numbers["whole"][i] for i in w.numbers["lost"]] == ["cat", "sees", "a"]
    assert w.tell()[0] == "4 numbers keep 4 of 7 words in order."
    w.take({"sentence": "un cheval suit la reine .", "kept": 5})
    assert "Every word is there, but so are others" in w.tell()[1]
    w.reset()
    # As long as one in the lesson's film.
    clause = "le petit garçon cherche le vieux sac noir"
    w.controls["sentence"].value = f"{clause} pendant que {clause} ."
    assert len(w.numbers["source"]) == MANY
    for sheet in w.draw():
        assert max(map(float, re.findall(' y="([0-9.]+)"', sheet.to_svg()))) < sheet.height <= 500
    dot, strips = (w.draw()[1].to_svg().index(part) for part in (f'stroke="{PURPLE}"', "<image"))
    assert dot < strips  # it hides no column
    for sentence in "le chat dort", "chat .", "dort le chat .", "le chat dort dort .":
        w.take({"sentence": sentence, "step": LAST})
        assert "doesn’t know sentences of this form" in w.tell()[1]
    assert all(follows_grammar(p.source) for p in toy_corpus(2000))


def test_the_arrows_that_a_step_follows_are_bold():
    w = rnn()
    n = len(w.numbers["source"])
    # Two networks go on from a state, both end in the context, which every token reads; all but the
    # first read the state and the token before, too.
    for step, arrows in (1, 0), (2, 2), (n, 2), (n + 1, 2), (n + 2, 1), (n + 3, 3):
        w.step = step
        assert len(re.findall('<line [^>]*stroke-width="4"', w.svg)) == arrows


@pytest.mark.parametrize("make", [rnn, bahdanau])
def test_a_sentence_typed_is_translated_and_a_wrong_one_refused(make):
    w = make()
    w.controls["sentence"].value = OTHER
    assert w.sentence == OTHER
    assert not w.controls["sentence"].error
    for bad, words in [("zut " + OTHER, "zut"), ("", "Type"), (". " * w.most, "At most")]:
        w.controls["sentence"].value = bad
        assert w.sentence == OTHER
        assert words in w.controls["sentence"].error
    w.controls["sentence"].value = OTHER.upper()
    assert not w.controls["sentence"].error
    assert w.numbers["source"][:-1] == OTHER.split()
    w.controls["sentence"].value = "zut"
    (field,) = [one for one in w._shown["controls"] if one["name"] == "sentence"]
    assert set(SENTENCE.split()) <= set(field["known"])
    assert not {"<pad>", "<bos>", "<eos>", "<unk>"} & set(field["known"])
    w.sentence = " ".join(field["known"][:3])
    assert not w.controls["sentence"].error
    trait = "step" if make is rnn else "output_step"
    w.set_trait(trait, w.controls[trait].max)
    w.sentence = "."  # a shorter one takes the step back
    assert getattr(w, trait) <= w.controls[trait].max


def test_bad_arguments_are_named():
    refuses('attention="none"', RNNStepper, model_of("additive"), SOURCE, TARGET, SENTENCE)
    refuses('attention="additive"', BahdanauStepper, model_of("none"), SOURCE, TARGET, SENTENCE)
    refuses("zut", RNNStepper, model_of("none"), SOURCE, TARGET, "zut .")
