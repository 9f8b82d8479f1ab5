"""Pictures are drawn by the code beside them, to the byte; each is shown and told in words."""

import math
import re
from ast import literal_eval
from itertools import pairwise

import pytest
import torch

from helpers.notebook import picture as show
from helpers.pretrained import toy_models
from images import draw, recurrent_films, stage
from notebooks import build

FILMS = sorted(path.stem for path in draw.HERE.glob("*.json"))


@pytest.mark.slow
def test_every_picture_is_what_its_function_draws(tmp_path):
    for name in draw.draw_all(tmp_path):
        assert (tmp_path / name).read_bytes() == (draw.HERE / name).read_bytes(), (
            f"{name} is not what its function draws; run `make images`."
        )


def test_every_file_has_its_function_and_a_lesson_that_shows_it():
    files = {path.stem for path in draw.HERE.iterdir() if path.suffix in {".svg", ".json"}}
    names = {picture.__name__ for picture in draw.PICTURES if len(draw.alt_text(picture)) > 40}
    assert files == names
    assert len(names) == len(draw.PICTURES)
    lessons = "".join(path.read_text(encoding="utf-8") for path in build.lessons())
    assert names == set(re.findall(r'notebook\.picture\("(\w+)"\)', lessons))


@pytest.mark.parametrize("path", sorted(draw.HERE.glob("*.svg")), ids=lambda path: path.name)
def test_no_letter_is_too_small_and_nothing_is_fetched(path):
    svg = path.read_text(encoding="utf-8")
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)]
    assert min(sizes) >= 16
    assert svg.count("http") == svg.count("http://www.w3.org/2000/svg")
    assert "<script" not in svg
    assert len(svg) < 200_000


@pytest.mark.parametrize("name", FILMS)
def test_a_film_can_be_read_on_a_phone_and_in_time_and_is_small(name):
    film = show(name)
    first, *others = (len(scene["shapes"]) for scene in film.data["scenes"])
    assert first >= min(others) / 2  # there is something to see before it plays
    opening = film.data["scenes"][0]
    begin = min(s.get("when", [0])[0] for s in opening["shapes"].values() if "start" in s)
    assert begin * opening["move"] < 0.5  # and something moves as soon as it does
    for scene in film.data["scenes"]:
        if scene["key"]:  # a still stands alone
            assert scene["caption"].strip("…") == scene["caption"]
        assert scene["seconds"] >= len(scene["caption"].split()) / 200 * 60
        assert scene["seconds"] >= scene["lead"] + scene["move"]
        for shape in (one for one in scene["shapes"].values() if one["kind"] == "text"):
            assert 0 <= shape["x"] <= film.data["width"]
            assert 0 <= shape["y"] <= film.data["height"]
    html = film._repr_html_()
    assert len(html.encode()) <= 300_000
    assert html.replace("http://www.w3.org/2000/svg", "").count("http") == 0


@pytest.mark.parametrize("name", FILMS)
def test_in_every_film_things_keep_who_they_are_and_move(name):
    scenes = show(name).data["scenes"]
    moved = sum("start" in shape for scene in scenes for shape in scene["shapes"].values())
    for before, after in zip(scenes, scenes[1:], strict=False):
        both = before["shapes"].keys() & after["shapes"].keys()
        assert len(both) >= len(before["shapes"]) / 4
        for one, other in ((before["shapes"][key], after["shapes"][key]) for key in both):
            assert one["kind"] == other["kind"]
            assert one.get("anchor") == other.get("anchor")  # no word jumps to another end
        moved += sum(after["shapes"][key] != before["shapes"][key] for key in both)
    assert moved > 20


