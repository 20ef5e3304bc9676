"""What a live figure draws and says of its values, against matplotlib and JAX."""

import base64
import io
import re
from xml.etree import ElementTree

import jax
import numpy as np
import pytest
from live_site import (
    CONTROLS,
    DEFAULTS,
    KEYS,
    QUERIES,
    everything,
    live_everything,
    live_second,
    second,
)
from PIL import Image
from test_live import PHONE, field
from visits import settled

SETTING = DEFAULTS | {"slope": 0.5, "phase": 4.0, "flip": True}
HREF = "{http://www.w3.org/1999/xlink}href"
SVG = "{http://www.w3.org/2000/svg}"


def numbers(text):
    return np.array(re.findall(r"-?\d+\.?\d*", text), float)


def part(svg, name):
    return ElementTree.fromstring(svg).find(f".//*[@id='{name}']")


def marks(node):
    return np.array(
        [[float(m.get("x")), float(m.get("y"))] for m in node.iter(f"{SVG}use")]
    )


def pixels(node):
    image = next(node.iter(f"{SVG}image"))
    data = image.get("href") or image.get(HREF)
    file = io.BytesIO(base64.b64decode(data.split(",")[1]))
    return np.asarray(Image.open(file).convert("RGB"), int)


def moved(opened):
    page = opened()
    field(page, "slope").fill("0.5")
    field(page, "phase").fill("4")
    page.get_by_label("turn it over").check()
    field(page, "scale").fill("1.7")
    settled(page)
    return page


@pytest.fixture
def drawings(opened):
    """(what the page shows, what matplotlib draws) after the controls were moved."""
    page = moved(opened)
    to_text = "n => new XMLSerializer().serializeToString(n)"
    shown = [
        page.locator(f"#{name} svg").first.evaluate(to_text)
        for name in ("everything", "second")
    ]
    own = [live_everything(**SETTING).svg, live_second(1.7).svg]
    return list(zip(shown, own, strict=True))


def test_lines_are_where_matplotlib_draws_them(drawings):
    for which, name in (
        (0, "everything-curve"),
        (0, "everything-mark"),
        (0, "everything-level"),
        (0, "everything-path"),
        (1, "second-growth"),
        (1, "second-right"),
    ):
        shown, own = (
            numbers(part(svg, name).find(f"{SVG}path").get("d"))
            for svg in drawings[which]
        )
        assert len(own) >= 4
        np.testing.assert_allclose(shown, own, atol=0.02, err_msg=name)


def test_markers_are_where_matplotlib_draws_them(drawings):
    for which, name, count in (
        (0, "everything-points", 5),
        (0, "everything-path", 61),
        (1, "second-dots", 61),
    ):
        shown, own = (marks(part(svg, name)) for svg in drawings[which])
        assert len(own) == count
        np.testing.assert_allclose(shown, own, atol=0.02, err_msg=name)


def test_bars_are_as_matplotlib_draws_them(drawings):
    for which, name in ((0, "everything-bar[4]"), (1, "second-lying[1]")):
        shown, own = (part(svg, name).find(f"{SVG}path") for svg in drawings[which])
        left, bottom, right, top = numbers(own.get("d"))[[0, 1, 2, 5]]
        ends = numbers(shown.get("d"))
        for at in (left, bottom, right, top):
            assert np.abs(ends - at).min() < 0.02, name


def test_a_heat_map_has_the_colours_of_matplotlib(drawings):
    for which, name in ((0, "everything-heat"), (1, "second-upward")):
        shown, own = (pixels(part(svg, name)) for svg in drawings[which])
        assert shown.shape == own.shape and np.ptp(own) > 50
        # At the border of two colours of the table either may be taken.
        assert np.abs(shown - own).max() <= 3


def test_a_text_says_what_matplotlib_writes(drawings):
    shown, own = (
        part(svg, "everything-note").find(f".//{SVG}text").text for svg in drawings[0]
    )
    assert shown == own == "slope 0.50"


def test_the_whole_picture_is_that_of_matplotlib(opened):
    page = moved(opened)
    for name, own in (
        ("everything", live_everything(**SETTING).svg),
        ("second", live_second(1.7).svg),
    ):
        svg = page.locator(f"#{name} svg")
        shots = [svg.screenshot()]
        svg.evaluate("(n, svg) => { n.outerHTML = svg; }", own)
        shots.append(svg.screenshot())
        a, b = (
            np.asarray(Image.open(io.BytesIO(s)).convert("RGB"), int) for s in shots
        )
        assert a.shape == b.shape
        strange = (np.abs(a - b).max(axis=-1) > 60).mean()
        # The head of an arrow alone is drawn a little otherwise.
        assert strange < 0.0005, name


