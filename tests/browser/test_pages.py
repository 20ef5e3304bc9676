"""Every page of the built book, in Chromium, from a plain file server."""

import os
import re
from pathlib import Path

import html5lib
import nbformat
import pytest
from book_site import HTML, PAGES, ROOT
from visits import (
    BEYOND,
    COLOURS,
    PICTURES,
    READ,
    Visit,
    axe_faults,
    set_theme,
    source,
    watch,
)

# Where pictures of whole pages go, if anybody wants to look at them.
SHOTS = os.environ.get("SCREENSHOTS")
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
CHAPTERS = [page for page in PAGES if page.startswith("book/")]


@pytest.fixture(scope="module", params=PAGES or ["no page is built"])
def visit(request, browser, address):
    assert PAGES, "there is no book in _build/html: run `make build`"
    context = browser.new_context(viewport=WIDE, color_scheme="light")
    page = context.new_page()
    visit = Visit(request.param, page)
    watch(page, visit)
    page.goto(address + request.param, wait_until="load")
    page.wait_for_load_state("networkidle")
    yield visit
    context.close()


def test_nothing_is_asked_of_another_host_and_nothing_is_missing(visit, address):
    assert visit.requests
    own = (address, "data:", "blob:")
    assert not [url for url in visit.requests if not url.startswith(own)]
    assert not visit.failures


def test_the_console_stays_empty(visit):
    assert not visit.complaints


def test_formulas_are_set(visit):
    text = source(visit.name)
    # In code a dollar is no formula.
    text = re.sub(r"^(`{3,}).*?^\1\s*$", "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`]*`", "", text)
    if "$" in text:
        assert visit.page.locator("article .katex").count() > 0
    words = visit.page.evaluate(READ)
    assert "$" not in words and r"\(" not in words and r"\[" not in words


def test_every_table_is_one(visit):
    # Three dashes may have become a long one.
    assert not re.search(r"\|\s*(?:-{3}|\u2014)", visit.page.evaluate(READ))


def test_every_cell_that_has_outputs_shows_them(visit):
    stored = ROOT / "_build/notebooks" / Path(visit.name).with_suffix(".ipynb")
    if not stored.exists():
        return
    cells = [c for c in nbformat.read(stored, 4).cells if c.cell_type == "code"]
    expected = [
        c
        for c in cells
        if c.outputs and "remove-output" not in c.metadata.get("tags", [])
    ]
    outputs = visit.page.locator("article div.cell_output")
    assert outputs.count() == len(expected)
    for output in outputs.all():
        assert output.bounding_box()["height"] > 0
    assert visit.page.locator("article .traceback").count() == 0


def test_every_figure_is_seen_and_said(visit):
    written = source(visit.name).count("\npicture(")
    pictures = visit.page.evaluate(PICTURES)
    assert len(pictures) >= written
    for picture in pictures:
        assert picture["role"] == "img" and len(picture["alt"]) > 20
        assert picture["height"] > 60 and 100 < picture["width"] <= picture["column"]
    for image in visit.page.locator("article img").all():
        assert image.get_attribute("alt")


def test_code_of_88_columns_fits_beside_both_side_bars(visit):
    boxes = visit.page.locator("article div.highlight pre").evaluate_all(
        "all => all.map(e => [e.scrollWidth - e.clientWidth, e.textContent])"
    )
    for beyond, text in boxes:
        if max(len(line) for line in text.splitlines() or [""]) <= 88:
            assert beyond <= 0, text[:200]


def test_no_id_stands_twice(visit):
    ids = visit.page.evaluate("[...document.querySelectorAll('[id]')].map(n => n.id)")
    assert len(set(ids)) == len(ids)


def test_every_tag_closes_where_it_was_opened(visit):
    parser = html5lib.HTMLParser()
    parser.parse((HTML / visit.name).read_text("utf8"))
    assert not parser.errors


def test_the_page_has_no_fault_that_axe_finds(visit):
    # Only colours differ in the dark theme.
    for theme, rules in [("light", {}), ("dark", {"runOnly": ["color-contrast"]})]:
        set_theme(visit.page, theme)
        assert not axe_faults(visit.page, **rules), theme
    set_theme(visit.page, "light")


def keep_picture(visit, look):
    if SHOTS:
        name = visit.name.removesuffix(".html").replace("/", "-")
        path = ROOT / SHOTS / f"{name}-{look}.jpg"
        visit.page.screenshot(path=path, full_page=True)


def test_figures_follow_the_theme(visit):
    seen = {}
    for theme in ("light", "dark"):
        set_theme(visit.page, theme)
        seen[theme] = visit.page.evaluate(COLOURS)
        keep_picture(visit, theme)
    set_theme(visit.page, "light")
    if "picture(" in source(visit.name):
        assert seen["light"] != seen["dark"]


def test_nothing_stands_out_of_a_narrow_screen(visit):
    visit.page.set_viewport_size(NARROW)
    visit.page.wait_for_timeout(200)
    keep_picture(visit, "narrow")
    width = visit.page.evaluate("document.documentElement.scrollWidth")
    assert width <= NARROW["width"]
    assert not visit.page.evaluate(BEYOND)
    visit.page.set_viewport_size(WIDE)


def test_paper_shows_the_folded_parts_and_no_side_bar(visit):
    visit.page.emulate_media(media="print")
    hidden = visit.page.locator(
        "article div.solution .solution-content, article details.hide pre"
    )
    for part in hidden.all():
        assert part.bounding_box() and part.bounding_box()["height"] > 0
    assert not visit.page.locator("#pst-primary-sidebar").is_visible()
    visit.page.emulate_media(media="screen")


def test_the_front_page_leads_to_the_introduction(browser, address):
    page = browser.new_page()
    page.goto(address)
    page.wait_for_url("**/book/intro.html")
    page.close()


def test_no_icon_script_is_published():
    assert not list(HTML.rglob("fontawesome.js*"))
    assert CHAPTERS
