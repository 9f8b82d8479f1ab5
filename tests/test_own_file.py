"""The learner's own file: parts go in when they pass, in order, and nothing of theirs is lost."""

import linecache
import math
import os
import subprocess
import sys
import textwrap
from multiprocessing import get_context

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import once_a_week, python

from helpers import exercises
from helpers.data.captions import CAPTIONS
from helpers.exercises import lessons, own_code, own_file, own_text
from helpers.exercises.checking import judge
from notebooks import build
from teaching.grade import Submission
from teaching.handing_back import hand_back

pytestmark = pytest.mark.slow  # nothing here is quick, alone or with its variants

at_work = lessons.module(10, "at_work")
FRENCH = [french for french, _ in CAPTIONS[:2]]

ARTICLES = {"le": "the", "un": "a"}
NOUNS = {"chat": "cat", "chien": "dog", "garçon": "boy"}

MERGE = "def merge_heads(x):\n    return x.transpose(1, 2).flatten(-2)\n"
MERGE_TOO = """def merge_heads(x):
    b, h, t, k = x.shape
    return x.permute(0, 2, 1, 3).reshape(b, t, h * k)
"""
SPLIT = "def split_heads(x, n_heads):\n    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path))
    monkeypatch.setattr(own_file, "answers", {})
    return tmp_path


def cell(text, **known):
    """Run a notebook's cell, as IPython does: its lines can be found again."""
    place = f"<cell {len(linecache.cache)}>"
    linecache.cache[place] = len(text), None, text.splitlines(True), place
    known = {"__name__": "__main__", **known}
    exec(compile(text, place, "exec"), known)
    return known


def passed(name, text, **known):
    verdict = exercises.check(name, cell(text, **known)[name])
    assert verdict.passed
    return verdict.kept


def text():
    return own_file.path().read_text(encoding="utf-8")


@pytest.mark.parametrize("name", own_file.tested())
def test_the_courses_copy_passes_every_check(name):
    module = own_code.run(own_file.TESTED.read_text(encoding="utf-8"), "tested")[0]
    if name in own_file.catalogue()[0]:
        assert judge(name, getattr(module, name)).passed
        assert own_file.find(name).then, "the panel says what runs next on the learner's code"


@pytest.mark.parametrize("number", [*range(11), 14, 15, 19])
def test_lessons_show_which_parts_are_the_learners(number):
    cells = build.read_cells(lessons.folders()[number] / "lesson.py")
    assert any(cell.source == "exercises.my_parts()" for cell in cells)


def test_parts_stand_in_the_papers_order_whatever_came_first():
    assert "line" in passed("merge_heads", MERGE)
    passed("split_heads", SPLIT)
    exercises.fill_in()
    names = [name for name in own_file.parts_of(text()) if name in own_file.tested()]
    assert names == list(own_file.tested())
    assert exercises.my_transformer().split_heads is exercises.mine("split_heads")
    assert exercises.is_mine("split_heads")
    assert not exercises.is_mine("attend")


def test_an_edit_in_the_file_is_never_written_over():
    passed("merge_heads", MERGE)
    own_file.path().write_text(text().replace("flatten(-2)", "flatten(2)"))
    assert "later version" in passed("merge_heads", MERGE_TOO)
    assert "flatten(2)" in text()
    assert exercises.is_mine("merge_heads")
    assert len(list(own_file.path().with_name(own_file.VERSIONS).glob("*.py"))) == 3


def test_a_syntax_error_is_said_with_its_line_and_nothing_breaks():
    passed("split_heads", SPLIT)
    own_file.path().write_text(text() + "def broken(:\n")
    before, line = text(), len(text().splitlines())
    assert f"line {line}" in passed("merge_heads", MERGE)
    assert text() == before
    assert exercises.is_mine("merge_heads")  # from this notebook
    assert exercises.whose("attend").endswith("until yours passes (attend)")


def test_what_the_file_lacks_is_said():
    kept = passed("merge_heads", MERGE_TOO.replace("b, h", "swap(x); b, h"), swap=torch.clone)
    assert "from torch import clone as swap" in kept
    assert "import clone as swap" in text()
    told = passed("split_heads", SPLIT.replace("-1, (", "LAST, ("), LAST=-1)
    assert "`LAST = -1`" in told


