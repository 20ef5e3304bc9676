"""Stored pictures of a few places, which a change of look must be seen to change.

Pictures are made small and compared by what the eye would see, since fonts and edges
differ a little between machines. RENEW=1 writes them anew: look at them, then commit.
"""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from visits import set_theme

REFERENCE = Path(__file__).with_name("reference")
SMALLER = 4
# Of 255: the mean difference, and the largest over blocks of eight by eight pixels.
MEAN, BLOCK = 2.0, 24.0
PLACES = {
    "front-light": ("book/intro.html", "", "light"),
    "front-dark": ("book/intro.html", "", "dark"),
    "chapter": ("book/norms.html", "", "light"),
    "norms": ("book/norms.html", "#two-norms", "light"),
    "pattern": ("book/attention.html", "#pattern", "light"),
    "race-dark": ("book/optim.html", "#race", "dark"),
}


def difference(seen, stored):
    """The mean difference of two pictures, and that of the block that differs most."""
    if seen.shape != stored.shape:
        return np.inf, np.inf
    apart = np.abs(seen.astype(float) - stored).mean(axis=-1)
    rows, columns = (n // 8 * 8 for n in apart.shape)
    blocks = apart[:rows, :columns].reshape(rows // 8, 8, columns // 8, 8)
    return apart.mean(), blocks.mean(axis=(1, 3)).max()


@pytest.mark.parametrize("name", PLACES)
def test_a_place_looks_as_it_did(browser, address, name):
    page_name, part, theme = PLACES[name]
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address + page_name)
    page.wait_for_selector(".live-figure[data-live]")
    # The links depend on where the book is built.
    page.add_style_tag(content=".page-links { display: none !important }")
    set_theme(page, theme)
    shot = page.locator(part).screenshot() if part else page.screenshot()
    page.close()
    whole = Image.open(io.BytesIO(shot)).convert("RGB")
    small = whole.resize([n // SMALLER for n in whole.size], Image.Resampling.BOX)
    file = REFERENCE / f"{name}.png"
    if os.environ.get("RENEW"):
        file.parent.mkdir(exist_ok=True)
        small.save(file, optimize=True)
    mean, block = difference(np.asarray(small), np.asarray(Image.open(file)))
    assert mean <= MEAN and block <= BLOCK, f"{name}: {mean:.1f} and {block:.1f}"


def test_a_moved_line_is_seen():
    picture = np.full((90, 120, 3), 255, np.uint8)
    moved = picture.copy()
    picture[40:42], moved[48:50] = 0, 0
    assert difference(picture, picture) == (0, 0)
    assert difference(picture, moved)[1] > BLOCK