def test_the_first_word_loses_the_room_in_the_state_that_the_alt_text_says():
    back, on = recurrent_films._readers(recurrent_films.FRENCH)
    far_back, far_on = recurrent_films._readers(recurrent_films.LONG)
    alt, scenes = (show("hidden_state_travelling").data[key] for key in ("alt", "scenes"))
    said = re.search(r"all of it to ([\d, ]+) and (\d+)", alt)
    shares = [f"{100 * row[0]:.0f}" for row in on]
    assert shares[1:] == [*said[1].split(", "), said[2]]
    assert f"le is {100 * back[0][0]:.0f} percent" in alt
    near, many = back[0] + on[-1], far_back[0] + far_on[-1]  # what each token has
    ranges = [f"{min(shares):.0%} to {max(shares):.0%}" for shares in (near, many)]
    assert f"has {ranges[1]} of a jar, instead of {ranges[0]}." in scenes[8]["caption"]
    for n in (0, 7):  # each layer has its word
        assert sum("wards word" in name for name in scenes[n]["shapes"]) == 2 * len(on)
    for n, scene in enumerate(scenes[1:5], 1):
        named = {name: shape.get("text", "") for name, shape in scene["shapes"].items()}
        said = [named[f"share {i}"].removeprefix("le ") for i in range(n)]
        assert said == [f"{share}%" for share in shares[:n]]
    assert len({scene["shapes"]["forwards jar"]["height"] for scene in scenes[:10]}) == 1
    long, before = scenes[8]["shapes"], None
    named = recurrent_films._named([*recurrent_films.LONG.split(), "<eos>"])
    for (name, ink), share in zip(named, far_on[-1], strict=True):
        layer = long[f"forwards {name}"]
        assert layer["height"] / recurrent_films.HIGH == pytest.approx(share, abs=0.001)
        assert before != layer["fill"] == long[f"card {name}"]["fill"] == ink  # told apart
        before = ink
        # Tokens of both sentences stay who they are.
        assert name not in range(6) or ink == scenes[7]["shapes"][f"forwards {name}"]["fill"]
    spans = [scenes[7]["shapes"][f"from c {i}"]["when"] for i in range(6)]  # into each word
    assert all(end < begin for (_, end), (begin, _) in pairwise(spans))  # one after the other
    for shapes in (scene["shapes"] for scene in scenes[1:8]):  # no name is larger than its layer
        for name in (name for name in shapes if "wards word" in name):
            box = shapes[name.replace("word ", "")]
            beside = shapes[name]["x"] > box["x"] + box["width"]
            assert beside is (box["height"] < stage.TEXT)


def test_the_film_shows_what_goes_wrong_in_one_sentence_and_in_many_others():
    film = show("hidden_state_travelling").data
    expected, scene, counts, last = film["scenes"][8:]
    assert scene["seconds"] >= 10 * 0.3 + 3  # two translations are read, too
    pairs = {" ".join(pair.source): " ".join(pair.target) for pair in toy_models.toy_data().test}
    gru = toy_models.load_toy("gru").translate(recurrent_films.LONG)
    right = [expected["shapes"][f"right {i}"]["text"] for i in range(4)]
    lines = [scene["shapes"][f"line {i}"]["text"] for i in range(4)]
    assert [" ".join(right), " ".join(lines)] == [pairs[recurrent_films.LONG], gru]
    marked = [scene["shapes"][f"room {i}"]["fill"] == "bad" for i in range(4)]
    assert marked == [one != other for one, other in zip(right, lines, strict=True)]
    assert marked[1:] == [True] * 3  # horses dance, without boys and bag
    shapes, said = last["shapes"], {}
    for model in ("gru", "additive"):
        arriving = recurrent_films._arriving(model)
        points = [shapes[f"{model} point {i}"]["y"] + 5 for i in range(6)]
        top, foot = (shapes[f"grid {share}"]["points"][1] for share in (100, 0))
        high = [(foot - y) / (foot - top) for y in points]
        assert high == pytest.approx(arriving, abs=0.001)
        said[model] = [shapes[f"{model} share {i}"]["text"] for i in range(6)]
        assert said[model] == [f"{100 * share:.0f}" for share in arriving]
    assert min(arriving) > 0.99  # "nearly all nouns"
    first, *others, end = said["gru"]
    assert f"{first} percent of the nouns of the shortest arrive" in film["alt"]
    assert f"then {', '.join(others)}, and {end} of the longest" in film["alt"]
    assert f"{first}% in short ones, {end}% in" in counts["caption"]


def _shapes(name):
    """All shapes of a film, each as it is the last time."""
    return {k: v for scene in show(name).data["scenes"] for k, v in scene["shapes"].items()}


