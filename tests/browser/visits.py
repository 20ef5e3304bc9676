"""What the tests of the pages ask of an open page."""

from dataclasses import dataclass, field
from pathlib import Path

from book_site import ROOT
from playwright.sync_api import Page

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
# What passes is long to tell.
RUN_AXE = """rules => axe.run(document, {...rules, resultTypes: ['violations']})
  .then(found => found.violations)"""
# Of the words of code that look alike in like places the first stands for all: most
# elements of a chapter are such words, and it is their colours that take axe long.
ONE_OF_A_KIND = """() => {
  const seen = new Set();
  for (const word of document.querySelectorAll('pre span')) {
    if (word.children.length) continue;
    const place = word.closest('.admonition, .cell_input, .cell_output, details');
    const looks = `${word.className} ${word.getAttribute('style')}`;
    const kind = `${looks} in ${place?.className}`;
    if (seen.has(kind)) word.replaceWith(word.textContent);
    seen.add(kind);
  }
}"""
# The words of the article that are neither code nor the source of a set formula.
READ = """() => {
  const walker = document.createTreeWalker(
    document.querySelector('article, main'), NodeFilter.SHOW_TEXT);
  const words = [];
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!parent.closest('code, pre, .katex, script, style, svg')) {
      words.push(walker.currentNode.textContent);
    }
  }
  return words.join(' ');
}"""
# What stands out of the page to the right, save within a box that scrolls.
BEYOND = """() => [...document.querySelectorAll('article *')].filter(element => {
  const box = element.getBoundingClientRect();
  if (box.width === 0 || box.right <= innerWidth + 1) return false;
  for (let up = element.parentElement; up; up = up.parentElement) {
    if (up.tagName === 'ARTICLE') return true;
    const flow = getComputedStyle(up).overflowX;
    if (['auto', 'scroll', 'hidden'].includes(flow)) return false;
  }
}).map(element => element.outerHTML.slice(0, 120))"""
PICTURES = """() => [...document.querySelectorAll('article figure.picture svg')].map(
  svg => {
    const {width, height} = svg.getBoundingClientRect();
    const column = svg.closest('figure').parentElement.clientWidth;
    const alt = (svg.getAttribute('aria-label') || '').trim();
    return {alt, role: svg.getAttribute('role'), width, height, column};
  })"""
COLOURS = """() => [...document.querySelectorAll('article figure.picture svg *')]
  .map(node => getComputedStyle(node)).map(style => style.fill + style.stroke).join()"""


@dataclass
class Visit:
    """A page that stands open, with what the browser asked for and said."""

    name: str
    page: Page
    requests: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def watch(page: Page, visit: Visit) -> None:
    page.on("request", lambda request: visit.requests.append(request.url))
    page.on("requestfailed", lambda request: visit.failures.append(request.url))
    page.on("pageerror", lambda error: visit.complaints.append(str(error)))

    def listen(message):
        if message.type in ("error", "warning"):
            visit.complaints.append(message.text)

    def answered(response):
        if response.status >= 400:
            visit.failures.append(f"{response.status} {response.url}")

    page.on("console", listen)
    page.on("response", answered)


def set_theme(page: Page, theme: str) -> None:
    """Press the theme's own button until the page is in the theme."""
    # The next look must find colours at rest.
    page.add_style_tag(content="*, ::before, ::after { transition: none !important }")
    for _ in range(4):
        if page.locator("html").get_attribute("data-theme") == theme:
            return settled(page)
        page.locator(".theme-switch-button").first.click()
        # The button's tooltip stays as long as the pointer does.
        page.mouse.move(720, 880)
    raise AssertionError(f"the button does not lead to {theme}")


def axe_faults(page: Page, **rules: object) -> list[str]:
    """What axe-core finds wrong with an open page, by these of its rules or by all."""
    if "axe" not in page.evaluate("Object.keys(window)"):
        page.evaluate(AXE.read_text("utf8"))
    page.evaluate(ONE_OF_A_KIND)
    return [
        f"{fault['id']} {fault['nodes'][0]['html'][:200]} "
        f"{fault['nodes'][0]['failureSummary'][:300]}"
        for fault in page.evaluate(RUN_AXE, rules)
    ]


def source(name: str) -> str:
    path = ROOT / Path(name).with_suffix(".md")
    return path.read_text("utf8") if path.exists() else ""


def settled(page: Page) -> None:
    """Wait until what was asked for has been drawn."""
    page.evaluate("new Promise(r => requestAnimationFrame(() => setTimeout(r)))")
