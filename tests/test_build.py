import subprocess
from types import SimpleNamespace

import nbformat
import pytest
from samples import python, refuses

from notebooks import build, copies, freshness

LESSON = """\
# %% [markdown]
# # A lesson
#
# What it asks.

# %%
print("two")

# %%
print("two")

# %% tags=["hide-input", "nbval-ignore-output"]
print("three")

# %% [markdown] tags=["notes"]
# Ask *them* first.

# %% [markdown] tags=["answer"]
# Because of the scale.
"""


@pytest.fixture
def lesson(tmp_path):
    path = tmp_path / "42_lesson" / "lesson.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(LESSON, encoding="utf-8")
    return path


def cells_of(lesson, *more):
    """Put more cells behind the lesson's own; give all that it is built from."""
    lesson.write_text("\n".join([LESSON, *more]), encoding="utf-8")
    return build.assemble(lesson).cells


def test_the_header_links_to_the_learners_copy_in_colab(lesson, monkeypatch):
    monkeypatch.setattr(build, "address", lambda: "https://github.com/somebody/course")
    title, blank, link, *rest = build.assemble(lesson).cells[0].source.splitlines()
    assert (title, blank, rest) == ("# A lesson", "", ["", "What it asks."])
    assert link == (
        "[Open in Colab](https://colab.research.google.com/github/somebody/course"
        "/blob/learners/42_lesson.ipynb)"
    )


def test_the_readme_links_to_the_site_and_to_colab_once_there_is_an_address(monkeypatch):
    readme = build.README.read_text(encoding="utf-8")
    assert build.with_links(readme) == readme  # `make notebooks` has put them in
    monkeypatch.setattr(build, "address", lambda: "https://github.com/somebody/course")
    linked = build.with_links(readme)
    assert "(https://somebody.github.io/course/)" in linked
    assert "/somebody/course/blob/learners/00_start_here.ipynb)" in linked
    assert build.with_links(linked) == linked
    monkeypatch.setattr(build, "address", lambda: "https://github.com/your-name/course")
    assert "somebody" not in build.with_links(linked)


def test_before_it_is_published_no_lesson_begins_with_a_dead_link(lesson, monkeypatch):
    monkeypatch.setattr(build, "address", lambda: "https://github.com/your-name/course")
    assert build.assemble(lesson).cells[0].source == "# A lesson\n\nWhat it asks."


def test_the_set_up_cell_is_put_in_and_knows_the_address(lesson):
    cell = build.assemble(lesson).cells[1]
    assert cell.source == build.set_up_cell()
    assert f'COURSE = "{build.address()}"' in cell.source
    assert "ADDRESS" not in cell.source


def test_what_is_tagged_is_folded_away_or_hidden(lesson):
    *_, hidden, notes, answer = build.assemble(lesson).cells
    assert notes.source == (
        "<details>\n<summary>Notes for teachers</summary>\n\nAsk *them* first.\n\n</details>"
    )
    assert "<summary>A model answer</summary>" in answer.source
    assert notes.metadata["tags"] == ["notes"]
    assert hidden.metadata["tags"] == ["hide-input", "nbval-ignore-output"]
    assert hidden.metadata["jupyter"] == {"source_hidden": True}


def test_an_exercise_gets_its_heading_and_its_check(lesson):
    function = "half = 0.5\n\n\ndef twice(x):\n    ..."
    exercise = f'# %% tags=["exercise", "nbval-ignore-output"]\n{function}\n'
    *_, heading, cell, check = cells = cells_of(lesson, exercise)
    assert heading.source == 'exercises.heading("twice")'
    assert check.source == 'exercises.check("twice", twice)'
    hidden = cells[4].metadata | {"tags": ["hide-input"]}
    assert heading.metadata == check.metadata == hidden
    assert cell.source == function
    assert cell.metadata["tags"] == ["nbval-ignore-output"]
    # What tries the function stays before the check.
    tried = cells_of(lesson, exercise, '# %% tags=["trial"]\ntwice(1)\n')[-3:]
    assert [cell.source for cell in tried] == [function, "twice(1)", check.source]