def test_a_context_is_the_sum_of_the_values_with_the_weights_that_stand_there():
    rows, film = _shapes("self_attention_filling"), show("self_attention_filling").data["scenes"]
    said = {name: shape.get("text") for name, shape in rows.items()}

    def shown(name, said=said):
        return torch.tensor([float(said[f"{name} {n}"]) for n in range(3)])

    near = {"rtol": 0, "atol": 0.0051}
    values = torch.tensor([[float(n) for n in said[f"vector {j}"].split()] for j in range(3)])
    terms = torch.stack([shown(f"term {j}") for j in range(3)])
    torch.testing.assert_close(shown("in 0")[:, None] * values, terms, **near)
    torch.testing.assert_close(terms.sum(0), shown("sum"), **near)
    for i in range(3):
        assert said[f"taken {i}"] == f"{said[f'in 0 {i}']} ·"
        torch.testing.assert_close(shown(f"in {i}") @ values, shown(f"context {i}"), **near)
    assert rows["contexts"]["y"] - 22 > rows["V"]["y"] + rows["V"]["height"]  # clear on a phone
    for met in range(3):  # the query, a row, meets a column: pairs, and then they are summed
        shapes = film[met + 1]["shapes"]
        for n, entry in enumerate(film[0]["shapes"]["asks 0"]["text"].split()):
            ask, key = shapes[f"ask {n}.text"], shapes[f"key {met} {n}"]
            assert (ask["text"], ask["y"]) == (entry, key["y"])
            assert 0 < key["x"] - ask["x"] < 40
            assert shapes[f"product {met} {n}.text"]["text"] == f"{entry}·{key['text']}"
            assert int(shapes[f"makes {met} {n}"]["text"]) == int(entry) * int(key["text"])
            assert shapes[f"product {met} {n}"]["when"][0] > shapes[f"ask {n}"].get("when", [0])[0]
        score = f"{shown(f'makes {met}').sum():.0f}"
        assert (shapes[f"sum {met}"]["text"], said[f"score 0 {met}"]) == (f"= {score}", score)
    scaled = torch.tensor([1.0, 4, 3]) / 3**0.5  # the softmax is worked out in three scenes
    scenes = film[4:]
    assert "weights" in scenes[-1]["shapes"]  # they stand within Q and Kᵀ, and aren't QKᵀ
    asks = scenes[6]  # about a row whose scores are there, and whose weights aren't
    assert "for 3, 3, 3?" in asks["caption"]
    assert asks["shapes"]["asked"]["y"] < rows["query 2"]["y"] < rows["asked"]["y"] + 60  # marked
    assert asks["seconds"] - asks["lead"] - asks["move"] >= 6  # to find the answer
    named = [scenes[i]["shapes"]["weights"]["text"] for i in (0, 1, 2, 6, 7)]  # what stands there
    assert named == ["scores / √3", "e to that power", "weights", "scores", "weights"]
    for scene in [*scenes[3:6], *scenes[7:]]:  # a row that is finished stays so
        assert all(scene["shapes"][f"in 0 {j}"]["text"] == said[f"in 0 {j}"] for j in range(3))
    assert [*shown("score 0"), *shown("score 2")] == [1, 4, 3, 3, 3, 3]  # but for QKᵀ
    assert not {"in 0 0", "share 0 0", "mix 0 0", "context 0 0"} & asks["shapes"].keys()
    assert [said[f"power {j}"] for j in range(3)] == ["1/√3", "4/√3", "3/√3"]  # not rounded
    assert rows["power 0"]["size"] < 0.6 * scenes[1]["shapes"]["base 0"]["size"]  # an exponent
    assert "work 0" not in scenes[1]["shapes"]  # what is worked out next has a size of its own
    steps = scaled, scaled.exp(), scaled.softmax(0), (scaled * 3**0.5).softmax(0)
    for scene, worked in zip(scenes[:4], steps, strict=True):
        for j, one in enumerate(worked):  # each result stands below its cell
            below, cell = scene["shapes"][f"gives {j}"], scene["shapes"][f"in 0 {j}"]
            assert below["text"] == f"{one:.{len(below['text'].partition('.')[2])}f}"
            assert below["x"] == cell["x"]
            assert (below["text"] == cell["text"]) == (scene is not scenes[3])  # without √3


