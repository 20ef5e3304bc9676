"""A notebook with a kernel in a real browser: what both notebook tests share."""

import json
import os
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import nbformat
from book_site import CHROMIUM, FLAGS, ROOT
from playwright.sync_api import Locator, Page, expect, sync_playwright

# A cell waits for this file, so that the kernel stays busy as long as a test needs.
GO = "go"
CELLS = {
    "import": """
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from blocks.live import Slider, experiment, live
from blocks.page import setup

setup()
x = np.linspace(0, 1, 11)""",
    "figure": """
def curve(slope): return {"y": slope * x**1}
fig, ax = plt.subplots()
ax.plot(x, 0 * x, gid="y")
ax.set(xlim=(0, 1), ylim=(0, 4))
figure = live(curve, fig, alt="a curve", summary="The slope is {slope:.3g}.",
              slope=Slider(0.0, 4.0, 1.0, label="slope", unit="m"))
figure""",
    "values": "print(figure.values)",
    "set": 'figure.values = {"slope": 3.0}',
    "busy": f"""
while not Path("{GO}").exists():
    time.sleep(0.02)
print(figure.values)""",
    "panel": """
runs = []

def train(report, rate):
    runs.append(rate)
    for step in range(1, 6):
        time.sleep(0.05)
        report(step, rate / step)
    return {"losses": rate * x[::-1]}

fig, ax = plt.subplots()
ax.plot(x, x, gid="losses")
panel = experiment(train, fig, result={"losses": 0.5 * x[::-1]}, steps=5,
                   alt="losses", summary="The rate is {rate:.2f}.",
                   rate=Slider(0.0, 1.0, 0.5, label="rate"))
panel""",
    "runs": "print(runs, panel.values)",
}
# A figure's curve as numbers, right-most point last.
CURVE = """root => root.querySelector('[id$="-y"] path, [id$="-losses"] path')
  .getAttribute('d').match(/[\\d.]+/g).map(Number)"""
# The least contrast of the words in an element with what is painted behind them.
CONTRAST = """root => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => numbers(colour).slice(0, 3).reduce((sum, c, k) => {
    c /= 255;
    const linear = c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return sum + [0.2126, 0.7152, 0.0722][k] * linear;
  }, 0);
  const behind = node => {
    for (let up = node; up; up = up.parentElement) {
      const colour = getComputedStyle(up).backgroundColor;
      if ((numbers(colour)[3] ?? 1) > 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const words = [...root.querySelectorAll('label, input, button, select, p, text')]
    .filter(node => node.value || node.textContent.trim());
  const found = words.map(node => {
    const style = getComputedStyle(node), text = node.matches('text');
    const [a, b] = [light(text ? style.fill : style.color), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    return [ratio, node.outerHTML.slice(0, 80)];
  });
  return {count: found.length, least: found.sort((a, b) => a[0] - b[0])[0]};
}"""


def write_notebook(folder: Path) -> None:
    """Write the cells as a notebook that no server has to upgrade or ask about."""
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(text.strip()) for text in CELLS.values()],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(book, folder / "live.ipynb")


@contextmanager
def served(folder: Path, *command: str):
    """Yields the address and token of a notebook server that knows this folder alone."""
    homes = {
        f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "RUNTIME")
    }
    environment = os.environ | homes
    environment |= {
        "IPYTHONDIR": str(folder / "IPYTHON"),
        "PYTHONPATH": str(ROOT),
        "JAX_PLATFORMS": "cpu",
    }
    log = (folder / "server.log").open("w")
    server = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT
    )
    try:
        yield _address(folder, server)
    finally:
        server.terminate()
        server.wait(timeout=60)
        log.close()


def _address(folder: Path, server: subprocess.Popen, seconds: float = 120):
    """What the server wrote down about itself, once it answers."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert server.poll() is None, (folder / "server.log").read_text()
        for file in (folder / "RUNTIME").glob("*server-*.json"):
            told = json.loads(file.read_text() or "{}")
            if told and _answers(f"{told['url']}api?token={told['token']}"):
                return told["url"], told["token"]
        time.sleep(0.1)
    raise AssertionError((folder / "server.log").read_text())


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status == 200
    except OSError:
        return False


@contextmanager
def browsed():
    """Yields a page of a browser window, and the list of what its console complains of.

    The window is as high as the whole notebook, so that no cell is out of sight.
    """
    assert CHROMIUM.exists(), "Chromium is missing: apt-get install chromium"
    with sync_playwright() as playwright:
        with playwright.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS
        ) as browser:
            page = browser.new_page(viewport={"width": 1200, "height": 2600})
            page.set_default_timeout(120_000)
            expect.set_options(timeout=60_000)
            complaints: list[str] = []
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda said: _listen(said, complaints))
            yield page, complaints


def _listen(said, complaints: list[str]) -> None:
    if said.type == "error":
        complaints.append(f"{said.text} {said.location}")


def drag(page: Page, slider: Locator, start: float, end: float) -> None:
    """Move the handle of a slider from one part of its length to another."""
    box = slider.bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + start * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], y, steps=10)
    page.mouse.up()
