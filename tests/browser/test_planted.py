"""The checks of pages, seen to fail on a miniature book with a fault for each."""

import base64
import os
import random
import re
import subprocess
import sys

import pytest
from book_site import ROOT
from live_site import live_second
from mini_book import Book

# Each check, with what makes it fail.
FAULTS = {
    "test_nothing_is_asked_of_another_host": "<img src='https://a.example/x' alt='x'>",
    "test_the_console_stays_empty": "<script>console.error('planted')</script>",
    "test_formulas_are_set": "<p>half of $x$</p>",
    "test_every_table_is_one": "<p>| rule | size | |\u2014|\u2014|</p>",
    "test_every_figure_is_seen_and_said": "<figure class='picture'><svg/></figure>",
    "test_code_of_88_columns_fits": "<div class='highlight' style='width:90px'>"
    f"<pre style='overflow:auto'>{'x' * 88}</pre></div>",
    "test_every_tag_closes_where_it_was_opened": "<p><b>one <i>two</b></i></p>",
    # Sliders that move, and nothing with them.
    "test_every_control_moves_its_figure_by_keyboard": "<script>"
    "for (const kind of ['input', 'change', 'keydown']) addEventListener("
    "kind, event => event.stopImmediatePropagation(), true)</script>",
    "test_no_id_stands_twice": "<p id='planted'></p><p id='planted'></p>",
    "test_the_page_has_no_fault_that_axe_finds": "<p style='color:#ddd'>pale</p>",
    "test_nothing_stands_out_of_a_narrow_screen": "<div style='width:1300px'>w</div>",
    "test_paper_shows_the_folded_parts": "<details class='hide'>"
    "<pre style='display:none !important'>x</pre></details>",
    "test_no_words_of_a_figure_lie_upon_each_other": "<figure class='picture'><svg "
    "role='img' aria-label='two words in one place'><text y='20'>one</text>"
    "<text y='22'>two</text></svg></figure>",
    "test_every_link_within_the_book_leads_somewhere": "<a href='nowhere.html'>on</a>",
    "test_a_first_and_a_later_visit_stay_small": "<!-- "
    + base64.b64encode(random.Random(0).randbytes(600_000)).decode()
    + " -->",
}
# A cell with a figure that is live.
SHOW = """
```{code-cell} python
from IPython.display import HTML

HTML(filename="figure.html")
```
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """What pytest says of a sound and of a spoilt page of one book."""
    book = Book.new(tmp_path_factory.mktemp("planted"))
    (book.folder / "book/figure.html").write_text(live_second().page_html(), "utf8")
    for name in ("first", "second"):
        with (book.folder / f"book/{name}.md").open("a", encoding="utf8") as page:
            page.write(SHOW)
    status, said = book.build()
    assert status == 0, said
    html = book.folder / "_build" / "html"
    page = html / "book" / "second.html"
    faults = "".join(FAULTS.values()).replace("'", '"')
    text = page.read_text("utf8")
    page.write_text(text.replace("</article>", f"{faults}</article>", 1), "utf8")
    files = [
        f"tests/browser/test_{name}.py" for name in ("pages", "site", "live_pages")
    ]
    chosen = "first.html or second.html"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfp", *files, "-k", chosen],
        cwd=ROOT,
        env=os.environ | {"BOOK_HTML": str(html)},
        capture_output=True,
        encoding="utf8",
    )
    return re.findall(r"^(PASSED|FAILED) \S*::(\S*)", done.stdout, re.M)


@pytest.mark.parametrize("check", FAULTS)
def test_a_check_fails_on_its_fault_and_on_nothing_else(outcome, check):
    ended = {name.split("/")[-1]: end for end, name in outcome if check in name}
    assert ended == {"first.html]": "PASSED", "second.html]": "FAILED"}