def test_in_the_plane_all_numbers_follow_from_the_words_and_matrices_that_it_shows():
    shapes = _shapes("queries_in_one_plane").items()
    said = {name: shape.get("text", "").replace("−", "-") for name, shape in shapes}

    def shown(name, said=said):
        return torch.tensor([literal_eval(said[f"{name} {i}"]) for i in range(4)], dtype=float)

    scenes = show("queries_in_one_plane").data["scenes"]
    met = scenes[4]["shapes"]
    assert met["number 1"]["start"]["y"] - 20 > met["terms 1"]["y"]  # it flies through no words
    joined = dict(shapes)
    for kind in ("query", "key", "value"):  # the plane moves with the words
        assert sum(name.startswith(f"{kind} grid") for name in joined) == 10
    assert {joined[f"share {i}"]["fill"] for i in range(4)} == {"value"}
    words, values = shown("ink"), shown("value")
    q, k, v = (shown(f"W_{one} entry").view(2, 2) for one in "QKV")
    torch.testing.assert_close((shown("key"), values), (words @ k, words @ v))
    scores = words @ k @ (words[2] @ q)
    assert [said[f"product {i}"][2:] for i in range(4)] == [f"{score:.0f}" for score in scores]
    assert [said[f"product {i}"][0] for i in range(4)] == ["≈", "≈", "=", "="]  # 1.26 × 1.58
    keys = torch.nn.functional.normalize(shown("key"))  # words of a kind are near each other
    assert keys[0] @ keys[1] > 0.75 > 0 >= (keys[:2] @ keys[2:].T).max()
    weights = (scores / 2**0.5).softmax(0)
    torch.testing.assert_close(shown("score"), weights, rtol=0, atol=0.0051)
    worked = {k: v.get("text", "").replace("−", "-") for k, v in scenes[10]["shapes"].items()}
    torch.testing.assert_close(shown("number", worked), scores)  # all lines stand together
    for step, row in ((8, scores / 2**0.5), (9, (scores / 2**0.5).exp())):
        torch.testing.assert_close(shown(f"step {step}", worked), row, rtol=0, atol=0.0051)
        bars = [scenes[10]["shapes"][f"bar {step} {i}"]["height"] for i in range(4)]
        torch.testing.assert_close(torch.tensor(bars) / 28, row.abs().float(), rtol=0, atol=0.01)
    assert f"their sum, {row.sum():.2f}." in scenes[10]["caption"]
    unit = scenes[0]["shapes"]["arrow 2"]["dx"] / 2  # one scale from beginning to end
    for name, drawn in (("whole", values), ("share", weights[:, None] * values)):
        arrows = [[joined[f"{name} {i}"][way] for way in ("dx", "dy")] for i in range(4)]
        flipped = torch.tensor(arrows, dtype=float) / torch.tensor([unit, -unit])
        torch.testing.assert_close(flipped, drawn, rtol=0, atol=0.006)
    for n, name, word, made in ((1, "W_Q", 2, q), (2, "W_K", 1, k), (11, "W_V", 1, v)):
        sums = [scenes[n]["shapes"][f"{name} sum {j}"]["text"] for j in range(2)]
        sums = [float(one.replace("−", "-")) for one in sums]
        torch.testing.assert_close(words[word] @ made, torch.tensor(sums, dtype=float))
    context = torch.tensor(literal_eval(said["its entries"]), dtype=float)
    torch.testing.assert_close(weights @ values, context, rtol=0, atol=0.0051)
    both = torch.tensor(literal_eval(said["both's entries"]), dtype=float)
    torch.testing.assert_close(words[2] + context, both)  # the last scene adds it to the word
    last = scenes[-1]  # towards values that it shows whole
    assert re.findall(r"\d\.\d\d", last["caption"]) == [f"{context[1]:.2f}", f"{-context[0]:.2f}"]
    assert all(max(last["shapes"][f"whole {i}"][way] for way in ("dx", "dy")) < 0 for i in (0, 1))


