"""Who reaches a live figure: without a script, on paper, by keyboard, on a phone."""

import re

import pytest
from live_reader import PHONE, field
from visits import BEYOND, axe_faults


def test_the_drawing_and_its_caption_stand_without_javascript(opened):
    page = opened(java_script_enabled=False)
    alt = "Six pictures with everything that a live figure can move"
    assert page.get_by_role("img", name=alt).bounding_box()["width"] > 600
    assert page.get_by_text("All that moves").is_visible()
    assert page.locator("input, button, select").count() == 0


def test_paper_shows_the_figure_without_its_controls(opened):
    page = opened()
    page.locator("#everything [name=phase]").press("End")
    page.emulate_media(media="print")
    for seen in ("#everything svg", "figcaption", "#everything .live-summary"):
        assert page.locator(seen).is_visible()
    for hidden in page.locator("input, select, button").all():
        assert not hidden.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("phone", [False, True])
def test_axe_finds_no_fault(opened, scheme, phone):
    page = opened(color_scheme=scheme, **(PHONE if phone else {}))
    page.get_by_role("button", name="Read a cell of “weights”").press("ArrowDown")
    field(page, "phase").fill("99")
    assert not axe_faults(page)


def test_the_colours_follow_the_theme(opened):
    colours = [
        opened(color_scheme=scheme)
        .locator("#everything-curve path, #everything .live-panel")
        .evaluate_all(
            "all => all.map(n => [getComputedStyle(n).stroke,"
            " getComputedStyle(n).backgroundColor].join())"
        )
        for scheme in ("light", "dark")
    ]
    assert len(colours[0]) == 2
    assert all(a != b for a, b in zip(*colours, strict=True))


def test_on_a_phone_nothing_stands_out_and_a_finger_hits_every_control(opened):
    page = opened(**PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert not page.evaluate(BEYOND)
    for control in page.locator("input, select, button").all():
        box = control.bounding_box()
        assert min(box["height"], box["width"]) >= 24
    # The drawing keeps a size at which its text can be read, and scrolls.
    assert page.locator("#everything svg").bounding_box()["width"] == 560
    box = page.locator("#everything .scroll")
    box.press("ArrowRight")
    page.wait_for_function("document.querySelector('.scroll').scrollLeft > 0")


def test_wide_enough_a_page_has_no_bar_to_scroll(opened):
    page = opened()
    boxes = page.locator(".scroll").evaluate_all(
        "all => all.map(n => [n.scrollWidth, n.clientWidth])"
    )
    assert len(boxes) == 2 and all(inner == outer for inner, outer in boxes)


def test_two_figures_share_no_id(opened):
    ids = opened().evaluate("[...document.querySelectorAll('[id]')].map(n => n.id)")
    assert len(ids) > 100 and len(set(ids)) == len(ids)
    assert not [name for name in ids if not re.match("everything|second|live-", name)]


def test_a_figure_that_fails_says_so_and_keeps_its_drawing(browser, live_address):
    page = browser.new_page()
    errors = []
    page.on("console", lambda message: errors.append(message.text))

    def broken(route):
        text = route.fetch().text().replace("export function run", "function run", 1)
        route.fulfill(body=text, content_type="text/html")

    page.route("**/index.html", broken)
    page.goto(f"{live_address}index.html")
    page.wait_for_selector("#second[data-live]")
    assert page.locator("#everything svg").count() == 1
    assert page.locator("#everything .live-panel").count() == 0
    assert page.get_by_text("This figure cannot move in your browser.").is_visible()
    assert len(errors) == 1 and errors[0].startswith("everything")
    page.close()
