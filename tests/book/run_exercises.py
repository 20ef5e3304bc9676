"""Answers the exercises of one chapter with its own solutions, in its own cells.

Of the other cells those are run alone that an exercise or a live figure builds upon:
the build has run them all. Called with the path of a chapter; writes as JSON
{"exercises": {label: [open, answered, wrong]}, "figures": [name]}. The three are lists
of what `check` said: before the solution was run, after it, and to three wrong answers.
The figures are those whose program was compared with JAX on the way.
"""

import ast
import contextlib
import json
import os
import symtable
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import against_jax
from chapters import Block, Chapter, parse_chapter
from wrong_answers import wrong_answers

WRONG = 3


def calls_check(cell: Block) -> bool:
    calls = (n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.Call))
    return any(getattr(call.func, "id", "") == "check" for call in calls)


def exercises(chapter: Chapter) -> dict[str, list[Block]]:
    """Per exercise the cells from it up to and with the one that checks it."""
    found: dict[str, list[Block]] = {}
    label = ""
    for block in chapter.blocks:
        if block.kind == "directive" and block.name == "exercise":
            label = block.options.get("label", "")
            found[label] = []
        elif block.kind == "cell" and label:
            found[label].append(block)
            if calls_check(block):
                label = ""
    return found


def verdicts(cell: Block, namespace: dict[str, Any]) -> list[str]:
    """Run a cell, and give back what each `check` in it said: passed, open or wrong."""
    check: Callable[..., Any] = namespace["check"]
    said: list[str] = []

    def listening(*args: Any, **named: Any) -> Any:
        verdict = check(*args, **named)
        said.append("passed" if verdict.passed else f"not passed: {verdict!r}")
        return verdict

    namespace["check"] = listening
    exec(compile(cell.source, f"line {cell.line}", "exec"), namespace)
    namespace["check"] = check
    return said


def names(source: str) -> tuple[set[str], set[str]]:
    """The names that some code binds, and those that it reads from outside."""
    top = symtable.symtable(source, "cell", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned()}
    bound |= {s.get_name() for s in top.get_symbols() if s.is_imported()}
    read = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    inner = top.get_children()
    while inner:
        table = inner.pop()
        inner += table.get_children()
        read |= {s.get_name() for s in table.get_symbols() if s.is_global()}
    return bound, read


def needed(chapter: Chapter, checks: Mapping[int, str]) -> list[Block]:
    """The cells that check or make a figure live, and all that those build upon."""
    kept, missing = list[Block](), set[str]()
    for cell in reversed(chapter.cells):
        bound, read = names(cell.source)
        label = checks.get(cell.line)
        if not (label or "live" in read or bound & missing):
            continue
        kept.append(cell)
        for statement in reversed(ast.parse(cell.source).body):
            bound, read = names(ast.unparse(statement))
            missing = missing - bound | read
        if label:
            missing |= names(chapter.solution(label))[1]
    return kept[::-1]


def run(chapter: Chapter) -> dict[str, list[list[str]]]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    checks = {
        cells[-1].line: name for name, cells in exercises(chapter).items() if cells
    }
    found = {}
    for cell in needed(chapter, checks):
        label = checks.get(cell.line)
        if label is None:
            exec(compile(cell.source, f"line {cell.line}", "exec"), namespace)
            continue
        answered = dict(namespace)
        unanswered = verdicts(cell, namespace)
        solution = chapter.solution(label)
        exec(compile(solution, f"the solution of {label}", "exec"), answered)
        found[label] = [unanswered, verdicts(cell, answered), []]
        for wrong in wrong_answers(solution):
            attempt = dict(namespace)
            exec(compile(wrong, f"a wrong answer to {label}", "exec"), attempt)
            found[label][2] += [v for v in verdicts(cell, attempt) if v != "passed"][:1]
            if len(found[label][2]) == WRONG:
                break
    return found


if __name__ == "__main__":
    os.environ |= {"MPLBACKEND": "agg", "JAX_PLATFORMS": "cpu"}
    path = Path(sys.argv[1])
    figures = against_jax.watch()
    with contextlib.redirect_stdout(sys.stderr):
        result = run(parse_chapter(path.stem, path.read_text("utf8")))
    print(json.dumps({"exercises": result, "figures": figures}))