def test_training_and_writing_differ_where_the_caption_says_so():
    film = show("training_and_inference_decoder").data["scenes"]
    scenes = [scene["shapes"] for scene in film]
    end = film[2]["shapes"]["sees 3 0"]["when"][1]  # one position's lines can be looked at
    assert film[2]["seconds"] - film[2]["lead"] - end * film[2]["move"] >= 2
    assert scenes[2]["sees 3 0"]["line"] > scenes[2]["sees 4 0"]["line"]
    at_once, given, losing, back, *passes, last = scenes[4:]
    asks = passes.pop(3)  # what an input will change, before the pass that answers it
    assert film[11]["caption"].endswith("Will it still say “up”?")
    assert ("given 3" in asks, "own 3" in asks) == (True, False)
    assert film[11]["seconds"] - film[11]["lead"] - film[11]["move"] >= 4

    def words(shapes, kind):
        return [shapes[f"{kind} {i}.text"]["text"] for i in range(5) if f"{kind} {i}" in shapes]

    assert words(at_once, "input")[1:] == words(at_once, "target")[:-1]
    assert words(passes[-1], "given") == words(passes[-1], "own")[:-1]
    for shapes in (at_once, last):  # one pulse from all inputs to all outputs
        dots = [v["when"] for k, v in shapes.items() if k.startswith("dot")]
        assert dots == [dots[0]] * 15
        assert all(shapes[f"output {i}"]["when"] > dots[0] for i in range(5))
        assert {shapes[f"input {i}"]["fill"] for i in range(5)} == {"query"}
    for i, shapes in enumerate(passes):  # a pulse per pass, to one output, which then falls down
        own, dot = words(shapes, "own"), shapes[f"dot {8 + i + (i > 2)} {i} 0"]["when"]
        assert len(own) == i + 1 == sum(name.startswith("dot") for name in shapes)
        assert not any(name.startswith(("mean", "loss", "target")) for name in shapes)
        assert shapes["writing"]["text"].startswith(f"writing: {i + 1} pass")
        read = " ".join(["<bos>", *words(shapes, "given")])
        assert shapes[f"line {i}"]["text"] == f"{i + 1}:  {read} → {own[-1]}"
        assert dot[1] <= shapes[f"own {i}"]["when"][0]
        assert shapes["input 0"]["stroke"] == "muted"
        if i:  # an output, which <bos> isn't
            fall = (asks if i == 3 else shapes)[f"given {i}"]
            assert (fall["start"]["y"], fall["stroke"]) == (shapes[f"own {i - 1}"]["y"], "key")
            assert i == 3 or fall["when"][1] <= dot[0]
    assert len(words(at_once, "output")) == len(own)  # as many tokens
    assert not any("writing" in shapes for shapes in scenes[:8])  # training has the stage
    assert ("blocked" in scenes[3], words(scenes[3], "output")) == (True, [])  # hidden before
    fourth = [words(given, kind)[3] for kind in ("input", "output")]
    assert passes[3]["training's"]["text"].removeprefix("in training: ").split(" → ") == fourth
    assert fourth[1] != own[3]
    lit = given["input 3"], given["output 3"], passes[3]["given 3"], passes[3]["own 3"]
    assert [shape["fill"] for shape in lit] == ["query", "key", "key", "key"]
    losses = [float(losing[f"loss of {i}"]["text"]) for i in range(5)]
    said = re.findall(r"\d\.\d+", film[6]["caption"])  # a probability, its loss, the next one
    assert said[:2] == [f"{math.exp(-max(losses)):.2f}", f"{max(losses)}"]
    assert math.exp(-float(sorted(losses)[-2])) == pytest.approx(float(said[2]), abs=0.03)
    for i, loss in enumerate(losses):  # a loss stands over its word, its bar, too
        bar, middle = losing[f"loss {i}"], losing[f"loss of {i}"]["x"]
        assert middle == losing[f"output {i}.text"]["x"] == bar["x"] + bar["width"] / 2
        assert bar["height"] == pytest.approx(40 * loss / max(losses), abs=1.5)  # of a rounded loss
        assert back[f"loss {i}"]["height"] == pytest.approx(bar["height"] / 5, abs=0.11)
    assert back["mean"]["text"] == f"mean loss {sum(losses) / 5:.1f}"
    assert back["decoder"]["fill"] == back["encoder"]["fill"] == "result"  # they change


