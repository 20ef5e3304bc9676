"""What the built book weighs, and how a reader gets about in it."""

import html
import re
from importlib.metadata import version
from urllib.parse import unquote, urlsplit

import book_address
import pytest
from book_site import HTML, PAGES, ROOT
from fontTools.ttLib import TTFont
from visits import axe_faults, settled

import blocks
import blocks.live
import blocks.page
from scripts.bench_live import kilobytes

CHAPTERS = [p for p in PAGES if p.startswith("book/") and p != "book/intro.html"]
FIRST, LATER = 500, 150
FOCUSED = """() => {
  const at = document.activeElement, style = getComputedStyle(at);
  return at === document.body || style.boxShadow !== 'none'
    || (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0);
}"""
# Words of a drawing that lie upon each other by more than a pixel's blur.
OVERLAPS = """() => [...document.querySelectorAll('.picture svg')].flatMap(svg => {
  const words = [...svg.querySelectorAll('text')].filter(n => n.textContent.trim());
  const boxes = words.map(n => n.getBoundingClientRect());
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  return boxes.flatMap((a, i) => boxes.slice(i + 1).flatMap((b, j) =>
    meet(a, b) ? [words[i].textContent + ' | ' + words[i + 1 + j].textContent] : []));
})"""


def asked_for(browser, address, name):
    """The files that a page asks for on a first visit."""
    context = browser.new_context()
    page, files = context.new_page(), set()
    page.on("request", lambda r: files.add(re.sub("[?#].*", "", r.url)))
    page.goto(address + name)
    page.wait_for_load_state("networkidle")
    context.close()
    return {
        HTML / url.removeprefix(address) for url in files if url.startswith(address)
    }


def weight(files):
    """Their kilobytes as a static host sends them."""
    fonts = sum(f.stat().st_size for f in files if f.suffix in (".woff", ".woff2"))
    rest = (f for f in files if f.suffix not in (".woff", ".woff2"))
    return fonts / 1000 + sum(kilobytes(f.read_bytes()) for f in rest)


@pytest.fixture(scope="module")
def read_before(browser, address):
    """What stays in the browser of who has read the first two pages."""
    names = {"book/intro.html", "book/notation.html"} & set(PAGES)
    return set().union(*(asked_for(browser, address, name) for name in names))


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_first_and_a_later_visit_stay_small(browser, address, read_before, name):
    files = asked_for(browser, address, name)
    assert weight(files) <= FIRST
    assert weight(files - read_before | {HTML / name}) <= LATER


@pytest.mark.parametrize("name", PAGES)
def test_no_words_of_a_figure_lie_upon_each_other(browser, address, name):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address + name)
    settled(page)
    assert not page.evaluate(OVERLAPS)
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_every_link_within_the_book_leads_somewhere(name):
    page = (HTML / name).read_text("utf8")
    for link in re.findall(r'<a\b[^>]*?\bhref="([^"]*)"', page):
        parts = urlsplit(html.unescape(link))
        if parts.scheme or parts.netloc:
            continue
        target = (
            (HTML / name).parent / unquote(parts.path) if parts.path else HTML / name
        )
        assert target.is_file(), link
        if parts.fragment and target.suffix == ".html":
            wanted = f'id="{html.escape(unquote(parts.fragment))}"'
            assert wanted in target.read_text("utf8"), link


def test_whoever_comes_by_keyboard_sees_where(browser, address):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address + "book/intro.html")
    page.keyboard.press("Tab")
    assert "skip" in page.evaluate("document.activeElement.textContent").lower()
    for _ in range(40):
        page.keyboard.press("Tab")
        page.wait_for_timeout(20)
        where = page.evaluate("document.activeElement.outerHTML")
        assert page.evaluate(FOCUSED), where[:200]
    page.close()


def test_the_first_figure_stands_above_the_fold_and_is_live(browser, address):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address + "book/intro.html")
    page.wait_for_selector(".live-figure[data-live]")
    slider = page.locator(".live-figure input[type=range]").first.bounding_box()
    assert slider["y"] + slider["height"] < 900
    page.close()


def test_a_word_is_found_and_the_way_on_and_back(browser, address):
    page = browser.new_page()
    page.goto(address + "search.html?q=wavelength")
    page.wait_for_selector("ul.search li a[href*='rotary']")
    page.goto(address + "book/rotary.html")
    page.locator("a.right-next").click()
    page.wait_for_url("**/attention.html*")
    page.locator("a.left-prev").click()
    page.wait_for_url("**/rotary.html*")
    page.close()


def test_copying_code_takes_the_code_alone(browser, address):
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(address + "book/norms.html")
    cell = page.locator("div.cell_input div.highlight").first
    cell.hover()
    cell.locator("button.copybtn").click()
    page.wait_for_timeout(200)
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == cell.locator("pre").inner_text().strip()
    context.close()


def test_a_lost_reader_finds_back_from_any_depth(browser, address):
    page = browser.new_page()
    body = (HTML / "404.html").read_text("utf8")
    host = address.removesuffix("/some/book/")
    root = host + (urlsplit(book_address.find(ROOT).site).path or "/")

    def answer(route):
        """The book where it is published on a host that has this page for the lost."""
        file = HTML / route.request.url.removeprefix(root).split("?")[0]
        if file.is_file():
            route.fulfill(path=file)
        else:
            route.fulfill(status=404, body=body, content_type="text/html")

    page.route("**/*", answer)
    page.goto(root + "some/lost/page.html")
    assert page.locator("h1", has_text="no such page").is_visible()
    assert not axe_faults(page)
    page.locator("article a, main a", has_text="front page").first.click()
    page.wait_for_url("**/book/intro.html")
    page.close()


def test_every_icon_of_a_page_is_in_its_small_font():
    css = (HTML / "_static/styles/pydata-sphinx-theme.css").read_text("utf8")
    fonts = [*(HTML / "_static/vendor/fontawesome/webfonts").iterdir()]
    drawn = set().union(*(TTFont(font).getBestCmap() or {} for font in fonts))
    pages = "".join(page.read_text("utf8") for page in HTML.rglob("*.html"))
    named = set(re.findall(r"fa-[a-z-]+", pages))
    rules = re.findall(r'\.(fa-[a-z-]+):+before\{content:"\\([0-9a-f]+)"', css)
    asked = {int(point, 16) for name, point in rules if name in named}
    assert len(asked) > 5 and asked <= drawn
    assert sum(font.stat().st_size for font in fonts) < 20_000


def test_every_public_name_has_its_head_and_no_body_on_one_page():
    page = (HTML / "book/api.html").read_text("utf8")
    for module in (blocks, blocks.live, blocks.page):
        for name in module.__all__:
            if callable(getattr(module, name)):
                assert page.count(f'id="{module.__name__}.{name}"') == 1, name
    words = html.unescape(re.sub("<[^>]*>", "", page))
    assert "def rms_norm(" in words and "@classmethod\n    def init(" in words
    assert "jnp.sqrt(" not in words and "lax.rsqrt(" not in words


def test_versions_and_times_are_those_of_this_build():
    page = (HTML / "book/versions.html").read_text("utf8")
    rows = re.findall("<tr[^>]*>(.*?)</tr>", page, re.S)
    told = [re.findall(r"<p>(.*?)</p>", row) for row in rows]
    assert ["jax", version("jax")] in told and ["numpy", version("numpy")] in told
    for line in (HTML / "times.txt").read_text("utf8").splitlines()[1:-1]:
        assert line.split()[:3] in told