HELPED = """def last_two(x):
    return x.flatten(-2)


def swapped(x):
    return last_two(x.transpose(1, 2))


def merge_heads(x):
    return swapped(x)
"""


def test_ones_own_functions_come_with_the_part_that_calls_them():
    told = passed("merge_heads", HELPED)
    assert "Your `swapped`, which it calls, is there now, too. Your `last_two`" in told
    assert "__main__" not in text()
    alone = (
        "exec(open('my_transformer.py').read()); print(*merge_heads(torch.ones(1, 2, 3, 4)).shape)"
    )
    assert run("-c", f"__name__ = 'own'; {alone}", cwd=own_file.path().parent) == "1 3 8"
    passed("merge_heads", HELPED.replace("flatten(-2)", "flatten(2)"))  # a better one takes over
    assert "flatten(2)" in text()
    assert "flatten(-2)" not in text()
    assert text().count("def last_two") == 1
    own_file.path().write_text(text().replace("flatten(2)", "flatten(2, 3)"))  # an edit stays
    passed("merge_heads", HELPED)
    assert "flatten(2, 3)" in text()


def test_the_tested_one_goes_into_the_file_as_the_courses_and_gives_way():
    exercises.check("merge_heads", exercises.reference("merge_heads"))
    assert own_file.COURSES in text()
    assert not exercises.is_mine("merge_heads")
    passed("merge_heads", MERGE)  # as it happens, word for word the course's
    assert own_file.COURSES not in text()
    assert exercises.is_mine("merge_heads")


def test_an_exercise_that_was_skipped_or_is_no_part_gives_the_tested_one():
    assert exercises.mine("attend") is exercises.reference("attend")
    assert exercises.mine("rnn_step") is exercises.reference("rnn_step")


def test_an_answer_that_is_no_part_goes_on_to_later_lessons():
    text = "def rms_norm(x, gain, eps=1e-5):\n    return gain * F.rms_norm(x, last(x), eps=eps)\n"
    helper = "def last(x):\n    return x.shape[-1:]\n"  # the learner's own, in the same notebook
    passed("rms_norm", helper + text, F=torch.nn.functional)
    own_file.answers.clear()  # another lesson's kernel
    assert exercises.is_mine("rms_norm")
    assert own_text.source_of(exercises.mine("rms_norm"), "rms_norm") == text.strip()
    stub = cell("def rms_norm(x, gain, eps=1e-5):\n    ...\n")["rms_norm"]
    assert "your earlier answer" in exercises.check("rms_norm", stub).message
    own_file.earlier("rms_norm").write_text(text.replace("gain *", ""))
    assert not exercises.is_mine("rms_norm"), "only what passes"


def test_the_picture_lights_what_is_the_learners():
    passed("merge_heads", MERGE)
    parts = exercises.my_parts()
    assert "1 of " in repr(parts)
    assert "cross-attention: 1 of " in parts._repr_html_()
    assert "feed-forward: 0 of 1" in exercises.progress()._repr_html_()


