"""Each chapter as a notebook: its Markdown, its cells, what has no form in it."""

import base64
import re

import nbformat
import pytest
from mini_book import ROOT, Book
from test_commands import script

left_over = script("colab_check").left_over
HOME = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "a-reader/of-halves",
    "GITHUB_SHA": "1234567890" * 4,
    "GITHUB_REF_TYPE": "branch",
    "GITHUB_REF_NAME": "trunk",
}
READ = "https://a-reader.github.io/of-halves/book"
# A section with one of each that a chapter may hold.
ALL = (ROOT / "tests/book/everything.md").read_text("utf8")


def add(book: Book, text: str) -> Book:
    path = book.folder / "book/second.md"
    path.write_text(path.read_text("utf8") + text, "utf8")
    return book


def notebook(book: Book, name: str) -> nbformat.NotebookNode:
    found = nbformat.read(
        book.folder / "_build/html/notebooks" / f"{name}.ipynb", as_version=4
    )
    nbformat.validate(found)
    return found


def markdown(book: Book, name: str) -> str:
    cells = notebook(book, name).cells
    return "\n\n".join(c.source for c in cells if c.cell_type == "markdown")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A book whose second chapter has one of each, built where its address is known."""
    book = add(Book.new(tmp_path_factory.mktemp("full")), f"\n{ALL}")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in HOME.items():
            patch.setenv(name, value)
        patch.delenv("BOOK_ADDRESS", raising=False)
        status, said = book.build()
    assert status == 0, said
    return book


@pytest.fixture(scope="module")
def homeless(tmp_path_factory):
    """The book as it is, built where nothing is known of its address."""
    book = Book.new(tmp_path_factory.mktemp("homeless"))
    with pytest.MonkeyPatch.context() as patch:
        for name in (*HOME, "BOOK_ADDRESS"):
            patch.delenv(name, raising=False)
        status, said = book.build()
    assert status == 0, said
    return book


@pytest.mark.parametrize(
    "words",
    [
        f"*A chapter of [How do I build the blocks of a current Transformer?]"
        f"({READ.removesuffix('book')}): [Second]({READ}/second.html).*",
        "# 2. Second",
        "## 2.1. Everything",
        "$$\nz = x^2\n\\tag{2.1}\n$$",
        r"> **Note**"
        "\n>\n"
        r"> A *note* with `code`, ``a`b``, a_name, 2 \* 3 < 4, $a< b$ and",
        r"> $$\begin{aligned} x \\ y > 1 \end{aligned} \tag{2.2}$$",
        "> ```python\n> 1 + 1\n> ```",
        "<details>\n<summary>Tip</summary>\n\nFolded.\n\n</details>",
        f"> A quotation of ([Author, 2020]({READ}/intro.html#id",
        "3. three\n\n4. four\n\n   more of it",
        "- **term**: what it is",
        "| left | right |\n| :-- | --: |\n| `a\\|b` | $\\vert x\\vert$ |",
        "![a page of the book](data:image/png;base64,",
        f"*Fig. 2.1 As in [the code]({READ}/second.html#second-code).*",
        f"[Fig. 2.1]({READ}/second.html#second-figure), "
        f"[(1.1)]({READ}/first.html#equation-first-half), [First]({READ}/first.html), "
        "[https://example.org/(x)](https://example.org/%28x%29). Then a line # that",
        "heading&lt;sub>, nor a tag.",
        "1\\. This is no list.",
        f"> **Exercise 2.1 (Three)**\n>\n> Square three, as "
        f"[(2.1)]({READ}/second.html#equation-second-square) says.",
        "<details>\n<summary>Solution to Exercise 2.1 (Three)</summary>\n\n"
        "Three times three.\n\n</details>",
    ],
)
def test_what_a_chapter_says_stands_in_its_notebook(built, words):
    assert words in markdown(built, "second")


def test_a_picture_is_whole_inside_the_notebook(built):
    content = re.search(r"base64,([\w+/=]+)\)", markdown(built, "second"))[1]
    picture = built.folder / "book/_static/page.png"
    assert base64.b64decode(content) == picture.read_bytes()


def test_the_cells_stand_in_order_without_outputs_and_folded_as_on_the_page(built):
    cells = [c for c in notebook(built, "second").cells if c.cell_type == "code"]
    first, picture, *others = cells
    assert first.source.startswith("#@title") and "def prepare(" in first.source
    assert picture.metadata["cellView"] == first.metadata["cellView"] == "form"
    assert [c.source for c in others] == ["unseen = 1", "print(unseen)", "seen = 2"]
    folded = [c.metadata.get("jupyter") for c in others]
    assert folded == [{"source_hidden": True}] * 2 + [None]
    assert others[2].metadata == {"tags": ["raises-exception"]}
    assert not any(c.outputs or c.execution_count for c in cells)


def test_a_heading_begins_a_cell_and_what_follows_it_stays_with_it(built):
    cells = notebook(built, "second").cells
    sources = [c.source for c in cells if c.cell_type == "markdown"]
    for source in sources:
        assert not re.search(r"(?m)^#+ ", source.partition("\n")[2])
    assert any(source.startswith("## 2.1. Everything\n\n> ") for source in sources)


def test_the_first_cell_names_the_archive_of_the_commit_and_this_package(built):
    last = notebook(built, "first").cells[0].source.splitlines()[-1]
    commit = HOME["GITHUB_SHA"]
    place = f"https://github.com/a-reader/of-halves/archive/{commit}.zip"
    assert last == f'prepare("transformer-blocks-book", "{commit}", "{place}")'


def test_a_page_without_cells_has_no_notebook(built):
    names = {p.name for p in (built.folder / "_build/html/notebooks").iterdir()}
    assert names == {"first.ipynb", "second.ipynb"}


@pytest.mark.parametrize("name", ["first", "second"])
def test_nothing_of_myst_and_no_relative_link_is_left_over(built, homeless, name):
    for book in (built, homeless):
        for cell in notebook(book, name).cells:
            if cell.cell_type == "markdown":
                assert left_over(cell.source) == []


def test_without_an_address_a_reference_is_plain_and_the_first_cell_says_so(homeless):
    assert "> Square three, as (2.1) says." in markdown(homeless, "second")
    assert "https://" not in markdown(homeless, "second")
    last = notebook(homeless, "first").cells[0].source.splitlines()[-1]
    assert last == 'prepare("transformer-blocks-book", "", "")'


# name: (what is added to the second chapter, what the build must say)
FORMLESS = {
    "a card": ("```{card} A title\nWords.\n```", "`card`"),
    "a topic": ("```{topic} A title\nWords.\n```", "`topic`"),
    "raw HTML": ("<b>bold</b> in a sentence", "`raw`"),
    "a list in a table": (
        "```{list-table}\n* - * a\n    * b\n```",
        "a cell of a table",
    ),
    "a mute picture": ("![](_static/page.png)", "an image without alt text"),
}


@pytest.fixture(scope="module")
def refused(homeless, tmp_path_factory):
    """A book with all of them, and what its build says."""
    text = "\n\n".join(text for text, _ in FORMLESS.values())
    book = add(homeless.copy(tmp_path_factory.mktemp("refused")), f"\n{text}\n")
    status, said = book.build()
    assert status
    return book, said


@pytest.mark.parametrize("name", FORMLESS)
def test_what_has_no_form_fails_the_build_with_its_place(refused, name):
    (book, said), (text, words) = refused, FORMLESS[name]
    lines = (book.folder / "book/second.md").read_text("utf8").splitlines()
    first = lines.index(text.partition("\n")[0]) + 1
    places = re.findall(rf"book/second\.md:(\d+): .*{re.escape(words)}", said)
    assert places and all(first <= int(place) <= first + 2 for place in places)
