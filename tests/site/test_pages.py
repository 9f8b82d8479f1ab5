"""Notebooks turned into pages: what is left out, what folds, where links lead."""

import html
import json
import re

import nbformat
import pytest
from nbformat import v4
from samples import python
from stages import ROOT

from helpers.exercises import panels, quizzes
from helpers.exercises.content import catalogue
from helpers.widgets.fallback import TO_PLAY
from notebooks import build
from web import pages, questions

NAME, OTHER = "with_a_second_noun", "weight_on_river"
STILL = f'<div class="course-still"><b>picture</b>{TO_PLAY}</div>'


def shown(text, plain="-"):
    return v4.new_output("display_data", data={"text/html": text, "text/plain": plain})


def code(source, *outputs, folded=False, tags=()):
    cell = v4.new_code_cell(source, outputs=list(outputs))
    cell.metadata["tags"] = list(tags)
    if folded:
        cell.metadata["jupyter"] = {"outputs_hidden": True}
    return cell


@pytest.fixture
def cells():
    """Give the cells of a page made from a small lesson."""
    made = [
        v4.new_markdown_cell("# A lesson"),
        code("set up everything", tags=["set-up"]),
        v4.new_markdown_cell("the answer is 7", metadata={"tags": ["notes"]}),
        code(f'exercises.predict("{NAME}")', shown("a card", f"Prediction('{NAME}')")),
        code(f'exercises.predict("{OTHER}")', shown("a card", f"Prediction('{OTHER}')")),
        code("x = 1", v4.new_output("stream", text="seven\n"), folded=True),
        code(f'exercises.reveal("{NAME}", 7)', shown("seven!", "Measured: 7%"), folded=True),
        code(f'exercises.reveal("{OTHER}", 8)', shown("river!", "Measured: r"), folded=True),
        v4.new_markdown_cell("## 1. One\n\n[there](04_x.ipynb#Two-meanings,-or-(three)?)"),
        code("SixSteps()", shown(STILL), shown("")),
        v4.new_markdown_cell("# Practice\n\n## Myth"),
    ]
    page = pages.page_of(v4.new_notebook(cells=made), "03_a_lesson")
    nbformat.validate(page)
    return page.cells


def told(cells):
    return "\n".join(
        [cell.source for cell in cells]
        + [json.dumps(out) for cell in cells for out in cell.get("outputs", [])]
    )


def test_notes_for_teachers_the_set_up_and_an_empty_output_stay_away(cells):
    assert "the answer is 7" not in told(cells)
    assert "set up everything" not in told(cells)
    (widget,) = (cell for cell in cells if cell.source == "SixSteps()")
    assert len(widget.outputs) == 1


def test_a_prediction_carries_what_its_script_needs_and_no_answer(cells):
    (card,) = (o["data"]["text/html"] for c in cells for o in c.get("outputs", [])
               if o.get("data", {}).get("text/plain") == f"Prediction('{NAME}')")  # fmt: skip
    asked = json.loads(html.unescape(re.search(r'data-asked="([^"]*)"', card).group(1)))
    assert asked["name"] == NAME
    assert (asked["kind"], asked["low"], asked["high"], asked["unit"]) == ("slider", 0, 100, "%")
    assert asked["can_be"] == "A percentage between 0 and 100."
    assert "measured" not in card.lower()


def test_results_fold_apart_from_their_code_until_all_that_ask_for_them_are_answered(cells):
    results = [cell for cell in cells if "course-result" in cell.metadata.get("tags", [])]
    asks = [[t for t in cell.metadata["tags"] if t.startswith("answers-")] for cell in results]
    both = [f"answers-{NAME}", f"answers-{OTHER}"]
    assert asks == [both, both, [f"answers-{OTHER}"]]
    assert all({"remove-input", "hide-output"} <= set(c.metadata["tags"]) for c in results)
    assert all(
        c.metadata["mystnb"]["code_prompt_show"] == "Show what was measured" for c in results
    )
    panels = [o["data"]["text/html"] for c in results for o in c.outputs if "data" in o]
    revealed = '<div class="course-reveal" data-name="{}">{}</div>'
    assert panels == [revealed.format(NAME, "seven!"), revealed.format(OTHER, "river!")]
    folded = [cell for cell in cells if cell.source.startswith(("x = 1", "exercises.reveal"))]
    assert len(folded) == 3
    assert not any(cell.outputs for cell in folded)


def test_headings_go_one_level_down_below_practice_and_links_lead_to_headings(cells):
    sources = [cell.source for cell in cells if cell.cell_type == "markdown"]
    assert sources[0] == "# A lesson"
    assert sources[1].startswith("## 1. One")
    assert sources[2] == "## Practice\n\n### Myth"
    assert "[there](04_x.ipynb#two-meanings-or-three)" in told(cells)


