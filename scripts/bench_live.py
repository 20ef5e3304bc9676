"""Times and weighs the live figures of the built book: `make bench-live`.

Each slider is dragged in Chromium, over and over, with the processor as it is and six
times slower by turns, so that whatever else keeps it busy slows both. Counted is the
time from the first input event to the redrawn DOM. Writes results/bench_live.json.
"""

import datetime
import gzip
import json
import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts"), str(ROOT / "tests" / "browser")]

from bench import processor
from book_site import CHROMIUM, FLAGS, HTML, PAGES, served
from playwright.sync_api import Page, sync_playwright

ROUNDS, MOVES = 2, 10
SLOWER = 6
LIMITS = {
    "p95_ms": 8,
    "p95_slow_ms": 50,
    "figure_kb": 40,
    "page_kb": 120,
    "module_kb": 10,
}
FIGURE = re.compile(r'<div class="live-figure" id="([^"]*)">.*?</script></div>', re.S)
CLOCK = """
window.times = [];
let asked = 0;
addEventListener("input", () => { asked ||= performance.now(); }, true);
addEventListener("drawn", () => {
  if (asked) times.push(performance.now() - asked);
  asked = 0;
});
"""


def kilobytes(text: str | bytes) -> float:
    """Its size as a static host sends it."""
    data = text.encode() if isinstance(text, str) else text
    return round(len(gzip.compress(data, 9)) / 1000, 1)


def figures(page: str, folder: Path = HTML) -> dict[str, str]:
    """The HTML of each live figure of a page, by name."""
    text = (folder / page).read_text("utf8")
    return {match[1]: match[0] for match in FIGURE.finditer(text)}


def drag(page: Page, name: str) -> list[float]:
    """Drag every slider of a figure to and fro, and go through every choice;
    milliseconds from input to drawing.
    """
    page.evaluate("times.length = 0")
    for slider in page.locator(f'[id="{name}"] input[type=range]').all():
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        if box is None:
            raise ValueError(f"a slider of {name} is not to be seen")
        share = slider.evaluate("n => (n.value - n.min) / (n.max - n.min)")
        height = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + 8 + (box["width"] - 16) * share, height)
        page.mouse.down()
        for k in range(MOVES):
            place = 0.5 + 0.45 * np.sin(2 * np.pi * k / MOVES)
            page.mouse.move(box["x"] + box["width"] * place, height)
        page.mouse.up()
    for choice in page.locator(f'[id="{name}"] select').all():
        for option in choice.locator("option").all_text_contents():
            choice.select_option(option)
    page.evaluate("new Promise(r => requestAnimationFrame(() => setTimeout(r)))")
    return page.evaluate("times")


def timed(page: Page, names: list[str]) -> Iterator[dict[str, Any]]:
    """The p95 of each figure of the open page, at both speeds by turns."""
    speed = page.context.new_cdp_session(page)
    for name in names:
        page.wait_for_selector(f'[id="{name}"][data-live]')
        times: dict[int, list[float]] = {1: [], SLOWER: []}
        drag(page, name)  # compiled by now
        for _ in range(ROUNDS):
            for rate in times:
                speed.send("Emulation.setCPUThrottlingRate", {"rate": rate})
                times[rate] += drag(page, name)
        speed.send("Emulation.setCPUThrottlingRate", {"rate": 1})
        full, slow = (round(float(np.percentile(t, 95)), 1) for t in times.values())
        yield {"p95_ms": full, "p95_slow_ms": slow, "drawings": len(times[1])}


def measure() -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """A row for each figure, a row for each page, and the browser's version."""
    rows, pages = [], []
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name in PAGES:
            found = figures(name)
            if not found:
                continue
            pages.append({"page": name, "page_kb": kilobytes("".join(found.values()))})
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.add_init_script(CLOCK)
            page.goto(address + name)
            for figure, times in zip(found, timed(page, list(found)), strict=True):
                size = {"figure_kb": kilobytes(found[figure])}
                rows.append({"page": name, "figure": figure} | times | size)
            page.close()
        return rows, pages, browser.version


def mark(row: dict[str, Any], name: str) -> str:
    """A number of a row, with a star where it is over its limit."""
    return f"{row[name]:.1f}{'*' if row[name] > LIMITS[name] else ' '}"


def table(rows: list, pages: list, module_kb: float) -> str:
    limits = "p95 {p95_ms} ms, slowed {p95_slow_ms} ms, {figure_kb} KB".format(**LIMITS)
    lines = [f"limits of a figure: {limits}; a star marks what is over"]
    lines.append(f"{'figure':44} {'p95':>8} {'slowed':>8} {'KB gzip':>8}")
    for row in rows:
        numbers = [mark(row, key) for key in ("p95_ms", "p95_slow_ms", "figure_kb")]
        what = f"{row['page'].removesuffix('.html')} {row['figure']}"
        lines.append(f"{what:44} " + " ".join(f"{text:>8}" for text in numbers))
    lines.append(f"\nthe figures of a page together: {LIMITS['page_kb']} KB")
    lines += [f"{row['page']:44} {mark(row, 'page_kb'):>8}" for row in pages]
    module = mark({"module_kb": module_kb}, "module_kb")
    lines.append(f"\nthe module: {module}KB of {LIMITS['module_kb']} KB")
    return "\n".join(lines)


def main() -> None:
    rows, pages, browser = measure()
    if not rows:
        sys.exit("no live figure in _build/html: run `make build`")
    module_kb = kilobytes((ROOT / "blocks" / "live" / "live.mjs").read_bytes())
    print(table(rows, pages, module_kb))
    stored = {
        "command": "make bench-live",
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "versions": {
            "Python": platform.python_version(),
            "Chromium": browser,
            **{name: version(name) for name in ("jax", "matplotlib")},
        },
        "limits": LIMITS,
        "slowed": SLOWER,
        "module_kb": module_kb,
        "pages": pages,
        "rows": rows,
    }
    file = ROOT / "results" / "bench_live.json"
    file.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(f"written: {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