def test_a_checked_exercise_keeps_its_check_in_the_cell(lesson):
    function = "def twice(x):\n    ..."
    *_, heading, whole = cells_of(lesson, f'# %% tags=["checked-exercise"]\n{function}\n')
    assert heading.source == 'exercises.heading("twice")'
    assert whole.source == f'{function}\n\n\nexercises.check("twice", twice)'
    assert heading.metadata == whole.metadata == {}


@pytest.mark.parametrize(("ask", "names"), [("quiz", ["one", "another"]), ("predict", ["one"])])
def test_what_a_cells_head_asks_comes_behind_it(lesson, ask, names):
    cell = f'# %% [markdown] {ask}="{" ".join(names)}"\n# Well?\n'
    reveal = '# %%\nexercises.reveal("one", 1)\n' if ask == "predict" else ""
    text, asked = cells_of(lesson, cell, reveal)[7:9]
    assert (text.source, text.metadata) == ("Well?", {})
    assert asked.source == f"exercises.{ask}({str(names)[1:-1]})".replace("'", '"')


def test_a_prediction_is_asked_for_before_it_is_revealed(lesson):
    told = 'exercises.reveal("sum", measured=2)'
    cell = f'# %% tags=["prediction", "hide-input"] warm_up=3 my_parts=true\n{told}\n'
    *_, warm_up, parts, asks, reveals = cells_of(lesson, cell)
    assert (warm_up.source, parts.source) == ("exercises.warm_up(3)", "exercises.my_parts()")
    assert asks.source == 'exercises.predict("sum")'
    assert asks.metadata == {}
    assert reveals.source == told
    assert reveals.metadata["tags"] == ["hide-input"]
    assert reveals.metadata["jupyter"]["outputs_hidden"]


def test_what_a_check_finds_in_a_given_bug_is_folded(lesson):
    checked = '# %%\nexercises.check("greet", greet)\n'
    first, bug, last, asked = (
        f"# %% [markdown]\n# {text}\n"
        for text in ("### Your turn", "### Your turn: find the bug", "### The end", "What is it?")
    )
    tried = "# %%\nprint(greet())\n"
    cells = cells_of(lesson, first, checked, bug, tried, asked, checked, last, checked)
    cells = [cell for cell in cells if "greet" in cell.source]
    folded = [cell.metadata.get("jupyter", {}).get("outputs_hidden", False) for cell in cells]
    assert folded == [False, False, True, False]


def test_ids_stay_when_other_cells_come_and_go(lesson):
    before = [cell.id for cell in build.assemble(lesson).cells]
    assert len(set(before)) == len(before)  # though two cells are alike
    assert [cell.id for cell in build.assemble(lesson).cells] == before
    lesson.write_text(LESSON.replace("# %%\n", "# %%\nx = 1\n\n# %%\n", 1), encoding="utf-8")
    after = [cell.id for cell in build.assemble(lesson).cells]
    assert [name for name in after if name in before] == before


def test_a_lesson_without_title_is_refused(lesson):
    for text in ("# %%\nprint()\n", ""):
        lesson.write_text(text, encoding="utf-8")
        refuses(r"42_lesson: the first cell .* '# Title'", build.assemble, lesson)


def test_a_build_is_fresh_until_its_source_changes(lesson, tmp_path):
    target = tmp_path / "42_lesson.ipynb"
    assert not build.is_fresh(build.assemble(lesson), target)
    nbformat.write(build.assemble(lesson), target)
    assert build.is_fresh(build.assemble(lesson), target)
    lesson.write_text(LESSON.replace("three", "four"), encoding="utf-8")
    assert not build.is_fresh(build.assemble(lesson), target)


def built_by_hand(lesson):
    notebook = build.assemble(lesson)
    for i, cell in enumerate(cell for cell in notebook.cells if cell.cell_type == "code"):
        cell.execution_count = i + 1
        cell.outputs = [nbformat.v4.new_output("stream", text=str(i))]
    notebook.metadata["course"]["seconds"] = {notebook.cells[-3].id: 7, "a cell that is gone": 99}
    return notebook


