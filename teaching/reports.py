"""What comes of `grades.csv`: one row per learner, files to import, and a page for each learner."""

import csv
import html
import re
from collections import defaultdict
from pathlib import Path

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with these a spreadsheet's formula begins
# Moodle's folder for one learner's files: "Ada Lovelace_123456_assignsubmission_file".
MOODLE = re.compile(r"^(?P<name>.+?)_(?P<id>\d+)_assignsubmission_\w+")
# Canvas puts everything into the file's name: "lovelaceada_LATE_4711_98765_10_build.ipynb".
CANVAS = re.compile(r"^(?P<name>[a-z]+)(?:_LATE)?_(?P<id>\d+)_\d+_.+")
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 17px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 2rem auto;
padding: 0 1rem; color-scheme: light dark; }}
li {{ margin: .8rem 0; }} b {{ font-weight: 600; }}</style>
<h1>{title}</h1><p>{passed} of {total} parts are right.</p><ul>{parts}</ul></html>"""


def harmless(row):
    """Keep a spreadsheet from taking a learner's text in a row, a dict, for a formula."""
    is_formula = {k: isinstance(v, str) and v.startswith(FORMULA) for k, v in row.items()}
    return {k: f"'{value}" if is_formula[k] else value for k, value in row.items()}


def write_rows(path, rows, columns):
    """Write dictionaries as a CSV file with these columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(map(harmless, rows))


def learner(submission: str) -> tuple[str, str]:
    """Tell who handed a file in, from the folder or the name that a platform gave it.

    `submission` is as in `grades.csv`: the path without its ending. A name and the platform's
    number for it, or "".
    """
    first = submission.split("/")[0]
    for pattern in (MOODLE, CANVAS):
        if found := pattern.match(first):
            return found["name"], found["id"]
    return first, ""


def totals(rows: list[dict]) -> list[dict]:
    """Add up `grade.grade_folder`'s rows: one per learner and lesson.

    Each has "submission", "name", "id", "lesson", "version", "total", "maximum", "remark", and
    every part with 1 or 0.
    """
    of = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["submission"]):
        of[row["submission"], row["lesson"]].append(row)
    found = []
    for (submission, lesson), parts in of.items():
        name, number = learner(submission)
        graded = [row for row in parts if row["part"]]
        one = {"submission": submission, "name": name, "id": number, "lesson": lesson}
        one |= {"version": parts[0]["version"], "remark": parts[0]["remark"]}
        one |= {"total": sum(int(row["passed"]) for row in graded), "maximum": len(graded)}
        found.append(one | {row["part"]: int(row["passed"]) for row in graded})
    return found


def write(rows: list[dict], folder: Path):
    """Write everything that comes of the grades beside them.

    The `folder` gets ``totals.csv``, ``moodle.csv``, ``canvas.csv``, ``nbgrader.csv`` and
    ``feedback/``.
    """
    all_of = totals(rows)
    fixed = ["submission", "name", "id", "lesson", "version", "total", "maximum", "remark"]
    parts = sorted({key for one in all_of for key in one} - set(fixed))
    write_rows(folder / "totals.csv", all_of, [*fixed, *parts])
    known = [one for one in all_of if one["lesson"]]
    moodle = [
        {
            "Identifier": f"Participant {one['id']}" if one["id"] else "",
            "Full name": one["name"],
            "Grade": one["total"],
            "Maximum grade": one["maximum"],
        }
        for one in known
    ]
    write_rows(folder / "moodle.csv", moodle, ["Identifier", "Full name", "Grade", "Maximum grade"])
    lessons = sorted({one["lesson"] for one in known})
    people = {}
    for one in known:
        person = people.setdefault(one["submission"], {"Student": one["name"], "ID": one["id"]})
        person[one["lesson"]] = one["total"]
    columns = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *lessons]
    write_rows(folder / "canvas.csv", people.values(), columns)
    columns = ["assignment", "student_id", "score", "max_score"]
    scored = [(o["lesson"], o["id"] or o["name"], o["total"], o["maximum"]) for o in known]
    exported = [dict(zip(columns, values, strict=True)) for values in scored]
    write_rows(folder / "nbgrader.csv", exported, columns)
    for one in known:
        page = feedback(one, [row for row in rows if row["submission"] == one["submission"]])
        place = folder / "feedback" / f"{one['submission'].replace('/', ' ')}.html"
        place.parent.mkdir(exist_ok=True)
        place.write_text(page, encoding="utf-8")


def feedback(total: dict, rows: list[dict]) -> str:
    """Make a learner's page, in HTML: what is right, what went wrong and where to look.

    `total` is one of `totals`, and `rows` are this learner's.
    """

    def said(row):
        name = f"<b>{html.escape(row['part'])}</b>"
        if int(row["passed"]):
            return f"<li>✓ {name}</li>"
        if row["mistake"] == "not attempted":
            return f"<li>○ {name}: not attempted yet.</li>"
        return f"<li>✗ {name}: {html.escape(row['message'] or row['mistake'])}</li>"

    return PAGE.format(
        title=f"{html.escape(total['name'])}: {html.escape(total['lesson'])}",
        passed=total["total"],
        total=total["maximum"],
        parts="".join(said(row) for row in rows if row["lesson"] == total["lesson"]),
    )


def read(path):
    """Read a `grades.csv` that was begun earlier, or nothing where there is none."""
    if not Path(path).exists():
        return []
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
