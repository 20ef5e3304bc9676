"""Every number in a sentence of the book is one that a cell beside it asserts."""

from pathlib import Path

import pytest
from chapters import Chapter, parse_chapter, read_chapters
from prose import asserted, faults, numbers

ROOT = Path(__file__).resolve().parents[2]

# (chapter, a piece of the sentence): why its numbers need no cell. One that is not
# used fails.
EXCEPTIONS: dict[tuple[str, str], str] = {}


def chapter_of(cells: str, sentence: str) -> Chapter:
    return parse_chapter("x", f"```{{code-cell}} python\n{cells}\n```\n\n{sentence}\n")


def test_every_number_in_a_sentence_is_asserted_by_a_cell_of_its_chapter():
    unused, found = set(EXCEPTIONS), []
    for chapter in read_chapters(ROOT / "book"):
        for line, sentence, number in faults(chapter):
            reasons = {
                k for k in EXCEPTIONS if k[0] == chapter.name and k[1] in sentence
            }
            unused -= reasons
            if not reasons:
                found.append(f"book/{chapter.name}.md:{line}: {number} in: {sentence}")
    assert not found, "no cell asserts these numbers:\n" + "\n".join(found)
    assert not unused, f"exceptions that no sentence needs: {unused}"


@pytest.mark.parametrize(
    "cells, sentence",
    [
        ("assert f(2) == 0.5403", "The cosine is 0.5403."),
        ("confirm(f(2), [0.84147, 3])", "The sine is 0.8415, and there are 3."),
        ("confirm(f(2), '0.50')", "It is 0.50."),
        ("assert x.max() > 300_000", "It grows beyond 300,000."),
        ("assert abs(x - 1) < 1e-6", "They agree to $10^{-6}$ or 1e-6."),
        ("assert d == 64", "Here $d = 64$, as the code says."),
        ("assert jnp.all(x == 7)", "Each is 7."),
        ("assert -0.5 == f(2)", "It is -0.5, or −0.5."),
        ("assert r == 2 / 3", "A share of 2/3 is left."),
    ],
)
def test_a_number_that_a_cell_asserts_may_stand_in_a_sentence(cells, sentence):
    assert list(numbers(sentence))
    assert not list(faults(chapter_of(cells, sentence)))


@pytest.mark.parametrize(
    "cells, sentence, wrong",
    [
        ("assert f(2) == 0.5403", "The cosine is 0.5404.", "0.5404"),
        ("confirm(f(2), 0.5403)", "The cosine is 0.54031.", "0.54031"),
        ("confirm(f(2), 2.5)", "It is 2.", "2"),
        ("confirm(f(2), 0.5)", "It is -0.5.", "-0.5"),
        ("f(7)\nx = 7\nassert x[7] == g(7)", "It is 7.", "7"),
        ("assert jnp.allclose(x, y, atol=0.01)", "It is 0.01.", "0.01"),
        ("assert d == 64", "Here $d = 65$.", "65"),
        ("assert d == 64", "Here $65$ stand alone.", "65"),
        ("assert d == 64", "$$\nd \\approx 65\n$$", "65"),
        ("assert x < 1e-6", "Below $2 \\cdot 10^{-6}$.", "2e-6"),
        ("assert x == 3", "| a | 4 |\n|---|---|", "4"),
        ("assert x == 3", "```{exercise}\n:label: x\nShow 4 of them.\n```", "4"),
        ("assert x == 3", "It is 4x faster.", "4"),
        ("assert x == 3", "It took 3,000 steps.", "3,000"),
    ],
)
def test_a_number_that_no_cell_asserts_is_a_fault(cells, sentence, wrong):
    assert [number for *_, number in faults(chapter_of(cells, sentence))] == [wrong]


@pytest.mark.parametrize(
    "sentence",
    [
        "{cite:t}`a2019` (equation 4, section 3.2.2 and algorithm 2, lines 7 and 8).",
        "The Transformer of 2017, Gemma 2, GPT-2 and float32 are names.",
        "`x[3]` is code, and $x^2 + 3y = 2z$ and $i = 0, \\dots, n$ are formulas.",
        "# 3 headings",
        "1. A list\n2. of two",
        "```python\nx = 3\n```",
        "$$\n\\sum_{j=1}^{d} x_j^2 + \\frac12\n$$ (label-3)",
        "Version 0.10.2 of 2026-11-29.",
    ],
)
def test_names_places_code_and_formulas_are_no_values(sentence):
    assert not list(faults(chapter_of("assert True", sentence)))


def test_only_compared_numbers_count_as_asserted():
    cells = "x = 1\nassert f(2)[3] == 4 + y and jnp.array([5, 6.5]).all() < -7, 8"
    assert asserted(chapter_of(cells, "")) == {4, 5, 6.5, -7}
