import random
import re
import struct
import subprocess
import sys
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from samples import refuses

from helpers import notebook
from helpers.machine import installation
from helpers.training.interruption import StopBetweenSteps
from helpers.transformer import masks

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><title>Box</title>{}<rect width="9"/></svg>'


@pytest.fixture
def images(tmp_path, monkeypatch):
    monkeypatch.setattr(notebook, "IMAGES", tmp_path)
    return tmp_path


def draw():
    return (random.random(), numpy.random.rand(), torch.rand(1).item())  # noqa: NPY002


def test_a_claim_raises_in_the_checks_and_only_speaks_to_learners(monkeypatch):
    notebook.claim(1 < 2)
    refuses("contradicts", notebook.claim, 2 < 1, error=AssertionError)
    monkeypatch.delenv("COURSE_STRICT")
    told = []
    monkeypatch.setattr(notebook, "tell", told.append)
    notebook.claim(1 < 2)
    assert not told
    notebook.claim(2 < 1)
    assert "came out otherwise" in told[0]
    monkeypatch.setattr(StopBetweenSteps, "_cell", 3)  # a training was stopped in the third cell
    notebook.claim(2 < 1)
    assert "You stopped a training" in told[1]


def test_set_up_gives_the_same_random_numbers_every_time():
    notebook.set_up()
    first = draw()
    notebook.set_up()
    assert draw() == first
    notebook.set_up(seed=1)
    assert draw() != first


def test_a_cell_that_lacks_another_says_what_to_run(capsys):
    shell = InteractiveShell()
    shell.user_ns["torch"] = torch
    shell.set_custom_exc(tuple(notebook.SKIPPED), notebook._show_and_explain)
    for cell, said in [
        ("keys + 1", "If keys is the lesson's"),
        ("assert 1 == 2", "a cell further up was skipped or changed"),
        ("torch.testing.assert_close(torch.ones(1), torch.zeros(1))", "skipped or changed"),
        ("assert 1 == 2, 'a message of its own'", None),
        ("1 / 0", None),
    ]:
        assert not shell.run_cell(cell).success
        shown = capsys.readouterr().out
        assert (notebook.RUN_ABOVE in shown) == (said is not None)
        assert (said or "") in shown


def test_after_a_stopped_training_a_check_of_its_numbers_says_so_without_error(capsys, monkeypatch):
    shell = InteractiveShell()
    shell.set_custom_exc(tuple(notebook.SKIPPED), notebook._show_and_explain)
    monkeypatch.setattr(StopBetweenSteps, "_cell", 3)
    assert not shell.run_cell("assert 1 == 2").success
    assert capsys.readouterr().out.strip() == notebook.STOPPED


def test_set_up_keeps_the_threads_few(monkeypatch):
    asked = []
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    notebook.set_up()
    assert asked == [notebook.MOST_THREADS]
    monkeypatch.setenv("OMP_NUM_THREADS", "64")  # whoever sets it means it
    notebook.set_up()
    assert asked == [notebook.MOST_THREADS]


def test_set_up_names_what_is_missing_and_the_way_out(monkeypatch):
    monkeypatch.setattr(
        installation, "pinned_versions", lambda: {"torch": "2.13.0", "no-such": "1.0"}
    )
    refuses(r"no-such.*kernel", notebook.set_up, error=ImportError)


def test_set_up_in_colab_installs_what_is_missing_and_says_so(monkeypatch, capsys):
    commands, managers = [], []
    output = SimpleNamespace(enable_custom_widget_manager=lambda: managers.append("ours"))
    colab = SimpleNamespace(output=output)
    monkeypatch.setitem(sys.modules, "google", SimpleNamespace(colab=colab))
    monkeypatch.setitem(sys.modules, "google.colab", colab)
    monkeypatch.setattr(subprocess, "run", lambda command, check: commands.append(command))
    missing = {"sacrebleu", "jupyterlab"}  # as in Colab, which has its own front end
    find = installation._version
    monkeypatch.setattr(
        installation,
        "_version",
        lambda name: None if name in missing and not commands else find(name),
    )
    notebook.set_up()
    (command,) = commands
    assert command[1:-1] == ["-m", "pip", "install", "-q"]
    assert re.fullmatch(r"sacrebleu==[\d.]+", command[-1])
    assert command[-1] in capsys.readouterr().out
    assert managers == ["ours"]