# Right answers in a style, and with names, of their own; the others as the course writes them.
OTHERWISE = {
    "merge_heads": """
        def merge_heads(x):
            return torch.cat([x[:, head] for head in range(x.shape[1])], dim=-1)
    """,
    "greedy_decode": """
        def greedy_decode(step, bos_id, eos_id, max_len):
            ids = [bos_id]
            for _ in range(max_len):
                ids.append(step(ids).argmax().item())
                if ids[-1] == eos_id:
                    break
            return ids[1:]
    """,
    "MultiHeadAttention": """
        class MultiHeadAttention(nn.Module):
            def __init__(self, d_model, n_heads):
                super().__init__()
                self.n_heads = n_heads
                for name in ("w_q", "w_k", "w_v", "w_o"):
                    setattr(self, name, nn.Linear(d_model, d_model))

            def forward(self, x, source, mask=None, cache=None):
                b, t, d = x.shape
                heads = lambda y: y.reshape(b, -1, self.n_heads, d // self.n_heads).movedim(2, 1)
                q, k, v = heads(self.w_q(x)), heads(self.w_k(source)), heads(self.w_v(source))
                if cache is not None:
                    k = torch.cat([cache[self][0], k], dim=2) if self in cache else k
                    v = torch.cat([cache[self][1], v], dim=2) if self in cache else v
                    cache[self] = (k, v)
                context = scaled_dot_product_attention(q, k, v, mask)[0]
                return self.w_o(context.movedim(1, 2).reshape(b, t, d))
    """,
    "EncoderLayer": """
        class EncoderLayer(nn.Module):
            def __init__(self, d_model, n_heads, d_ff):
                super().__init__()
                self.attention = MultiHeadAttention(d_model, n_heads)
                self.network = FeedForward(d_model, d_ff)
                self.norm_1 = LayerNorm(d_model)
                self.norm_2 = LayerNorm(d_model)

            def attend(self, h):
                return self.attention(h, h, self.mask)

            def forward(self, x, mask=None):
                self.mask = mask
                x = residual_pre_norm(x, self.attend, self.norm_1)
                return residual_pre_norm(x, self.network, self.norm_2)
    """,
}


def solve(names):
    """Pass exercises as a notebook would: one cell each, with the names that lessons import."""
    known = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "math": math}
    known |= vars(lessons.module(10, "my_transformer"))
    for name in names:
        written = textwrap.dedent(OTHERWISE.get(name, own_file.tested()[name].text)).strip()
        passed(name, written + "\n", **known)


def works(translator):
    """Say whether the file trains, loads the translator's weights, and translates with them."""
    own = exercises.my_transformer()
    torch.manual_seed(0)
    ids = torch.randint(3, 9, (8, 4))
    target = torch.cat([torch.full((8, 1), 1), ids, torch.full((8, 1), 2)], dim=1)
    model = own.Transformer(9, 16, 2, 1, 16)
    losses = own.train(model, [(ids, target)] * 25, 10, lambda step, loss: None)
    sizes, weights = at_work.weights_of(translator)
    whole = own.Transformer(*sizes)
    whole.load_state_dict(weights)
    src_ids, tgt_ids = translator.encode(FRENCH), torch.tensor([[1, 9, 5], [1, 7, 0]])
    with torch.inference_mode():
        assert (whole(src_ids, tgt_ids) - translator.model(src_ids, tgt_ids)).abs().max() < 1e-4
    say = at_work.translator_of(own, whole, at_work.pieces_of(translator.tokenizer))
    assert say(FRENCH[0]) == translator.translate(FRENCH[0])
    assert losses[-1] < 0.8 * losses[0]


PARTS = [name for name in own_file.tested() if name in own_file.catalogue()[0]]
IN_LESSONS = sorted(PARTS, key=lambda name: own_file.find(name).lesson)


@pytest.mark.parametrize("solved", [IN_LESSONS[::2], IN_LESSONS[::-1]], ids=["half", "backwards"])
def test_another_style_half_solved_or_out_of_order_trains_loads_and_translates(solved, translator):
    solve(solved)
    assert all(map(exercises.is_mine, solved))
    exercises.fill_in()
    works(translator)
    written = [name for name in own_file.parts_of(text()) if name in own_file.tested()]
    assert written == list(own_file.tested())


def run(*arguments, cwd):
    """Run Python in a process that finds nothing of ours; return what it prints."""
    found = python("-I", *map(str, arguments), cwd=cwd)
    assert not found.returncode, found.stderr
    return found.stdout.strip()


def test_the_file_translates_on_its_own_from_any_folder(translator, folder, tmp_path_factory):
    exercises.fill_in()
    at_work.export(folder, translator, [("le chat", "the cat")])
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for cwd, file in ((folder, own_file.FILE), (elsewhere, own_file.path())):
        assert run(file, "un chien court", cwd=cwd) == translator.translate("un chien court")
    assert len(text().replace(f"{own_file.COURSES}\n", "").splitlines()) <= 250


