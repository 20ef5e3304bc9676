"""Pointer, finger and arrow keys read the values of a live figure."""

import jax
import numpy as np
import pytest
from live_reader import PHONE, field
from live_site import CONTROLS, DEFAULTS, KEYS, QUERIES, everything, second
from visits import settled


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
    assert words.inner_text() == f"cell 2, cell 1: {values[1, 0]:.4g}"
    box = page.locator("#second .live-cursor").bounding_box()
    button.press("ArrowDown")
    assert page.locator("#second .live-cursor").bounding_box()["y"] > box["y"]
    button.press("ArrowRight")
    assert words.inner_text() == f"cell 1, cell 2: {values[0, 1]:.4g}"


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
    # A point by itself is told in the sentence below the figure.
    assert (
        page.locator("#second").get_by_role("button", name="Read a point").count() == 0
    )
