"""Every live figure of the built book, moved by keyboard and mouse in Chromium."""

import json
import re

import numpy as np
import pytest
import quickjs
from book_site import HTML, PAGES, ROOT
from live_site import HEAR
from programs import CALL, javascript
from visits import Visit, settled, source, watch

from scripts.bench_live import LIMITS, kilobytes
from scripts.bench_live import figures as parts

FIGURE = re.compile(
    r'<div class="live-figure" id="([^"]*)">.*?<script[^>]*>(.*?)</script>', re.S
)
# The numbers of every path and mark, the words of every text and every picture.
ARTISTS = """(name) => [...document.querySelectorAll(`[id="${name}"] svg *`)]
  .filter(n => !n.matches('.live-cursor'))
  .map(n => ['d', 'x', 'y', 'href', 'style'].map(key => n.getAttribute(key)).join()
    + (n.children.length ? '' : n.textContent)).join('|')"""


def figures(page):
    """The live figures of a built page by name, with what their module is told."""
    text = (HTML / page).read_text("utf8")
    return {name: json.loads(told) for name, told in FIGURE.findall(text)}


LIVE = {page: figures(page) for page in PAGES}
CHAPTERS = sorted(path.name for path in (ROOT / "book").glob("*.md"))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_that_makes_figures_live_has_them_on_its_page(chapter):
    page = f"book/{chapter.removesuffix('.md')}.html"
    made = re.findall(r"^(?:\w+ = )?live\($", source(page), re.M)
    assert len(LIVE.get(page, {})) >= len(made)


@pytest.fixture(scope="module", params=[page for page in LIVE if LIVE[page]])
def visit(request, browser, address):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.add_init_script(HEAR)
    visit = Visit(request.param, page)
    watch(page, visit)
    page.goto(address + request.param)
    for name in LIVE[request.param]:
        page.wait_for_selector(f'[id="{name}"][data-live]')
    yield visit
    context.close()


def controls(visit):
    """Each control of the page: the name of its figure, what is told of it, itself."""
    for name, told in LIVE[visit.name].items():
        for control in told["controls"]:
            own = visit.page.locator(f'[id="{name}"] [name="{control["name"]}"]')
            yield name, control, own


def reset(page, name):
    page.locator(f'[id="{name}"]').get_by_role("button", name="Reset").click()
    settled(page)


def test_every_control_moves_its_figure_by_keyboard(visit):
    page = visit.page
    for name, control, own in controls(visit):
        before = page.evaluate(ARTISTS, name), count(page, name)
        if not moves(page, name, control, own):
            # It may be without effect at the defaults, but not everywhere.
            for slider in page.locator(f'[id="{name}"] input[type=range]').all():
                slider.press("PageDown")
            assert moves(page, name, control, own), f"{control['name']} of {name}"
        assert count(page, name) > before[1]
        reset(page, name)
        assert page.evaluate(ARTISTS, name) == before[0]


def moves(page, name, control, own):
    """Whether a key on the control changes the figure."""
    keys = {
        "slider": ["PageUp", "Home", "End"],
        "choice": ["ArrowDown", "ArrowUp"],
        "switch": ["Space"],
    }[control["kind"]]
    settled(page)
    before = page.evaluate(ARTISTS, name)
    for key in keys:
        own.press(key)
        settled(page)
        if page.evaluate(ARTISTS, name) != before:
            return True
    return False


def count(page, name):
    return page.evaluate("name => drawn[name].length", name)


def test_every_slider_is_dragged_and_the_numbers_are_those_of_the_program(visit):
    page = visit.page
    programs = {}
    for name, told in LIVE[visit.name].items():
        programs[name] = quickjs.Context()
        source = told["program"].replace("export function", "function")
        programs[name].eval(source + CALL)
    for name, control, own in controls(visit):
        if control["kind"] != "slider":
            continue
        own.scroll_into_view_if_needed()
        box = own.bounding_box()
        x, y = box["x"], box["y"] + box["height"] / 2
        share = own.evaluate("n => (n.value - n.min) / (n.max - n.min)")
        before = count(page, name)
        page.mouse.move(x + 8 + (box["width"] - 16) * share, y)
        page.mouse.down()
        for end in (0.3, 0.7, 0.45):
            page.mouse.move(x + box["width"] * end, y, steps=3)
        page.mouse.up()
        settled(page)
        assert count(page, name) > before + 2, (name, control["name"])
        given = {
            other["name"]: setting(page, name, other)
            for other in LIVE[visit.name][name]["controls"]
        }
        expected = json.loads(programs[name].eval(f"call({javascript(given)})"))
        found = page.evaluate("name => drawn[name].at(-1)", name)
        assert found.keys() == expected.keys()
        for result, values in expected.items():
            values = np.array(values, float)
            size = np.abs(values[np.isfinite(values)]).max(initial=1e-30)
            # Two engines differ in the last digit of what is not in the standard.
            np.testing.assert_allclose(
                found[result], values, atol=1e-5 * size, err_msg=f"{name} {result}"
            )
        reset(page, name)


def setting(page, name, control):
    """What the program gets for this control as it stands."""
    own = page.locator(f'[id="{name}"] [name="{control["name"]}"]')
    if control["kind"] == "choice":
        return own.evaluate("n => n.selectedIndex")
    if control["kind"] == "switch":
        return own.is_checked()
    return own.evaluate("n => n.nextSibling.firstChild.valueAsNumber")


def test_no_control_is_lower_than_a_finger_needs(visit):
    visit.page.set_viewport_size({"width": 390, "height": 844})
    for _, _, own in controls(visit):
        assert own.bounding_box()["height"] >= 24
    visit.page.set_viewport_size({"width": 1440, "height": 900})


def test_no_drawing_is_cut_off_or_scrolls_where_there_is_room(visit):
    boxes = visit.page.locator("article figure .scroll").evaluate_all(
        "all => all.map(n => [n.scrollWidth, n.clientWidth])"
    )
    assert boxes and all(inner <= outer for inner, outer in boxes)


def test_what_a_page_sends_stays_small(visit):
    texts = list(parts(visit.name).values())
    assert len(texts) == len(LIVE[visit.name])
    assert max(kilobytes(text) for text in texts) <= LIMITS["figure_kb"]
    assert kilobytes("".join(texts)) <= LIMITS["page_kb"]
    module = (ROOT / "blocks" / "live" / "live.mjs").read_bytes()
    assert kilobytes(module) <= LIMITS["module_kb"]


# The last of a page: it looks back on all that was done there.
def test_the_console_has_stayed_silent_and_no_other_host_was_asked(visit, address):
    assert not visit.complaints and not visit.failures
    own = (address, "data:", "blob:")
    assert all(url.startswith(own) for url in visit.requests)
