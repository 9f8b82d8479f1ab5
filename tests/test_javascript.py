"""Our JavaScript: joined as widgets need it, read by node, and its pure parts tested there."""

import re
import subprocess
from pathlib import Path

import pytest
from nodes import NODE, needs_node
from samples import refuses

from helpers.widgets import modules

HERE = Path(__file__).resolve().parent
FILES = sorted(modules.STATIC.glob("*.js"))
SITE = sorted((HERE.parent / "web" / "static").glob("*.js"))
ROOTS = [path.name for path in FILES if "export default" in path.read_text(encoding="utf-8")]


def node(*arguments, feed=None):
    """Run node; return what it complained about, nothing if all is well."""
    done = subprocess.run([NODE, *arguments], input=feed, capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.parametrize("path", [*FILES, *SITE], ids=lambda path: path.name)
def test_a_file_is_short_and_writes_no_markup_from_text(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= (300 if path in SITE else 400)
    # A line may say why what it takes is no text of a user's.
    text = re.sub(r"^// Our own HTML: Python has escaped everything in it\.\n.*?^}", "", text,
                  flags=re.M | re.S)  # fmt: skip
    for dangerous in ("innerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert dangerous not in text
    assert path in SITE or "fetch(" not in text
    assert not re.findall(r"https?://(?!www\.w3\.org/)", text)
    assert not re.search(r"console\.|debugger", text)


@needs_node
def test_node_reads_every_file_and_finds_what_it_imports():
    everything = "".join(f"import {str(path)!r};\n" for path in FILES)
    assert not node("--input-type=module", feed=everything)


@needs_node
@pytest.mark.parametrize("root", ROOTS)
def test_the_joined_module_is_one_that_node_reads(root, tmp_path):
    joined = tmp_path / "joined.mjs"
    joined.write_text(modules.module(root), encoding="utf-8")
    assert not node("--check", str(joined))
    assert not re.search(r"^import\b", joined.read_text(encoding="utf-8"), re.M)


@needs_node
def test_the_pure_parts_in_node():
    assert not node("--test", *map(str, sorted(HERE.glob("*/*.test.mjs"))))


def test_two_modules_with_the_same_name_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(modules, "STATIC", tmp_path)
    modules.module.cache_clear()
    (tmp_path / "a.js").write_text('import { one } from "./b.js";\nconst two = one;\n')
    (tmp_path / "b.js").write_text("export const one = 1;\nconst two = 2;\n")
    refuses(r"a\.js and b\.js both declare two", modules.module, "a.js")
    modules.module.cache_clear()


def test_what_is_imported_by_two_is_joined_once_and_first(tmp_path, monkeypatch):
    monkeypatch.setattr(modules, "STATIC", tmp_path)
    (tmp_path / "top.js").write_text(
        'import { left } from "./left.js";\nimport { base } from "./base.js";\n\n'
        "// gone\nexport default { render: () => left + base };\n"
    )
    (tmp_path / "left.js").write_text(
        'import { base } from "./base.js";\n\nexport const left = base + 1;\n'
    )
    (tmp_path / "base.js").write_text("export const base = 1;\n")
    assert modules.module("top.js").splitlines() == [
        "const base = 1;",
        "const left = base + 1;",
        "export default { render: () => left + base };",
    ]
    modules.module.cache_clear()


def test_an_import_in_another_form_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(modules, "STATIC", tmp_path)
    (tmp_path / "odd.js").write_text('import * as all from "./base.js";\n')
    refuses("write imports as", modules.module, "odd.js")


def test_a_module_leaves_out_what_it_imports_nothing_of():
    assert "sliderOf" in modules.top_level_names("page.js")
    assert "function sliderOf" in modules.module("attention_view.js")
    assert "sliderOf" not in modules.module("map_view.js")
    assert "comeAlive" in modules.module("stand_in.js")  # the root's own exports stay
