"""`show` displays the code that was imported, as it was written."""

import ast
import importlib.util
import sys
from functools import partial
from pathlib import Path

import jax
import pytest

import blocks
from blocks.activations import ACTIVATIONS
from blocks.page import show

ODD = '''"""A module of odd things."""
from typing import Protocol, overload


# Said above.
# And on.
@staticmethod
def outer(x):
    """Gone,
    with its second line."""

    def inner():
        "Gone too."
        return """stays"""

    return inner


class Callback(Protocol):
    """Nothing but words."""


class Holder:
    """Words before a field."""

    size: int = 3

    def grow(self):
        # Kept.
        """Not a docstring's place? It is."""

        return self.size


@overload
def twice(x: int) -> int: ...


def twice(x):
    return 2 * x


def fences():
    return "```"
'''


@pytest.fixture
def odd(tmp_path):
    file = tmp_path / "odd.py"
    file.write_text(ODD)
    spec = importlib.util.spec_from_file_location("odd", file)
    module = sys.modules["odd"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["odd"]


def code(shown):
    return shown.data.split("```python\n")[1].rsplit("\n```", 1)[0]


def written(name):
    """The lines of a definition of `blocks.norms`, as they stand in its file."""
    text = Path(blocks.norms.__file__).read_text()
    node = next(n for n in ast.parse(text).body if getattr(n, "name", "") == name)
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return text.splitlines()[first - 1 : node.end_lineno], ast.get_docstring(node)


def test_a_function_is_shown_as_its_file_has_it_without_its_docstring():
    lines, docstring = written("rms_norm")
    shown = code(show(blocks.rms_norm)).splitlines()
    assert shown == [line for line in lines if line in shown]
    assert shown[0].startswith("def rms_norm(") and shown[-1] == lines[-1]
    assert '"""' not in "".join(shown) and docstring not in "\n".join(shown)
    assert "" not in shown


def test_a_class_keeps_its_decorator_and_loses_the_blank_line_of_its_docstring():
    shown = code(show(blocks.RMSNorm)).splitlines()
    fields = ['    scale: Float[Array, "d"]', "    eps: float = static(default=1e-5)"]
    assert shown[:4] == ["@module", "class RMSNorm:", *fields]
    assert shown[4] == ""


def test_a_line_above_names_the_file_once_for_neighbours_of_one_file():
    text = show(blocks.rms_norm, blocks.RMSNorm, blocks.fit).data
    assert text.startswith("`blocks/norms.py`\n\n```python\ndef rms_norm(")
    assert text.count("`blocks/norms.py`") == 1
    assert "\n```\n\n`blocks/train.py`\n\n```python\ndef fit(" in text
    assert "\n\n\n@module\nclass RMSNorm" in text


def test_a_package_names_its_own_file():
    from blocks.page import bars

    assert show(bars.progress).data.startswith("`blocks/page/bars.py`\n")


@pytest.mark.parametrize("wrap", [jax.jit, jax.checkpoint], ids=["jit", "checkpoint"])
def test_a_compiled_function_is_shown_as_it_was_written(wrap):
    assert show(wrap(blocks.rms_norm)).data == show(blocks.rms_norm).data


def test_the_hook_that_checks_shapes_in_these_tests_is_not_shown():
    assert hasattr(blocks.rms_norm, "__wrapped__") or "jaxtyping" not in sys.modules
    for thing in (blocks.rms_norm, blocks.RMSNorm):
        assert "jaxtyped" not in show(thing).data


def test_a_method_is_shown_at_the_left_margin():
    shown = code(show(blocks.RMSNorm.init))
    assert shown.startswith("@classmethod\ndef init(cls, d: int")


def test_a_constant_is_shown_from_the_module_that_makes_it():
    shown = show(ACTIVATIONS)
    assert shown.data.startswith("`blocks/activations.py`")
    assert code(shown).startswith("ACTIVATIONS: dict[")
    assert code(shown).endswith("\n}")


def test_docstrings_inside_go_too_and_other_strings_stay(odd):
    assert code(show(odd.outer)) == (
        "# Said above.\n# And on.\n@staticmethod\ndef outer(x):\n    def inner():\n"
        '        return """stays"""\n\n    return inner'
    )


def test_a_class_of_words_alone_is_still_python(odd):
    assert code(show(odd.Callback)) == "class Callback(Protocol):\n    ..."


def test_a_comment_before_a_docstring_stays(odd):
    assert code(show(odd.Holder)).splitlines() == [
        "class Holder:",
        "    size: int = 3",
        "",
        "    def grow(self):",
        "        # Kept.",
        "        return self.size",
    ]


def test_of_overloads_the_last_is_shown(odd):
    assert code(show(odd.twice)) == "def twice(x):\n    return 2 * x"


def test_code_with_a_fence_of_its_own_does_not_end_the_block(monkeypatch, odd):
    monkeypatch.setitem(sys.modules, "blocks.odd", odd)
    text = show(odd.fences).data
    assert text.endswith('def fences():\n    return "```"\n````')


@pytest.mark.parametrize(
    ("thing", "named"),
    [
        (3, "a value of int"),
        (None, "a value of NoneType"),
        (blocks.norms, "a value of module"),
        (partial(print), "a value of partial"),
        (len, "len"),
        ({"made": "here"}, "a value of dict"),
    ],
)
def test_a_thing_without_source_is_refused_with_what_can_be_shown(thing, named):
    with pytest.raises(TypeError, match=f"a function, a class or a constant.*{named}$"):
        show(thing)


def test_showing_nothing_is_refused():
    with pytest.raises(TypeError, match="needs a function"):
        show()