def cell(page, row, column):
    """Where on the screen the middle of a cell lies."""
    image = page.locator("#everything-heat image, image#everything-heat").first
    image.scroll_into_view_if_needed()
    box = image.bounding_box()
    return (
        box["x"] + box["width"] * (column + 0.5) / 6,
        box["y"] + box["height"] * (row + 0.5) / 4,
    )


def weight(row, column, **changed):
    settings = DEFAULTS | changed
    arguments = {k: CONTROLS[k].argument(v) for k, v in settings.items()}
    value = float(jax.jit(lambda kw: everything(**kw))(arguments)["heat"][row, column])
    return f"query “{QUERIES[row]}”, key “{KEYS[column]}”: {value:.4g}"


def reading(page, what="cell of “weights”"):
    button = page.get_by_role("button", name=f"Read a {what}")
    return button.locator("xpath=following-sibling::*")


def test_the_pointer_reads_a_cell_and_the_value_follows_the_sliders(opened):
    page = opened()
    for row, column in ((3, 5), (2, 3), (1, 0)):
        page.mouse.move(*cell(page, row, column))
        assert reading(page).inner_text() == weight(row, column)
    field(page, "slope").fill("3")
    settled(page)
    assert reading(page).inner_text() == weight(1, 0, slope=3.0)
    cursor = page.locator("#everything .live-cursor").bounding_box()
    x, y = cell(page, 1, 0)
    assert cursor["x"] + cursor["width"] / 2 == pytest.approx(x, abs=1)
    assert cursor["y"] + cursor["height"] / 2 == pytest.approx(y, abs=1)


def test_a_finger_reads_a_cell_of_the_scrolled_drawing(opened):
    page = opened(**PHONE)
    page.evaluate("document.querySelector('.scroll').scrollLeft = 60")
    page.touchscreen.tap(*cell(page, 2, 4))
    assert reading(page).inner_text() == weight(2, 4)


def test_the_arrow_keys_read_cells_and_stop_at_the_edges(opened):
    page = opened()
    button = page.get_by_role("button", name="Read a cell of “weights”")
    button.press("Enter")
    assert reading(page).inner_text() == weight(0, 0)
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowLeft"):
        button.press(key)
    assert reading(page).inner_text() == weight(2, 0)
    button.press("ArrowUp")
    spoken = page.locator("#everything [aria-live=polite]")
    page.wait_for_function(
        "node => node.textContent.startsWith('query “b”')",
        arg=spoken.element_handle(),
    )
    assert spoken.inner_text() == weight(1, 0)
    button.press("Escape")
    assert page.locator(".live-cursor").count() == 0
    assert "arrow keys" in reading(page).inner_text()


def test_a_map_counted_upwards_is_read_as_it_is_seen(opened):
    page = opened()
    values = np.asarray(second(1.0)["upward"])
    button = page.get_by_role("button", name="Read a cell", exact=True)
    button.press("ArrowUp")
    words = reading(page.locator("#second"), "cell")
    assert words.inner_text() == f"cell 1, cell 0: {values[1, 0]:.4g}"
    box = page.locator("#second .live-cursor").bounding_box()
    button.press("ArrowDown")
    assert page.locator("#second .live-cursor").bounding_box()["y"] > box["y"]
    button.press("ArrowRight")
    assert words.inner_text() == f"cell 0, cell 1: {values[0, 1]:.4g}"


def test_pointer_and_keys_read_points(opened):
    page = opened()
    words = reading(page, "point of “where it is”")
    values = np.cos(np.arange(5.0))
    spot = page.locator("#everything-points use").nth(2).bounding_box()
    page.mouse.move(spot["x"] + spot["width"] / 2 + 6, spot["y"])
    said = f"point 3: step 2, y {values[2]:.4g}".replace("-", "−")
    assert words.inner_text() == said
    page.get_by_role("button", name="Read a point").press("ArrowRight")
    said = f"point 4: step 3, y {values[3]:.4g}".replace("-", "−")
    assert words.inner_text() == said
