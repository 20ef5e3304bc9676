"""The API page: the head of each function and class in the code, and its docstring."""

import ast
import importlib
import inspect
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective


def head(thing: Any) -> str:
    """The lines that say how a function or class is called, without their bodies."""
    lines = inspect.getsource(inspect.unwrap(thing)).splitlines()
    (node,) = ast.parse("\n".join(lines)).body
    kept = lines[: node.body[0].lineno - 1]
    if isinstance(node, ast.ClassDef):
        for part in node.body:
            if isinstance(part, ast.AnnAssign):
                kept += lines[part.lineno - 1 : part.end_lineno]
            elif isinstance(part, ast.FunctionDef) and called(part.name):
                above = len(part.decorator_list)
                kept += ["", *lines[part.lineno - 1 - above : part.body[0].lineno - 1]]
    return "\n".join(kept)


def called(method: str) -> bool:
    return method == "__call__" or not method.startswith("_")


class Api(SphinxDirective):
    """`api`: a section for each name in its body, from the module in its argument."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        module = importlib.import_module(self.arguments[0])
        sections = []
        for name in self.content:
            if name not in module.__all__:
                raise ExtensionError(f"{module.__name__} exports no {name!r}")
            thing = getattr(module, name)
            section = nodes.section(ids=[f"{module.__name__}.{name}"], names=[name])
            section += nodes.title("", "", nodes.literal(text=name))
            code = head(thing)
            section += nodes.literal_block(code, code, language="python")
            words = StringList(inspect.getdoc(thing).splitlines(), module.__file__)
            self.state.nested_parse(words, 0, section)
            sections.append(section)
        return sections


def setup(app: Sphinx) -> None:
    app.add_directive("api", Api)