def test_where_only_text_has_changed_the_outputs_stay(lesson):
    built = built_by_hand(lesson)
    lesson.write_text(LESSON.replace("What it asks.", "What it really asks."), encoding="utf-8")
    notebook = build.assemble(lesson)
    assert build.keep_outputs(notebook, built)
    assert "really" in notebook.cells[0].source
    assert [c.outputs[0].text for c in notebook.cells if c.cell_type == "code"] == list("0123")
    assert notebook.metadata["course"]["seconds"] == {notebook.cells[-3].id: 7}


@pytest.mark.parametrize(
    "change", [("three", "four"), (', "nbval-ignore-output"', ""), ('# %%\nprint("two")\n', "")]
)
def test_where_code_or_its_tags_have_changed_everything_is_run_again(lesson, change):
    built = built_by_hand(lesson)
    lesson.write_text(LESSON.replace(*change, 1), encoding="utf-8")
    notebook = build.assemble(lesson)
    assert not build.keep_outputs(notebook, built)
    assert not any(c.get("outputs") for c in notebook.cells)


@pytest.mark.slow
def test_executing_drops_the_live_view_keeps_what_stands_beside_it_and_notes_the_wait(monkeypatch):
    show = (
        "from IPython.display import display\n"
        f"display({{'{build.LIVE_VIEW}': {{}}, 'text/html': '<b>still</b>'}}, raw=True)"
    )
    cells = [nbformat.v4.new_code_cell(source) for source in (show, "2 + 2")]
    metadata = {**build.METADATA, "course": {}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    clock = iter([5.0, 5.4, 10.0, 12.3])  # before and after each cell, in seconds
    monkeypatch.setattr(build, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    build.execute(notebook)
    (output,) = notebook.cells[0].outputs
    assert output.data == {"text/html": "<b>still</b>"}
    assert notebook.metadata.pop("course")["seconds"] == {notebook.cells[1].id: 2}
    assert notebook.metadata == build.OPENED
    assert notebook.cells[0].execution_count == 1
    assert "execution" not in notebook.cells[0].metadata


SET_UP_PROBE = (
    "def set_up():\n    import pathlib\n    print('ready', pathlib.Path(__file__).parts[-3])\n"
)


@pytest.fixture
def course(tmp_path):
    """A tiny published course, as a git repository."""
    course = tmp_path / "published"
    (course / "helpers").mkdir(parents=True)
    (course / "notebooks").mkdir()
    (course / "helpers" / "notebook.py").write_text(SET_UP_PROBE)
    (course / "notebooks" / "keep").write_text("")
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "All"]):
        subprocess.run(["git", *command], cwd=course, check=True)
    return course


