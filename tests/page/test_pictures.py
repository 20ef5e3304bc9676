"""A picture is an SVG that belongs to its page: its theme, its ids, its words."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import jaxtyping
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from blocks.page import FOREGROUND, MUTED, picture, style

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def styled():
    with matplotlib.rc_context():
        matplotlib.use("agg")
        matplotlib.rcParams.update(style.RC)
        yield
        plt.close("all")


def drawing():
    """A bit of everything: lines, markers, a hatch, a heat map, formulas, alpha."""
    fig, (left, right) = plt.subplots(1, 2)
    for i in range(6):
        left.plot([0, 1], [i, i + 1], color=f"C{i}", marker="o", label=f"line {i}")
    left.fill_between([0, 1], [0, 1], alpha=0.3)
    left.bar([0.5], [1], hatch="//", color=MUTED)
    left.annotate("a < b & c", (0, 1), color=FOREGROUND)
    left.set_xlabel(r"angle $\theta_i = \mathrm{base}^{-2i/h}$")
    left.legend()
    image = right.imshow(np.arange(9.0).reshape(3, 3))
    right.text(1, 1, "4", color="white")
    fig.colorbar(image)
    return fig


def svg_of(shown):
    return ElementTree.fromstring(shown.html).find(f".//{SVG}svg")


def ids(shown):
    return re.findall(r'\bid="([^"]*)"', shown.html)


def test_the_output_is_a_figure_of_well_formed_svg_that_names_itself():
    shown = picture(drawing(), alt='rises "fast" & <far>', caption="a < b")
    figure = ElementTree.fromstring(shown._repr_html_())
    (svg,), caption = figure
    assert figure.get("class") == "picture"
    assert svg.tag == f"{SVG}svg" and svg.get("role") == "img"
    assert svg.get("aria-label") == 'rises "fast" & <far>'
    assert caption.tag == "figcaption" and caption.text == "a < b"


def test_a_picture_without_caption_has_no_empty_caption():
    assert "figcaption" not in picture(drawing(), alt="x").html


def test_a_host_without_html_reads_the_alt_text():
    bundle = picture(drawing(), alt="the line rises")._repr_mimebundle_()
    assert bundle["text/plain"] == "the line rises"
    assert bundle["text/html"].startswith("<figure")


@pytest.mark.parametrize("alt", ["", "  \n", "\x00\x1b", None, 7])
def test_an_empty_alt_is_refused_with_what_it_is_for(alt, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    text = "alt must say what the figure shows, for readers who do not see it; got alt="
    with pytest.raises(ValueError, match=f"^{text}{re.escape(repr(alt))}$"):
        picture(drawing(), alt=alt)


def test_control_characters_do_not_break_the_svg():
    shown = picture(plt.figure(), alt="a\x00b\x1b\ud800c", caption="d\x08e\nf\uffff")
    (scroll, caption) = ElementTree.fromstring(shown.html)
    assert scroll[0].get("aria-label") == "a b  c" and caption.text == "d e\nf "
    assert shown.html.encode("utf-8")


def test_the_figure_is_closed():
    fig = drawing()
    picture(fig, alt="x")
    assert not plt.fignum_exists(fig.number)


def test_two_pictures_of_one_drawing_share_no_id_and_refer_to_their_own():
    one, two = (picture(drawing(), alt="x") for _ in range(2))
    for shown in (one, two):
        assert len(ids(shown)) == len(set(ids(shown)))
        used = re.findall(r'url\(#([^)]*)\)|href="#([^"]*)"', shown.html)
        targets = {a or b for a, b in used}
        assert len(targets) > 3 and targets <= set(ids(shown))
    assert not set(ids(one)) & set(ids(two))


def test_an_id_of_an_artist_stays_readable():
    fig, ax = plt.subplots()
    ax.plot([0, 1], gid="loss")
    assert re.search(r'id="picture-\d+-loss"', picture(fig, alt="x").html)


def test_every_colour_of_the_style_is_a_variable_and_others_stay():
    html = picture(drawing(), alt="x").html
    drawn = html[html.index("</style>") :]
    for colour, variable in style.VARIABLES.items():
        assert variable in drawn
        assert colour not in drawn.replace(variable, "")
    assert "fill: #ffffff" in drawn  # the number on the heat map


def test_a_label_that_spells_a_colour_is_left_alone():
    fig, ax = plt.subplots()
    ax.set_title(f"url(#x) is {style.PALETTE[0]}")
    assert f">url(#x) is {style.PALETTE[0]}<" in picture(fig, alt="x").html


def test_no_rule_of_a_picture_reaches_the_page_around_it():
    rules = re.findall(r"<style[^>]*>(.*?)</style>", picture(drawing(), alt="x").html)
    selectors = [s for rule in rules for s in rule.split("{")[0].split(",")]
    assert selectors and all(s.endswith(" .picture") for s in selectors)


def test_a_picture_fills_the_column_up_to_its_natural_width():
    svg = svg_of(picture(plt.figure(figsize=(5, 2)), alt="x"))
    assert svg.get("viewBox") == "0 0 360 144"
    assert "width:100%;max-width:480px;height:auto" in svg.get("style")
    assert svg.get("width") is None and svg.get("height") is None


def test_text_stays_text_at_a_readable_size():
    svg = svg_of(picture(drawing(), alt="x"))
    texts = [t for t in svg.iter(f"{SVG}text") if t.text and t.text.strip()]
    assert "line 3" in {t.text for t in texts}
    for text in texts:
        points = float(re.search(r"([\d.]+)px", text.get("style"))[1])
        assert points * 96 / 72 >= 11
        assert "Verdana" in text.get("style")
    assert "θ" in {t.text for t in svg.iter(f"{SVG}tspan")}


def test_no_grid_is_drawn_over_a_heat_map():
    fig, (lines, cells) = plt.subplots(1, 2)
    cells.imshow(np.eye(3))
    picture(fig, alt="x")
    shown = [ax.xaxis.get_gridlines()[0].get_visible() for ax in (lines, cells)]
    assert shown == [True, False]


def test_a_picture_asks_nothing_of_another_host():
    html = picture(drawing(), alt="x").html
    addresses = set(re.findall(r'(?<!xmlns=")(?<!xlink=")https?://[^"]*', html))
    assert not addresses


def test_the_same_chapter_draws_the_same_bytes_in_every_process():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import matplotlib; matplotlib.use('agg')\n"
        "from test_pictures import *\n"
        "matplotlib.rcParams.update(style.RC)\n"
        "[sys.stdout.write(picture(drawing(), alt='x').html) for _ in range(2)]"
    )
    here = os.path.dirname(__file__)
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code, here],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1] and outputs[0].count(b"<figure") == 2


PAGE = """<!doctype html><html lang="en"><title>p</title><style>
body {{ font: 16px sans-serif; width: 720px }}
html[data-theme=light] {{ {light} }} html[data-theme=dark] {{ {dark} }}
body {{ background: var(--blocks-bg); color: var(--blocks-fg) }}
</style><body>{body}</body></html>"""


def test_the_theme_of_the_page_colours_the_picture_in_a_browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    themes = {
        name: ";".join(f"--blocks-{k}:{v}" for k, v in colours.items())
        for name, colours in (("light", style.LIGHT), ("dark", style.DARK))
    }
    fig, ax = plt.subplots(figsize=(6, 3))
    ax.plot([0, 1], gid="line")
    html = PAGE.format(body=picture(fig, alt="one line rises").html, **themes)
    read = "e => { const s = getComputedStyle(e); return [s.stroke, s.fill] }"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.set_content(html)
        for name, colours in (("light", style.LIGHT), ("dark", style.DARK)):
            page.evaluate(f"document.documentElement.dataset.theme = '{name}'")
            line = page.locator("[id$=-line] path").evaluate(read)[0]
            paper = page.locator("[id$=patch_1] path").first.evaluate(read)[1]
            label = page.locator("svg text").first.evaluate(read)[1]
            expected = [colours["c0"], colours["bg"], colours["fg"]]
            assert [line, paper, label] == [rgb(colour) for colour in expected]
        assert page.get_by_role("img", name="one line rises").count() == 1
        box = page.locator("svg").bounding_box()
        assert (box["width"], box["height"]) == (576, 288)
        browser.close()


def rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[i : i + 2], 16) for i in (1, 3, 5)))
