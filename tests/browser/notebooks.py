"""A notebook with a kernel in a real browser: its server, its window, its cells."""

import json
import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable
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
# The heights of a figure's curve above the bottom of its drawing, from the left.
CURVE = """root => {
  const path = root.querySelector('[id$="-y"] path').getAttribute('d');
  const heights = path.match(/[\\d.]+/g).map(Number).filter((_, k) => k % 2);
  return heights.map(y => heights[0] - y);
}"""
# Until two frames have been painted.
FRAMES = """() => new Promise(
  done => requestAnimationFrame(() => requestAnimationFrame(done)))"""


def write_notebook(folder: Path) -> None:
    """Write the cells as a notebook that no server has to upgrade or ask about."""
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(text.strip()) for text in CELLS.values()],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(book, folder / "live.ipynb")


@contextmanager
def served(folder: Path, *command: str):
    """Yields the address and token of a notebook server that keeps to this folder."""
    homes = {
        f"JUPYTER_{name}_DIR": str(folder / name)
        for name in ("CONFIG", "DATA", "RUNTIME")
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


class Home:
    """An open notebook, its cells by their names in `CELLS`."""

    # Where each stands: a cell, then in a cell its editor, the same with the keys in
    # it, the number of its run, and what it printed. Then the cell that is chosen.
    cells = editor = focused = prompt = printed = chosen = ""

    def __init__(self, page: Page, complaints: list[str], folder: Path):
        self.page, self.complaints, self.folder = page, complaints, folder

    def cell(self, name: str) -> Locator:
        return self.page.locator(self.cells).nth(list(CELLS).index(name))

    def start(self, name: str) -> None:
        """Press Shift+Enter in a cell, and see that it has begun."""
        prompt = self.cell(name).locator(self.prompt)
        before = prompt.inner_text()
        self.cell(name).locator(self.editor).click()
        self.cell(name).locator(self.focused).wait_for()
        self.page.keyboard.press("Shift+Enter")
        expect(prompt).not_to_have_text(before)

    def finish(self, name: str) -> str:
        """Wait until a cell has run; what it printed."""
        prompt = self.cell(name).locator(self.prompt)
        expect(prompt).to_have_text(re.compile(r"\[\d+\]"))
        return " ".join(self.cell(name).locator(self.printed).all_inner_texts())

    def run(self, name: str) -> str:
        self.start(name)
        return self.finish(name)

    @property
    def figure(self) -> Locator:
        return self.cell("figure").locator(".live-body")

    @property
    def slider(self) -> Locator:
        return self.figure.locator("input[type=range]")

    def curve(self) -> list[float]:
        """The heights of the curve as drawn once the page has come to rest."""
        self.page.evaluate(FRAMES)
        return self.figure.evaluate(CURVE)

    def reset(self) -> float:
        """The height of the curve's end at a slope of one, with the slider there."""
        self.figure.get_by_role("button", name="Reset").click()
        assert self.slider.input_value() == "1"
        return self.curve()[-1]

    def until(self, condition: Callable[[], bool], seconds: float = 60) -> None:
        """Wait for what only the kernel or many elements together can tell."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "this has not come true"
            self.page.wait_for_timeout(50)

    def until_the_kernel_has(self, slope: float) -> None:
        self.until(lambda: self.run("values").strip() == f"{{'slope': {slope}}}")
