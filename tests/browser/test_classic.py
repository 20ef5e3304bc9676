"""A live figure and a panel in the classic notebook with the versions of Colab."""

import pytest
from book_site import ROOT
from notebook_tests import LiveFigure
from notebooks import Home, browsed, served, write_notebook

PYTHON = ROOT / ".venv-colab" / "bin" / "python"
SERVER = [PYTHON, "-m", "notebook", "--allow-root", "--no-browser", "--ip=127.0.0.1"]
READY = "window.Jupyter?.notebook?.kernel?.info_reply.status === 'ok'"


class Classic(Home):
    cells, chosen = ".code_cell", ".cell.selected"
    editor, focused = ".CodeMirror-lines", ".CodeMirror-focused"
    prompt, printed = ".input_prompt", ".output_area pre"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    assert PYTHON.exists(), "the versions of Colab: scripts/environment.py colab"
    folder = tmp_path_factory.mktemp("classic")
    write_notebook(folder)
    with served(folder, *SERVER) as (url, token), browsed() as (page, complaints):
        page.goto(f"{url}notebooks/live.ipynb?token={token}")
        page.wait_for_function(READY)
        home = Classic(page, complaints, folder)
        home.run("import")
        home.run("figure")
        home.figure.wait_for()
        yield home


class TestLiveFigure(LiveFigure):
    """In the classic notebook."""

    def test_the_console_stays_empty(self, home):
        assert not home.complaints
