"""The book's own build, on copies of a book of three pages with planted faults."""

import re

import pytest
from mini_book import Book

PROSE = ("tests/book/test_prose.py", "-k", "every_number_in_a_sentence")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """One built copy, for the tests that read it or build on it."""
    book = Book.new(tmp_path_factory.mktemp("book"))
    status, said = book.build()
    assert status == 0, said
    assert "executed book/first" in said and "executed book/second" in said
    return book


@pytest.fixture
def copy(built, tmp_path):
    """A copy of the built book, executed cells included, to plant a fault in."""
    return built.copy(tmp_path)


def test_a_good_book_shows_its_outputs_formulas_and_references(built):
    first, intro = built.page("first"), built.page("intro")
    assert "half of five is 2.5" in first
    assert '<span class="eqno">(1.1)' in first
    assert 'class="katex-display"' in first and r"\(" not in first
    assert re.search(r'href="#equation-first-half">\(1\.1\)</a>', first)
    assert "after Author (2020)." in re.sub("<[^>]*>", "", intro)
    assert re.search(
        r"book/first +\d+\.\d", (built.folder / "_build/html/times.txt").read_text()
    )


def test_the_site_holds_every_font_it_names_and_no_older_form(built):
    html = built.folder / "_build" / "html"
    sheet = html / "_static" / "katex" / "katex.css"
    fonts = set(re.findall(r"url\(([^)]*)\)", sheet.read_text("utf8")))
    assert fonts and all(font.endswith(".woff2") for font in fonts)
    assert all((sheet.parent / font).exists() for font in fonts)
    # Without this file some hosts leave out every folder that begins with "_".
    assert (html / ".nojekyll").exists()


def test_a_built_page_names_no_other_host_and_no_removed_script(built):
    for page in (built.folder / "_build/html").rglob("*.html"):
        text = page.read_text("utf8")
        for tag in re.findall(r"<(?:script|link|img|iframe|source)[^>]*>", text):
            assert not re.search(r'(?:src|href)="(?:https?:)?//', tag), f"{page}: {tag}"
        assert "mathjax" not in text.lower() and "fontawesome.js" not in text
        assert "thebe" not in text and "require.min.js" not in text


def test_a_change_of_prose_alone_executes_nothing_and_is_shown(copy):
    copy.change("book/first.md", "half of five is 2.5.", "five halves are 2.5.")
    status, said = copy.build()
    assert status == 0, said
    assert "executed book" not in said and "five halves" in copy.page("first")


def test_a_change_of_a_cell_executes_its_chapter_alone(copy):
    copy.change("book/first.md", '"half of five is"', '"five halves are"')
    status, said = copy.build()
    assert status == 0, said
    assert "executed book/first" in said and "executed book/second" not in said
    assert "five halves are 2.5" in copy.page("first")


def test_a_change_of_the_package_changes_what_the_next_build_shows(copy):
    copy.change("blocks/__init__.py", "return x / 2", "return float(x // 2)")
    copy.change("book/first.md", "== 2.5", "== 2.0")
    status, said = copy.build()
    assert status == 0, said
    assert "half of five is 2.0" in copy.page("first")
    assert "executed book/second" in said


def test_the_package_alone_can_break_a_chapter(copy):
    copy.change("blocks/__init__.py", "return x / 2", "return x / 3")
    status, said = copy.build()
    assert status and "book/first" in said and "AssertionError" in said


def test_a_wrong_number_in_a_sentence_fails_each_time(copy):
    assert copy.run("-m", "pytest", "-q", *PROSE)[0] == 0
    copy.change("book/first.md", "half of five is 2.5.", "half of five is 2.6.")
    for _ in range(2):
        status, said = copy.run("-m", "pytest", "-q", *PROSE)
        assert status and "2.6 in: By {eq}`first-half`, half of five is 2.6." in said


# Two books, for what is seen in an output stops the build before it reads the pages;
# in each, name: (file, old, new, what the build must say).
FAULTS = {
    "outputs": {
        "a failing cell": ("first", "== 2.5", "== 2.4", "AssertionError"),
        "a figure without alt text": (
            "second",
            'aria-label="a square of two by two"',
            'aria-label=" "',
            "a figure without alt text",
        ),
        "an image without alt text": (
            "second",
            "display(HTML(f'<fig",
            "display(HTML('<img src=\"data:,\">'))\ndisplay(HTML(f'<fig",
            "<img> without alt",
        ),
        "a raster image": (
            "second",
            "display(HTML(f",
            "display({'image/png': 'iVBORw0K'}, raw=True)\ndisplay(HTML(f",
            "use picture(fig, alt=…)",
        ),
        "a widget alone": (
            "second",
            "display(HTML(f",
            "view = 'application/vnd.jupyter.widget-view+json'\n"
            "display({view: {'model_id': 'x'}}, raw=True)\ndisplay(HTML(f",
            "shows a widget alone",
        ),
        "a warning": (
            "second",
            "display(HTML(f",
            "import warnings\nwarnings.warn('look')\ndisplay(HTML(f",
            "writes to stderr",
        ),
    },
    "pages": {
        "a bad formula": ("second", "x^2 $$", r"\frak{x $$", r"\frak{x"),
        "an unknown command": ("first", r"\frac{x}{2}", r"\nosuch{x}", r"\nosuch{x}"),
        "one label for two equations": (
            "second",
            "(second-square)",
            "(first-half)",
            "duplicate label of equation first-half",
        ),
        "a reference to nothing": (
            "first",
            "{eq}`first-half`",
            "{eq}`first-h`",
            "first-h",
        ),
    },
}


@pytest.fixture(scope="module", params=FAULTS)
def spoilt(request, built, tmp_path_factory):
    """What two builds say, one after the other, of a book with all faults of a kind."""
    book = built.copy(tmp_path_factory.mktemp(request.param))
    for page, old, new, _ in FAULTS[request.param].values():
        book.change(f"book/{page}.md", old, new)
    return request.param, [book.build() for _ in range(2)]


def test_a_planted_fault_fails_the_build_and_the_next_one(spoilt):
    kind, builds = spoilt
    for status, said in builds:
        assert status
        for name, (page, *_, words) in FAULTS[kind].items():
            assert words in said and f"book/{page}" in said, name


def test_the_settings_of_the_user_do_not_reach_a_chapter(copy, monkeypatch):
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    monkeypatch.setenv("MATPLOTLIBRC", "/nowhere")
    cell = "import os\nfound = [n for n in os.environ if n.startswith('JAX')]\n"
    cell += "print(found, os.environ['MATPLOTLIBRC'])\nassert half"
    copy.change("book/first.md", "assert half", cell)
    status, said = copy.build()
    assert status == 0, said
    assert "JAX_PLATFORMS" in copy.page("first") and "X64" not in copy.page("first")
    assert "/dev/null" in copy.page("first")