def run_set_up_cell(course, cwd, commit="HEAD"):
    notebook = copies.learners_copy(build.assemble(build.lessons("00")[0]), commit)
    source = next(c.source for c in notebook.cells if "set-up" in c.metadata.get("tags", []))
    source = source.replace(build.address(), course.as_uri())
    done = python("-I", "-c", source, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_set_up_cell_finds_the_course_above(course):
    assert run_set_up_cell(course, course / "notebooks") == ["ready published"]
    assert run_set_up_cell(course, course) == ["ready published"]


def test_the_set_up_cell_fetches_the_course_once_and_says_so(course, tmp_path):
    elsewhere = tmp_path / "content"
    elsewhere.mkdir()
    said, ready = run_set_up_cell(course, elsewhere)
    assert said.startswith("Fetching the course (about ")
    assert course.as_uri() in said
    assert said.endswith(str(elsewhere / "attention-course"))
    assert ready == "ready attention-course"
    assert run_set_up_cell(course, elsewhere) == ["ready attention-course"]


def test_a_published_copy_fetches_the_version_that_it_was_made_from(course, tmp_path):
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    old = subprocess.check_output([*git, "rev-parse", "HEAD"], cwd=course, text=True).strip()
    (course / "helpers" / "notebook.py").write_text("raise SystemExit('a later version')")
    subprocess.run([*git, "commit", "-qam", "Later"], cwd=course, check=True)
    assert run_set_up_cell(course, tmp_path, old)[-1] == "ready attention-course"
    workflow = (build.ROOT / ".github" / "workflows" / "learners.yml").read_text(encoding="utf-8")
    assert '--commit "$GITHUB_SHA"' in workflow


def test_the_set_up_cell_says_in_one_sentence_what_to_do_without_a_network(tmp_path):
    source = build.set_up_cell().replace(build.address(), (tmp_path / "nowhere").as_uri())
    done = python("-I", "-c", source, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("The course isn't on this machine and couldn't be fetched. Conn")
    assert "Traceback" not in done.stderr


def test_one_command_sets_the_address_and_nothing_else(tmp_path, monkeypatch):
    original = (build.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(original, encoding="utf-8")
    cited = (build.ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (tmp_path / "CITATION.cff").write_text(cited, encoding="utf-8")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    build.set_address("https://github.com/ada/course/")
    assert build.address() == "https://github.com/ada/course"
    assert build.is_published()
    changed = (tmp_path / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    assert sum(a != b for a, b in zip(original.splitlines(), changed, strict=True)) == 1
    assert "repository-code: https://github.com/ada/course\n" in (
        tmp_path / "CITATION.cff"
    ).read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="expected https://github.com/NAME/REPOSITORY"):
        build.set_address('https://github.com/ada/course"; import os')


@pytest.fixture
def project(tmp_path):
    """A lesson that imports `near`, which imports `far`; `other` is imported by nobody.

    It shows one of two films, and reads what was measured.
    """
    files = {
        "helpers/__init__.py": "",
        "helpers/notebook.py": "\nf'{name}.json', f'toy_{name}.json'\n",
        "helpers/near.py": "from helpers import far\n",
        "helpers/far.py": 'table(".toml")\ndef one():\n    """Count."""\n    return 1  # one\n',
        "helpers/far.toml": "one = 1",
        "helpers/other.py": "",
        "helpers/other.toml": "one = 1",
        "helpers/results/toy_gru.json": "1",
        "images/shown.json": "1",
        "images/elsewhere.json": "1",
        "source/42_lesson/lesson.py": """def check_installation():
    from helpers import near
    show("shown", "gru")
""",
        "requirements.txt": "torch==1.0\n",
        "source/42_lesson/exercises.py": "TASK = 'Add.'\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "old", "new", "stale"),
    [
        ("helpers/far.py", "return 1", "return 2", True),
        ("helpers/far.py", "# one", "# still one", False),
        ("helpers/far.py", "Count.", "Count up.", False),
        ("helpers/far.toml", "1", "2", True),
        ("helpers/other.toml", "1", "2", False),
        ("helpers/results/toy_gru.json", "1", "2", True),
        ("images/shown.json", "1", "2", True),
        ("images/elsewhere.json", "1", "2", False),
        ("helpers/near.py", "far\n", "far  # far away\n", True),  # it may be shown
        ("helpers/notebook.py", "", "x = 1", True),
        ("helpers/other.py", "", "x = 1", False),
        ("source/42_lesson/exercises.py", "Add.", "Subtract.", True),
        ("requirements.txt", "1.0", "1.1", True),
    ],
)
def test_a_notebook_is_stale_when_a_module_that_it_runs_changes(project, file, old, new, stale):
    source = project / "source" / "42_lesson" / "lesson.py"

    def mark():
        freshness._imported.cache_clear()
        freshness._code.cache_clear()
        freshness._words.cache_clear()
        return freshness.modules_mark(source, project)

    before, path = mark(), project / file
    assert mark() == before
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    assert (mark() != before) == stale


def test_a_notebook_built_with_other_modules_is_run_again(lesson, tmp_path, monkeypatch, capsys):
    ran, cell = [], build.set_up_cell()
    monkeypatch.setattr(build, "set_up_cell", lambda: cell)
    monkeypatch.setattr(build, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(build, "execute", ran.append)
    monkeypatch.setattr(build, "modules_mark", lambda source: "today's")
    build.build(lesson)
    build.build(lesson)
    assert len(ran) == 1
    monkeypatch.setattr(build, "modules_mark", lambda source: "tomorrow's")
    build.build(lesson)
    assert len(ran) == 2
    assert "unchanged" in capsys.readouterr().out
