"""Show, in a chapter, the very code that the chapter imported."""

import ast
import inspect
import itertools
import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from IPython.display import Markdown

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Source(NamedTuple):
    file: str
    code: str


def show(*things: Any) -> Markdown:
    """Display the source of each thing as it stands in its file, docstrings left out.

    A thing is a function, a class, a method, or a constant of `blocks` such as a dict.
    Decorators and the comment above stay. What was compiled or checked on import is
    shown as it was written. Raises TypeError for a thing that has no readable source.
    """
    if not things:
        raise TypeError("show() needs a function, a class or a constant of blocks")
    parts = []
    sources = [_source(thing) for thing in things]
    for file, group in itertools.groupby(sources, key=lambda source: source.file):
        code = "\n\n\n".join(source.code for source in group)
        fence = "```"
        while fence in code:
            fence += "`"
        parts.append(f"`{file}`\n\n{fence}python\n{code}\n{fence}")
    return Markdown("\n\n".join(parts))


def _source(thing: Any) -> Source:
    found = _definition(inspect.unwrap(thing)) or _constant(thing)
    if found is None:
        raise TypeError(
            "show() can show a function, a class or a constant of blocks such as a "
            f"dict, whose file can be read; got {_name(thing)}"
        )
    return found


def _name(thing: Any) -> str:
    return getattr(thing, "__qualname__", None) or f"a value of {type(thing).__name__}"


def _definition(thing: Any) -> Source | None:
    """The source of a function or class, found by its name in its file."""
    if isinstance(thing, ModuleType):
        return None
    try:
        file = inspect.getsourcefile(thing)
        lines = linecache.getlines(file or "")
        node = ast.parse("".join(lines))
    except (TypeError, OSError, SyntaxError):
        return None
    for name in thing.__qualname__.split("."):
        if name != "<locals>":
            kinds = (n for n in node.body if isinstance(n, Definition))
            # The last one holds, as in Python: overloads come before it.
            node = next((n for n in reversed([*kinds]) if n.name == name), None)
            if node is None:
                return None
    if not isinstance(node, Definition):
        return None
    return Source(_label(thing.__module__, file or ""), _cut(node, lines))


def _constant(thing: Any) -> Source | None:
    """The source of a value that a module of `blocks` binds to a name at its top."""
    if thing is None or isinstance(thing, int | float | complex | str | ModuleType):
        return None  # Equal ones are one object: the first found may be another's.
    modules = [m for n, m in sys.modules.items() if n.partition(".")[0] == "blocks"]
    for module in modules:
        names = {n for n, value in vars(module).items() if value is thing}
        file = getattr(module, "__file__", None)
        if not names or not file:
            continue
        lines = linecache.getlines(file)
        for node in ast.parse("".join(lines)).body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = (
                    node.targets if isinstance(node, ast.Assign) else [node.target]
                )
                if names & {t.id for t in targets if isinstance(t, ast.Name)}:
                    return Source(_label(module.__name__, file), _cut(node, lines))
    return None


def _label(module: str, file: str) -> str:
    """The file as a reader of the repository knows it: `blocks/norms.py`."""
    depth = len(module.split(".")) + (Path(file).stem == "__init__")
    return "/".join(Path(file).parts[-depth:])


def _cut(node: ast.stmt, lines: list[str]) -> str:
    """The lines of `node` with the comment above them and without docstrings."""
    decorators = node.decorator_list if isinstance(node, Definition) else []
    first = min([node.lineno, *(d.lineno for d in decorators)]) - 1
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    kept: list[str | None] = [line.rstrip() for line in lines]
    for inner in ast.walk(node):
        if isinstance(inner, Definition) and ast.get_docstring(inner) is not None:
            docstring = inner.body[0]
            end = docstring.end_lineno or docstring.lineno
            while end < len(lines) and not lines[end].strip():
                end += 1
            gone = range(docstring.lineno - 1, min(end, inner.end_lineno or end))
            for i in gone:
                kept[i] = None
            if len(inner.body) == 1:
                kept[docstring.lineno - 1] = " " * docstring.col_offset + "..."
    indent = getattr(node, "col_offset", 0)
    code = [line[indent:] for line in kept[first : node.end_lineno] if line is not None]
    return "\n".join(code)
