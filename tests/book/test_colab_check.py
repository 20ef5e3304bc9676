"""The check of the notebooks finds what is not plain and what needs more than them."""

import nbformat
import pytest
import unchanged
from mini_book import ROOT
from test_commands import script
from test_install_cell import FUNCTION, NAME, NEW, wheel

left_over = script("colab_check").left_over


@pytest.mark.parametrize(
    "text, name",
    [
        ("as {eq}`one` says", "a role"),
        ("text\n```{note}\nof\n```", "a directive"),
        ("> ```{note} x", "a directive"),
        (":::{note}\nof\n:::", "a directive"),
        (":::\n", "a fence of colons"),
        ("(a-label)=\n# Head", "a label"),
        ("$$ x $$ (one-label)", "a label"),
        (":label: x", "an option"),
        ("% hidden", "a comment"),
        ("+++", "a comment"),
        ("{{ name }}", "a substitution"),
        ("[a](other.md)", "a relative link"),
        ("![a](a.png)", "a relative link"),
        ('<img src="a.png">', "a picture beside the page"),
    ],
)
def test_what_is_left_over_is_found(text, name):
    assert any(found.startswith(f"{name}:") for found in left_over(text))


@pytest.mark.parametrize(
    "text",
    [
        "`{eq}` and ``[a](b.md)`` are code, and $\\{x\\}$ and $$[a](b)$$ formulas",
        "```\n(a)=\n% x\n[a](b.md)\n```",
        "> ```python\n> x[0](1)\n> ```",
        "[a](https://example.org) and ![a](data:image/png;base64,AA)",
    ],
)
def test_code_and_formulas_may_hold_anything(text):
    assert left_over(text) == []


def test_the_check_points_the_published_cell_at_a_wheel():
    checks = script("colab_check")
    cell = f"{FUNCTION}\nprepare('a', '{NEW}', 'https://example.org/x.zip')"
    assert checks.pointed_at("file:///a.whl", cell) == (
        f"{FUNCTION}\nprepare('a', '{NEW}', 'file:///a.whl')"
    )


@pytest.mark.parametrize(
    "cell, words",
    [
        ("assert blocks.COMMIT and 'over' in blocks.__file__", "passed"),
        ("import os\nassert os.listdir() == []", "passed"),
        ("import conftest", "ModuleNotFoundError"),
        ("import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pip', "
         "'install', '-q', '--find-links', '../..', 'a-new-one'], check=True)",
         "must install blocks alone"),
    ],
)  # fmt: skip
def test_the_check_finds_a_notebook_that_does_not_stand_alone(
    tmp_path, monkeypatch, capsys, cell, words
):
    checks, v4 = script("colab_check"), nbformat.v4
    monkeypatch.setattr(checks, "WATCH", "\nimport blocks")
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    # The check makes its own environments, beside what it offers here.
    monkeypatch.setattr(checks.tempfile, "tempdir", str(tmp_path))
    wheel(tmp_path, "a-new-one", "1.0")
    place = wheel(tmp_path / NEW, NAME, "0.1.0", code=f"COMMIT = {NEW!r}\n")
    first = f"{FUNCTION}\nprepare({NAME!r}, {NEW!r}, '')"
    book = v4.new_notebook(cells=[v4.new_code_cell(first), v4.new_code_cell(cell)])
    nbformat.write(book, tmp_path / "one.ipynb")
    path = tmp_path / "one.ipynb"
    assert checks.check(path, place) == (words == "passed")
    assert words in capsys.readouterr().out
    # At another commit it is the same notebook; what failed is run again.
    path.write_text(path.read_text("utf8").replace(NEW, NEW[::-1]), "utf8")
    if words == "passed":
        assert checks.check(path, "no wheel", changed=True)
        assert "unchanged" in capsys.readouterr().out
    else:
        assert not unchanged.is_kept(tmp_path, checks.digest(path, book))


def test_the_check_finds_a_stored_output_and_what_is_not_plain():
    checks, v4 = script("colab_check"), nbformat.v4
    shown = v4.new_code_cell("1", outputs=[v4.new_output("stream", text="1")])
    cells = [v4.new_markdown_cell("see {eq}`x`"), shown, v4.new_code_cell("2")]
    assert checks.plain_faults(v4.new_notebook(cells=cells)) == [
        "cell 0 has a role: {eq}`",
        "cell 1 has an output",
    ]
