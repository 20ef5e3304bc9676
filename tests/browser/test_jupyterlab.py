"""A live figure and a panel in JupyterLab: the page moves first, the kernel follows."""

import json
import sys

import pytest
from notebook_tests import CONTRAST, LiveFigure
from notebooks import Home, browsed, served, write_notebook
from playwright.sync_api import expect

SETTINGS = {
    # No question about news, and no cell taken out of the page while out of sight.
    "labconfig/page_config.json": {
        "disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}
    },
    "lab/user-settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings": {
        "windowingMode": "none"
    },
}
SERVER = [
    *(sys.executable, "-m", "jupyterlab", "--allow-root", "--no-browser"),
    *("--ip=127.0.0.1", "--expose-app-in-browser"),
]
# The page shows its cells, and calls them idle, before there is a kernel.
READY = """() => {
  const session = window.jupyterapp?.shell.currentWidget?.sessionContext?.session;
  return session?.kernel?.status === 'idle' && !document.querySelector('.jp-Spinner');
}"""


class Lab(Home):
    cells, chosen = ".jp-CodeCell", ".jp-Cell.jp-mod-active"
    editor, focused = ".cm-content", ".cm-focused"
    prompt, printed = ".jp-InputPrompt", ".jp-OutputArea-output pre"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    write_notebook(folder)
    for name, settings in SETTINGS.items():
        file = folder / "CONFIG" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    with served(folder, *SERVER) as (url, token), browsed() as (page, complaints):
        page.goto(f"{url}lab/tree/live.ipynb?token={token}")
        page.wait_for_function(READY)
        home = Lab(page, complaints, folder)
        home.run("import")
        home.run("figure")
        home.figure.wait_for()
        yield home


class TestLiveFigure(LiveFigure):
    """In JupyterLab."""

    def test_it_is_read_in_the_dark_theme(self, home):
        home.run("panel")
        home.figure.get_by_role("spinbutton").fill("9")  # beyond its range
        expect(home.figure.get_by_role("alert")).to_have_text("A number from 0 to 4.")
        colours = []
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            wish = f"'apputils:change-theme', {{theme: '{theme}'}}"
            home.page.evaluate(f"jupyterapp.commands.execute({wish})")
            ready = f"body[data-jp-theme-name='{theme}']"
            home.page.wait_for_selector(ready, state="attached")
            home.page.wait_for_load_state("networkidle")
            for place in (home.figure, home.cell("panel").locator(".widget-vbox")):
                seen = place.evaluate(CONTRAST)
                assert seen["count"] > 10 and seen["least"][0] >= 4.5, seen["least"]
            axis = home.figure.locator("text").first
            colours.append(axis.evaluate("node => getComputedStyle(node).fill"))
        assert len(set(colours)) == 2

    def test_the_console_stays_empty(self, home):
        assert not home.complaints
