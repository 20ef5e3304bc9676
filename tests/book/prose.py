"""Holds every number in a chapter's sentences against what the chapter's cells assert.

A number is asserted where it stands in a comparison of an `assert`, or in the second
argument of `confirm`. One in a sentence must be such a value at its printed digits.
"""

import ast
import re
from collections.abc import Iterator
from fractions import Fraction

from chapters import Chapter

# What a number in a sentence may be besides a value.
NAMED = r"Llama|Gemma|OLMo|Qwen|GPT|Phi|DeepSeek|Python|PyTorch|JAX|jax|Jupyter Book"
PLACES = (
    r"equations?|eqs?\.|sections?|algorithms?|tables?|figures?|lines?|chapters?|"
    r"appendix|theorem|proposition|pages?|exercises?|item|step"
)
NOT_VALUES = [
    r"`+[^`]*`+",  # code, and the targets of roles
    r"\{[\w:-]+\}",  # the names of roles
    r"\]\([^)]*\)",  # addresses of links
    r"<[^>]+>",
    r"https?://\S+",
    r"\d{4}-\d\d-\d\d",
    r"\b(?:19[5-9]|20[0-3])\d\b",  # years
    r"\b\d+\.\d+\.\d[\w.]*",  # versions
    rf"(?i:\b(?:{PLACES}))\s*\d+(?:\.\d+)*(?:(?:\s*(?:,|and|to|or|-|–)\s*)\d+(?:\.\d+)*)*",
    rf"\b(?:{NAMED})[\s-]\d+(?:\.\d+)*",
    r"^\s*\d+[.)]\s",  # the numbers of a list
]
NUMBER = r"(?<![\w.^])(?:(?<![\w)])[-−])?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?"
VALUE = re.compile(rf"{NUMBER}(?:/\d+)?(?![\d]|[A-Za-wyz_])")
POWER = (
    r"(?:(?P<factor>-?[\d.]+)\s*\\(?:cdot|times)\s*)?"
    r"(?P<sign>-?)10\^\{?(?P<power>-?\d+)\}?"
)
RELATION = r"(?:=|\\approx|\\leq?|\\geq?|<|>|\\lt|\\gt)"
# A numeral with nothing behind it that would make it a part of a term.
STATED = re.compile(
    rf"(?:^|{RELATION})\s*(?P<value>{POWER}|-?\d+(?:\{{?,\}}?\d{{3}})*(?:\.\d+)?)"
    rf"\s*(?=$|[.,;)]|\\[,;:!. ]|\\q?quad|{RELATION})(?!,\s*\\[lc]?dots)"
)
TESTS = {"all", "any", "allclose", "isclose", "array_equal", "array", "asarray", "abs"}


def _constant(node: ast.AST) -> float | None:
    """The value of an expression of numbers alone."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float()):
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            value = _constant(inner)
            return None if value is None else -value
        case ast.BinOp(left=left, right=right):
            if _constant(left) is None or _constant(right) is None:
                return None
            return eval(compile(ast.Expression(node), "", "eval"))
    return None


def _values(node: ast.AST) -> Iterator[float]:
    """The numbers that a tested expression compares with."""
    if (value := _constant(node)) is not None:
        yield value
    match node:
        case ast.Constant(value=str() as text):
            if re.fullmatch(NUMBER, text):
                yield float(text)
        case ast.Compare():
            for side in (node.left, *node.comparators):
                yield from _values(side)
        case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            for part in parts:
                yield from _values(part)
        case ast.Dict(values=parts):
            for part in parts:
                yield from _values(part)
        case ast.UnaryOp(operand=inner) if value is None:
            yield from _values(inner)
        case ast.BinOp(left=left, right=right):
            yield from _values(left)
            yield from _values(right)
        case ast.GeneratorExp(elt=inner) | ast.ListComp(elt=inner):
            yield from _values(inner)
        case ast.Call(func=function, args=arguments):
            name = getattr(function, "attr", getattr(function, "id", ""))
            if name in TESTS:
                for argument in arguments:
                    yield from _values(argument)
            if isinstance(function, ast.Attribute):
                yield from _values(function.value)


def asserted(chapter: Chapter) -> set[float]:
    """Every number that a cell of the chapter asserts."""
    found: set[float] = set()
    for cell in chapter.cells:
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Assert):
                found.update(_values(node.test))
            elif isinstance(node, ast.Call) and len(node.args) > 1:
                if getattr(node.func, "id", "") == "confirm":
                    found.update(_values(node.args[1]))
    return found


def _math_numbers(tex: str) -> Iterator[str]:
    """The numbers that a formula states: alone in it, or behind a relation."""
    # Bounds and indices are no statements; the powers of ten stay.
    tex = re.sub(r"(?<!10)[_^]\{[^{}]*\}", "", tex)
    for match in STATED.finditer(tex.strip()):
        if match["power"]:
            yield f"{match['sign']}{match['factor'] or '1'}e{match['power']}"
        else:
            yield match["value"].replace("{", "").replace("}", "")


def numbers(text: str) -> Iterator[str]:
    """The numerals of a sentence that must be asserted, as they are printed."""
    for pattern in NOT_VALUES[:1]:
        text = re.sub(pattern, " ", text)
    for tex in re.findall(r"\$([^$]+)\$", text):
        yield from _math_numbers(tex)
    text = re.sub(r"\$[^$]+\$", " ", text)
    for pattern in NOT_VALUES[1:]:
        text = re.sub(pattern, " ", text, flags=re.M)
    for match in VALUE.finditer(text):
        yield match[0]


def holds(printed: str, values: set[float]) -> bool:
    """Whether a printed number is one of the values, to its last digit."""
    text = printed.replace("−", "-").replace(",", "")
    if "/" in text:
        return float(Fraction(text)) in values
    mantissa, _, power = text.partition("e")
    decimals = len(mantissa.partition(".")[2]) - int(power or 0)
    number = float(text)
    if "." not in mantissa and decimals <= 0:
        return number in values
    half = 0.5 * 10.0**-decimals
    return any(abs(value - number) <= half * (1 + 1e-9) for value in values)


def faults(chapter: Chapter) -> Iterator[tuple[int, str, str]]:
    """Line, sentence and number for every number that no cell asserts."""
    values = asserted(chapter)
    for block in chapter.blocks:
        if block.kind == "math":
            found = ((number, block.source) for number in _math_numbers(block.source))
        elif block.kind == "prose":
            text = block.source.replace("\n", " ")
            if block.source.lstrip().startswith(("|", "*", "-", "1.")):
                parts = block.source.splitlines()
            else:
                parts = re.split(r"(?<=[.!?:])\s+(?=[A-Z`$({])", text)
            found = ((number, part) for part in parts for number in numbers(part))
        else:
            continue
        for number, sentence in found:
            if not holds(number, values):
                yield block.line, " ".join(sentence.split()), number
