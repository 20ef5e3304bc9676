"""Each chapter has the book's shape, shows the package, and solves its exercises."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from book_execution import compiling
from chapters import Block, read_chapters
from run_exercises import WRONG, exercises

import blocks
from blocks.page import stored

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = {chapter.name: chapter for chapter in read_chapters(ROOT / "book")}
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text("utf8"))
# The numbered part of the contents: a chapter about one block each.
BLOCKS = [
    Path(entry["file"]).stem
    for part in TOC["parts"]
    if part.get("numbered")
    for entry in part["chapters"]
]
# Which case it was, what was seen there, and what was given.
HELPFUL = re.compile(r"Case \d+ of \d+: .{20,}\. The inputs were \w", re.S)
HEADINGS = [
    "Choices stated explicitly",
    "Measured cost",
    "Declared limits",
    "Exercises",
    "References",
]


def bound_names(cell: Block) -> set[str]:
    """Names that a cell binds, other than by importing them from the package."""
    found = set()
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.ImportFrom) and node.module != "blocks":
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname for alias in node.names if alias.asname}
        elif isinstance(node, ast.Import):
            found |= {(a.asname or a.name).split(".")[0] for a in node.names}
    return found


def shown_names(cell: Block) -> set[str]:
    """Names that a cell hands to `show`; of `MLP.init` it is `MLP`."""
    found = set()
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "show":
            for argument in node.args:
                inner = [n.id for n in ast.walk(argument) if isinstance(n, ast.Name)]
                found |= set(inner)
    return found


def test_the_contents_name_every_chapter_and_no_other():
    listed = [TOC["root"]] + [e["file"] for p in TOC["parts"] for e in p["chapters"]]
    assert sorted(Path(name).stem for name in listed) == sorted(CHAPTERS)


@pytest.mark.parametrize("name", sorted(CHAPTERS))
def test_a_chapter_defines_nothing_that_the_package_defines(name):
    for cell in CHAPTERS[name].cells:
        again = bound_names(cell) & set(blocks.__all__)
        assert not again, f"line {cell.line} defines what blocks defines: {again}"


def test_every_public_name_is_shown_in_some_chapter():
    cells = [cell for chapter in CHAPTERS.values() for cell in chapter.cells]
    shown = set().union(*(shown_names(cell) for cell in cells))
    assert not set(blocks.__all__) - shown


@pytest.mark.parametrize("name", BLOCKS)
def test_a_chapter_about_a_block_has_the_headings_of_its_kind_in_order(name):
    headings = [h for h in CHAPTERS[name].headings if h in HEADINGS]
    assert headings == HEADINGS


@pytest.mark.parametrize("name", BLOCKS)
def test_a_chapter_about_a_block_shows_a_figure_and_a_source(name):
    calls = "\n".join(cell.source for cell in CHAPTERS[name].cells)
    assert "picture(" in calls and "show(" in calls


def test_what_was_measured_is_what_the_chapters_show():
    measured = {row["block"] for row in stored.results("bench")["rows"]}
    texts = {name: "\n".join(c.source for c in CHAPTERS[name].cells) for name in BLOCKS}
    assert measured == {k for k, v in texts.items() if f'ratios("{k}")' in v}


@pytest.mark.parametrize("name", BLOCKS)
def test_every_exercise_has_a_check_and_a_folded_solution(name):
    chapter = CHAPTERS[name]
    found = exercises(chapter)
    assert 3 <= len(found) <= 5
    assert all(cells for cells in found.values()), "an exercise without a cell"
    solutions = {block.argument: block for block in chapter.directives("solution")}
    assert solutions.keys() == found.keys()
    for solution in solutions.values():
        assert solution.options.get("class") == "dropdown", "a solution must be folded"


@pytest.mark.parametrize("name", [*BLOCKS, "sliders"])
def test_solutions_pass_wrong_answers_are_helped_and_programs_compute_what_jax_does(
    name,
):
    paths = ROOT, ROOT / "tests" / "live"
    settings = {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "tests/book/run_exercises.py",
            ROOT / f"book/{name}.md",
        ],
        cwd=ROOT,
        # With the settings of the build, what that has compiled is found.
        env=os.environ | settings | compiling(ROOT, f"book/{name}"),
        capture_output=True,
        encoding="utf8",
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    sources = "\n".join(cell.source for cell in CHAPTERS[name].cells)
    calls = re.findall(r"(?<!\w)live\(", sources)
    assert len(set(found["figures"])) == len(calls) > 0
    assert found["exercises"].keys() == exercises(CHAPTERS[name]).keys()
    for label, (unanswered, answered, wrong) in found["exercises"].items():
        assert answered and set(answered) == {"passed"}, f"{label}: {answered}"
        assert "passed" not in unanswered, f"{label} passes without an answer"
        assert len(wrong) == WRONG, f"{label}: {wrong}"
        for said in wrong:
            assert HELPFUL.search(said), f"{label}: {said}"