def test_the_map_is_built_row_by_row_and_each_caption_says_its_weights():
    _, found = recurrent_films._looking(recurrent_films.SEARCH)
    read, written, weights = found["source"], found["target"], found["weights"].tolist()
    first, made, *scenes, last = show("decoder_looking_back").data["scenes"]
    assert "Where will the model look before it writes “for”?" in first["caption"]
    kinds = ("share", "cell", "written", "gaze", "state")  # nothing that would answer it
    assert not any(name.startswith(kinds) for name in first["shapes"])
    assert {"asked", "? 0", "? 6"} < first["shapes"].keys() & scenes[4]["shapes"].keys()
    assert {f"{way} {j}" for way in ("on", "to") for j in range(6)} < made["shapes"].keys()
    colours = [scenes[2]["shapes"][name]["fill"] for name in ("asks 0", "taken 0 0 0", "state 0")]
    assert colours == ["key", "result", "query"]  # the decoder's state, the context, the encoder's
    whole, state = last["shapes"], None
    for i, scene in enumerate(scenes[2:]):
        shapes, row = scene["shapes"], {j: w for j, w in enumerate(weights[i]) if w >= 0.005}
        assert {f"meets {i} {j}" for j in range(7)} < shapes.keys()  # a line to every h
        assert {f"back {i}", f"goes in {i}", f"written {i}"} < shapes.keys()
        assert shapes[f"back {i}.text"]["text"] == (written[i - 1] if i else "<bos>")
        assert "blank" not in shapes  # there, no row is a word's that isn't written
        assert not any(name.startswith(f"written {i + 1}") for name in shapes)
        before, state = state, torch.tensor([shapes[f"entry {k}"]["tint"] for k in range(6)])
        assert before is None or (state - before).abs().max() > 0.3
        assert shapes["its state"]["text"] == f"s{'₀₁₂₃₄₅₆₇₈'[i + 1]}"
        said = re.findall(r"0\.\d\d", scene["caption"])
        assert {*said} <= {f"{weight:.2f}" for weight in row.values()}
        assert sum(name.startswith(f"weight {i} ") for name in shapes) == len(row)
        for j, weight in row.items():
            for shown in (shapes[f"weight {i} {j}"], whole[f"share {i} {j}"]):
                assert shown["text"] == f"{weight:.2f}"
            assert whole[f"cell {i} {j}"]["tint"] == pytest.approx(0.55 * weight, abs=0.001)
            assert shapes[f"gaze {i} {j}"]["line"] == pytest.approx(max(14 * weight, 1.5), abs=0.1)
            if weight > recurrent_films.NAMED:  # entry by entry
                assert shapes[f"taken {i} {j} 5"]["x"] == shapes[f"mixed {i} 5"]["x"]
        mixed = [2 * shapes[f"mixed {i} {k}"]["tint"] - 1 for k in range(6)]
        exact = found["weights"][i] @ found["encoder"][:, recurrent_films.ENTRIES]
        assert mixed == pytest.approx(exact.tolist(), abs=0.01)
        for name, shape in shapes.items():  # what is new comes when the old row has gone
            if i > 1 and re.match(r"(asks|meets|gaze|weight|taken|part) ", name):
                assert shape["when"][0] >= 0.18
    alt = show("decoder_looking_back").data["alt"]
    for i, there in ((3, (2, 3)), (4, (3, 2))):
        values = [f"{weights[i][j]:.2f} on {read[j]}" for j in there]
        assert f"{written[i].title()} has {' and '.join(values)}." in alt
    assert {"kink 3", "kink 7", "blank"} < whole.keys()