@pytest.mark.parametrize("newline", once_a_week(["\n", "\r\n"], ["\n"]))
def test_the_file_trains_on_its_own(newline, folder):
    exercises.fill_in()
    own_file.path().write_bytes(text().replace("\n", newline).encode())
    pairs = {f"{a} {b}": f"{c} {d}" for a, c in ARTICLES.items() for b, d in NOUNS.items()}
    lines = [f"{french}\t{english}\tits source" for french, english in pairs.items()]
    (folder / "pairs.tsv").write_text(
        newline.join([*lines, "", ""]), encoding="utf-8-sig", newline=""
    )
    told = run(own_file.FILE, "--train", "pairs.tsv", 150, cwd=folder)
    assert told.startswith("step 50, loss"), told
    assert run(own_file.FILE, "le garçon", "trained.pt", cwd=folder) == "the boy"
    assert run(own_file.FILE, "le xylophone garçon", "trained.pt", cwd=folder), "a word unknown"


def test_the_pieces_are_the_tokenizers(translator):
    own = lessons.module(10, "my_transformer")
    pieces = at_work.pieces_of(translator.tokenizer)
    for one in [*FRENCH, "L'été, l'homme n'a pas dit «oui» — 3,5 km; qu'est-ce que c'est? a_b"]:
        ids = own.to_ids(one, pieces)
        assert ids == translator.tokenizer.encode(one, eos=True)
        assert own.to_text(ids, pieces) == translator.tokenizer.decode(ids)


def test_the_map_shows_what_the_learners_functions_computed(translator):
    exercises.fill_in()
    own = exercises.my_transformer()
    sizes, weights = at_work.weights_of(translator)
    model = own.Transformer(*sizes)
    model.load_state_dict(weights)
    wanted = translator.trace(FRENCH[0])
    ids = translator.tokenizer.encode(translator.translate(FRENCH[0]), eos=True)
    got = at_work.trace(own, model, translator.encode(FRENCH[:1]), ids, translator.tokenizer.tokens)
    for ours, theirs in zip(wanted.stacks, got.stacks, strict=True):
        torch.testing.assert_close(theirs.output, ours.output, atol=1e-4, rtol=1e-4)
        for a, b in zip(sum(ours.layers, []), sum(theirs.layers, []), strict=True):
            assert a.kind == b.kind
            torch.testing.assert_close(b.after, a.after, atol=1e-4, rtol=1e-4)
            if a.heads:
                torch.testing.assert_close(b.heads.weights, a.heads.weights, atol=1e-4, rtol=1e-4)
    assert got.written == wanted.written
    with at_work.switched(own, residual_pre_norm=lambda x, sublayer, norm: x):
        inline = at_work.trace(own, model, translator.encode(FRENCH[:1]), ids, str)
    assert inline is None, "layers that don't use the parts can't be drawn, and that's all"


def test_what_passed_stays_when_it_is_broken_or_shadowed_later():
    passed("merge_heads", MERGE)
    assert not exercises.check(
        "merge_heads", cell(MERGE.replace("1, 2", "0, 2"))["merge_heads"]
    ).passed
    known = cell(SPLIT.replace("-1, (", "LAST, ("), LAST=-1)
    assert exercises.check("split_heads", known["split_heads"]).passed
    known["LAST"] = 7  # the notebook uses the name for something else now
    assert not exercises.is_mine("split_heads")
    assert exercises.mine("split_heads") is exercises.reference("split_heads")
    assert exercises.is_mine("merge_heads")


def test_lines_keep_their_endings():
    passed("merge_heads", MERGE)
    own_file.path().write_bytes(text().replace("\n", "\r\n").encode())
    passed("split_heads", SPLIT)
    raw = own_file.path().read_bytes()
    assert raw.count(b"\r\n") == raw.count(b"\n") > 10
    assert exercises.is_mine("split_heads")


def test_a_folder_that_cannot_be_written_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "file" / "folder"))
    assert "can't be written" in passed("merge_heads", MERGE)
    assert exercises.is_mine("merge_heads"), "in this kernel"


def keep_all(names):
    """Keep an answer to each, as a kernel of its own does."""
    for name in names:
        own_file.keep(name, cell(f"def {name}(x):\n    return x\n")[name])