def test_a_comment_in_a_code_block_is_no_heading():
    cells = [v4.new_markdown_cell("# T"), v4.new_markdown_cell("# P\n```\n# no\n```\n# Q")]
    pages._one_title(cells)
    assert cells[1].source == "## P\n```\n# no\n```\n## Q"


def test_a_picture_says_where_its_widget_lives_and_no_link_is_dead(cells, monkeypatch):
    assert TO_PLAY not in told(cells)
    assert "course-elsewhere" in told(cells)
    assert ("href" in told(cells)) == build.is_published()
    monkeypatch.setattr(build, "address", lambda: "https://github.com/someone/course")
    where = "https://colab.research.google.com/github/someone/course/blob/learners/03_a.ipynb"
    assert f'href="{where}"' in pages.alive_where("03_a")


def test_a_map_of_the_translator_leads_to_the_one_that_takes_any_sentence():
    maps = [
        pages._shown(code("model_map(…)", shown(f'<div data-model="{name}">')), "07")[0]
        for name in ("the translator", "MiniLM")
    ]
    assert ["index.html#try-it" in told([one]) for one in maps] == [True, False]


def test_the_front_page_has_the_readmes_table_and_a_menu_of_every_lesson():
    page = pages.front_page("<i>map</i>\n\n<b></b>", {"model": "a.safetensors"})
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"\]\(notebooks/(\w+)\.ipynb\)", readme)
    table, _, menu = page.partition("```{toctree}")
    assert re.findall(r"\((\w+)\.ipynb\)", table) == listed
    stems = [path.stem for path in build.NOTEBOOKS.glob("[0-9]*.ipynb")]
    assert sorted(re.findall(r"<(\w+)>", menu)) == sorted(stems)
    assert "<i>map</i>\n<b></b>" in page  # an empty line would end the block of HTML


@pytest.mark.slow
def test_the_site_is_built_without_what_only_learners_install():
    script = (
        "import runpy, sys\n"
        "for name in ('torch', 'numpy', 'matplotlib', 'transformers'): sys.modules[name] = None\n"
        "sys.argv = ['build.py', '--help']\n"
        "runpy.run_module('web.build', run_name='__main__')"
    )
    done = python("-c", script)
    assert done.returncode == 0, done.stderr


def test_what_only_a_notebook_can_do_is_said_otherwise_and_every_such_sentence_is_still_there():
    sources = [path.read_text(encoding="utf-8") for path in build.lessons()]
    written = [" ".join(text.replace("\n# ", " ").split()) for text in sources]
    for asked, instead in pages.HERE.items():
        assert any(" ".join(asked.split()) in text for text in written), asked
        assert instead in pages.here(f"To see it,\n{asked.replace(' ', chr(10), 3)} So.")


def test_blocks_that_touch_are_two_words_to_the_search():
    assert pages.TOUCHING.sub(r"\1\n", "<td>one</td><td>two</td>") == "<td>one</td>\n<td>two</td>"


@pytest.mark.parametrize("kind", quizzes.KINDS)
def test_every_kind_of_question_opens_its_answer(kind):
    asked = next(q for q in catalogue("question").values() if q.kind == kind)
    (card,) = (c for c in pages.page_of(v4.new_notebook(cells=[
        v4.new_markdown_cell("# T"),
        code(f'exercises.quiz("{asked.name}")', shown("dead", f"Quiz('{asked.name}')")),
    ]), "03_a").cells[1].outputs)  # fmt: skip
    page = card["data"]["text/html"]
    folds = re.findall(r'<details class="course-(\w+)"([^>]*)>', page)
    if kind in ("single", "multiple"):
        assert len(folds) == len(asked.options)
        rights = [o.text for o in asked.options if o.right]
        opened = re.findall(r'course-right"[^>]*><summary>(.*?)</summary>', page)
        assert sorted(map(html.unescape, opened)) == sorted(rights)
        assert all(panels.rich(o.why) in page for o in asked.options)
        assert {alone for _, alone in folds} == {
            f' name="course-{asked.name}"' if kind == "single" else ""
        }
    else:
        assert [one for one, _ in folds] == ["right"]
    before = page.partition("<details")[0]
    assert "To play" not in page
    assert "Type a" not in before
    both = pages.LIVE["Quizzes("]((asked.name, "review_root"))
    assert both == questions.question(asked.name) + questions.question("review_root")


def test_a_warm_up_asks_what_its_notebook_asks():
    stored = nbformat.read(build.NOTEBOOKS / "03_self_attention_vectors.ipynb", as_version=4)
    (still,) = (o.data["text/html"] for c in stored.cells for o in c.get("outputs", [])
                if o.get("data", {}).get("text/plain") == "WarmUp(3)")  # fmt: skip
    asked = re.findall(r"<strong>Question.</strong> (.*?)<", questions.warm_up_of(3))
    assert len(asked) == 3
    assert all(one in still for one in asked)