def test_the_step_of_bahdanau_can_be_recomputed_from_the_numbers_that_it_shows():
    shapes = _shapes("bahdanau_step")

    def numbers(text):
        signed = text.replace("− ", "-").replace("−", "-")
        return [float(one) for one in re.findall(r"-?\d+\.\d\d", signed)]

    def column(name, count=4):
        return torch.tensor([numbers(shapes[f"{name} {i}"]["text"])[0] for i in range(count)])

    scenes = show("bahdanau_step").data["scenes"]
    near = {"rtol": 0, "atol": 0.0051}  # digits as shown
    for i, key in ((2, "U h₃"), (4, "U h₅")):  # a pair with a high score, and one with a low one
        names = ("W s", f"{key} {i}", f"tanh {i}", f"v · tanh {i}", "v")
        from_s, from_h, tanh, products, v = (column(f"{name} entry") for name in names)
        torch.testing.assert_close((from_s + from_h).tanh(), tanh, **near)
        torch.testing.assert_close(tanh * v, products, **near)
        *terms, total = numbers(shapes[f"terms {i}"]["text"])
        four, rest = numbers(shapes[f"sums {i}"]["text"])
        assert terms == pytest.approx(products.tolist())
        assert sum(terms) == pytest.approx(total) == pytest.approx(four)
        score = shapes[f"score {i}"]["text"]
        assert f"{four + rest:.2f}" == score.replace("−", "-")
        assert score == shapes[f"gives {i}"]["text"] == shapes[f"up {i}.text"]["text"]
        flying = scenes[4 + i // 2]["shapes"].keys()  # what is multiplied
        assert {f"{name} {k}" for name in ("factor", "product", "term") for k in range(4)} < flying
    assert scenes[6]["caption"].endswith(f"scores only {score}.")
    for one in (f"{name} entry {k}" for name in ("W s", "v") for k in range(4)):  # that stay
        assert not {"start", "when"} & scenes[6]["shapes"][one].keys()
    one, other, squashed = (
        column(f"{name} entry").tolist()[0] for name in ("W s", "U h₃ 2", "tanh 2")
    )
    assert numbers(scenes[4]["caption"]) == pytest.approx([one, other, one + other, squashed])
    weights = torch.zeros(6)  # those that are as good as nothing are said once, with their sum
    weights[1:3] = torch.tensor([float(shapes[f"weight {i}"]["text"]) for i in (1, 2)])
    exact = column("score", 6).softmax(0)
    torch.testing.assert_close(exact, weights, **near)
    assert shapes["others"]["text"] == f"the other four: {1 - exact[1:3].sum():.3f}"
    powers = column("score", 6).double().exp()  # the softmax, too, for the two largest
    for i in (1, 2):
        said = f"{powers[i]:,.0f} ÷ {powers.sum():,.0f} = {powers[i] / powers.sum():.2f}"
        assert shapes[f"share {i} e"]["text"] == said  # and no chain of equals that aren't equal
        assert shapes[f"raised {i} e"]["text"] == f"= {powers[i]:,.0f}"
        softmax = scenes[8]["shapes"]  # powers, sum, weights
        began = [softmax[one]["when"][0] for one in (f"raised {i} e", "all six", f"share {i} e")]
        assert [*began, softmax[f"weight {i}"]["when"][0]] == sorted({*began, 0.85})
    mixed = column("mixed")
    assert shapes["column 1 0"]["x"] == shapes["column 2 0"]["x"]  # onto each other
    going = scenes[-1]["shapes"]  # into the decoder go the context, s and a word, and two come out
    for name, came in (("s", None), ("goes in", None), ("next s", "s"), ("black", "s")):
        x, y = (going[f"{name}.text"][way] for way in "xy")
        inside = 0 < x - going["decoder"]["x"] < 230 and 0 < y - going["decoder"]["y"] < 140
        assert inside == (came is None)
    assert going["mixed 0"]["x"] > going["decoder"]["x"] > scenes[-2]["shapes"]["mixed 0"]["x"]
    turns = [shapes[f"pair {i}"]["when"][0] for i in (0, 1, 3, 5)]  # through the same network
    assert turns == sorted({*turns})
    _, table, opened, *_, whole, taken, added, _ = scenes
    for i in range(4):  # the column of noir moves as a whole, when the others have gone
        entry, box = (opened["shapes"][f"{name} 2 {i}"] for name in ("of", "column"))
        assert table["shapes"][f"of 2 {i}"]["text"] == entry["text"]
        assert entry["when"] == box["when"] == [0.5, 0.8]
    assert added["shapes"]["four"]["text"].endswith("of the context")
    shapes = whole["shapes"]
    assert not any("start" in v for k, v in shapes.items() if k.startswith(("of ", "column ")))
    states = torch.stack([column(f"of {i}") for i in range(6)])
    torch.testing.assert_close(weights @ states, mixed, **near)
    shapes = taken["shapes"]  # multiplied by their weights, the columns of two states are added
    parts = torch.stack([column("of 1"), column("of 2")])
    torch.testing.assert_close(weights[1:3, None] * states[1:3], parts, **near)
    torch.testing.assert_close(parts.sum(0), mixed)


def test_two_shapes_of_one_name_are_refused():
    scene = stage.Scene("A caption.")
    scene.rect("one", 0, 0, 1, 1)
    with pytest.raises(ValueError, match="two shapes called 'one'"):
        scene.rect("one", 0, 0, 1, 1)