def test_figure_is_an_image_with_alt_text_and_is_closed():
    fig, ax = plt.subplots()
    ax.plot([0, 1])
    shown = notebook.figure(ax, alt='A line, "rising"\n  <steadily>.', width=300)
    page = shown._repr_html_()
    assert page.startswith('<img alt="A line, &quot;rising&quot; &lt;steadily&gt;." width="')
    assert 290 < shown.width < 320
    assert struct.unpack(">I", shown.data[16:20])[0] in (2 * shown.width, 2 * shown.width + 1)
    assert 'class="course-drawing"' in page
    assert 'src="data:image/png;base64,iVBORw0KGgo' in page
    assert repr(shown) == '[Picture: A line, "rising" <steadily>.]'
    assert not plt.fignum_exists(fig.number)


def test_a_dark_page_turns_drawings_over_and_leaves_photos_alone():
    fig, ax = plt.subplots()
    ax.imshow([[0, 1]], cmap="gray")
    assert notebook.figure(fig, alt="A photo of two pixels.").photo
    fig, ax = plt.subplots()
    ax.imshow([[0, 1]], cmap="cividis")
    shown = notebook.figure(fig, alt="A map of two cells.")
    assert not shown.photo
    assert "theme-light=false" in shown._repr_html_()


@pytest.mark.parametrize("alt", ["", "  ", None])
def test_figure_demands_alt_text(alt):
    fig = plt.figure()
    refuses("needs alt text", notebook.figure, fig, alt=alt)
    plt.close(fig)


def test_picture_reads_its_alt_text_from_the_svg(images):
    (images / "box.svg").write_text(SVG.format("<desc>One\n  box &amp; no more.</desc>"))
    shown = notebook.picture("box")
    assert shown.alt == "One box & no more."
    assert shown.mime_type == "image/svg+xml"
    assert shown._repr_html_().startswith('<img alt="One box &amp; no more."')


def test_picture_lists_what_there_is(images):
    (images / "box.svg").write_text(SVG.format(""))
    refuses(r"'bax'.*There are: box\.", notebook.picture, "bax", error=FileNotFoundError)


def test_what_a_cell_tells_is_markdown_without_the_indentation_it_has_in_the_code(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    notebook.tell("""*Two* layers,
        and no norm.

        - $x$
        """)
    assert [text.data for text in shown] == ["*Two* layers,\nand no norm.\n\n- $x$"]


def test_a_table_has_its_heads_a_rule_and_its_rows(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    notebook.table([["a", 1], ["b", 2.5]], ["letter", "number"])
    lines = ["| letter | number |", "| --- | --- |", "| a | 1 |", "| b | 2.5 |"]
    assert shown[0].data.splitlines() == lines


def test_seconds_are_those_of_the_shortest_call_but_the_first(monkeypatch):
    ticks = iter([0.0, 5.0, 10.0, 12.0, 20.0, 23.0])
    monkeypatch.setattr(notebook, "clock", lambda: next(ticks))
    calls = []
    assert notebook.seconds(calls.append, "x") == 2.0
    assert calls == ["x"] * 4


def test_show_source_leaves_the_docstring_out():
    short = notebook.show_source(masks.padding_mask).data
    assert short.startswith("From `helpers/transformer/masks.py`:\n\n```python\ndef padding_mask(")
    assert '"""' not in short
    assert "Parameters" not in short


class Example:
    """A class whose docstrings go, and whose code stays."""

    def method(self):
        """Say it."""

        return "not a docstring"

    def only_words(self):
        """The whole body."""


def test_show_source_keeps_the_code_of_a_class_whole():
    shown = notebook.show_source(Example).data
    assert "A class whose" not in shown
    assert "Say it" not in shown
    assert '    def method(self):\n        return "not a docstring"' in shown
    assert '"""The whole body."""' in shown  # or the function would have no body
    compile(shown.partition("```python")[2].removesuffix("```"), "shown", "exec")
