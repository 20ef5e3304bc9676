"""What a live figure draws is what matplotlib draws with the same values."""

import base64
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from live_reader import field
from live_site import DEFAULTS, live_everything, live_second
from PIL import Image
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