def test_two_kernels_lose_nothing():
    # Not threads, which can't parse code at the same time in some Pythons.
    with get_context("fork").Pool(2) as kernels:
        kernels.map(keep_all, (IN_LESSONS[:18:2], IN_LESSONS[1:18:2]))
    assert set(IN_LESSONS[:18]) <= set(own_file.parts_of(text()))


NAMES = ["split_heads", "merge_heads", "layer_norm", "greedy_decode"]
DEEDS = st.one_of(
    st.tuples(st.just("pass"), st.sampled_from(NAMES), st.integers(0, 3)),
    st.tuples(st.just("edit"), st.sampled_from(NAMES), st.integers(4, 7)),
    st.tuples(
        st.sampled_from(["restart", "break", "mend", "windows", "fill in"]), st.none(), st.none()
    ),
)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(DEEDS, max_size=9))
def test_no_history_loses_a_line(tmp_path_factory, deeds):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("history")
        patch.setenv("COURSE_PROGRESS", str(folder))
        patch.setattr(own_file, "answers", {})
        patch.setattr(os, "fsync", lambda file: None)
        edits, broken = {}, False
        for deed, name, number in deeds:
            before = own_file.path().read_text() if own_file.path().exists() else ""
            written = f"def {name}(x):\n    return {number}"
            if deed == "pass":
                own_file.keep(name, cell(written + "\n")[name])
                kept = {p.read_text().rstrip() for p in folder.rglob("*.py") if p.parent != folder}
                assert written in kept, "every answer that passed is kept"
                assert not broken or own_file.path().read_text() == before, "broken: untouched"
            elif deed == "edit" and not broken and name in own_file.parts_of(before):
                part = own_file.parts_of(before)[name]
                own_file.path().write_text(before.replace(part.text, written))
                edits[name] = written
            elif deed == "restart":
                own_file.answers.clear()
            elif deed == "break" and before:
                broken = bool(own_file.path().write_text(f"{before}def oh(:\n")) or broken
            elif deed == "mend" and broken:
                own_file.path().write_text(before.replace("def oh(:\n", ""))
                broken = False
            elif deed == "windows" and before:
                own_file.path().write_bytes(before.replace("\n", "\r\n").encode())
            elif deed == "fill in":
                own_file.fill_in(*NAMES)
            now = own_file.path().read_text() if own_file.path().exists() else ""
            for edit in edits.values():
                assert edit in now, "what the learner wrote into the file stays there"


def test_the_grader_hands_the_file_back(tmp_path):
    checks = {"merge_heads": "mine", "split_heads": "split_heads"}
    cells = [
        {"source": "%magic", "check": {}, "own": True},
        {"source": MERGE.replace("merge_heads", "mine"), "check": {}, "own": True},
        {"source": "", "check": checks, "own": False},
        {"source": SPLIT, "check": {}, "own": True},
    ]
    submission = Submission("ada", "06", "", cells, [], {})
    rows = [{"part": "merge_heads", "passed": 1}, {"part": "split_heads", "passed": 0}]
    hand_back(submission, rows, tmp_path / "files")
    (file,) = (tmp_path / "files").iterdir()
    written = own_text.parts_of(file.read_text(encoding="utf-8"))
    assert written["merge_heads"].text == MERGE.strip()
    assert "split_heads" not in written


def test_an_error_inside_a_class_is_told_with_the_learners_line():
    wrong = textwrap.dedent(OTHERWISE["EncoderLayer"]).replace("mask = mask", "mask = musk")
    known = {**vars(lessons.module(10, "my_transformer"))}
    verdict = exercises.check("EncoderLayer", cell(wrong, **known)["EncoderLayer"])
    assert verdict.mistake == "raised"
    assert "In the line: self.mask = musk" in verdict.message


def test_the_line_for_a_terminal_runs_there_with_this_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "import os, sys; print(os.path.realpath(sys.prefix), *sys.argv[1:])"
    (tmp_path / "mine.py").write_text(code)
    line = exercises.in_terminal('mine.py "two words"')
    nowhere = {**os.environ, "PATH": ""}  # a terminal may find another `python`, or none
    found = subprocess.run(line, shell=True, capture_output=True, text=True, env=nowhere)
    assert found.stdout.strip() == f"{os.path.realpath(sys.prefix)} two words"
