"""The progress of training is seen where somebody waits, and only there."""

import jax.numpy as jnp
import pytest

from blocks.page import progress


@pytest.fixture(autouse=True)
def nobody_builds(monkeypatch):
    monkeypatch.delenv("BLOCKS_BOOK", raising=False)


def test_a_terminal_shows_label_steps_and_the_latest_loss(capfd):
    report = progress(3, "training")
    for step, loss in enumerate([2.5, 1.25, jnp.float32(0.03125)], start=1):
        report(step, loss)
    last = capfd.readouterr().err.split("\r")[-1]
    assert "training" in last and "100%" in last and "3/3" in last
    assert "loss 0.03125" in last and last.endswith("\n")


def test_the_bar_closes_itself_at_its_total_and_then_stays(capfd):
    report = progress(1)
    report(1, 0.5)
    assert capfd.readouterr().err.endswith("\n")
    report(2, 0.25)
    assert capfd.readouterr().err == ""


def test_the_bar_counts_steps_and_not_calls(capfd):
    with progress(10) as report:
        report(5, 0.5)
    assert "5/10" in capfd.readouterr().err


def test_the_bar_closes_when_training_fails(capfd):
    with pytest.raises(RuntimeError, match="diverged"), progress(5) as report:
        report(2, 0.5)
        raise RuntimeError("diverged")
    last = capfd.readouterr().err
    assert "2/5" in last and last.endswith("\n")


def test_a_build_of_the_book_shows_nothing(monkeypatch, capfd):
    monkeypatch.setenv("BLOCKS_BOOK", "1")
    with progress(2, "training") as report:
        report(1, 0.5)
        report(2, 0.25)
    assert capfd.readouterr() == ("", "")


# ipywidgets 7.7.1, Colab's, builds on names that traitlets has deprecated since.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_notebook_gets_a_widget():
    tqdm = pytest.importorskip("tqdm.notebook").tqdm
    from blocks.page.bars import Progress

    bar = tqdm(total=2, display=False)
    report = Progress(bar)
    report(1, 0.5)
    report(2, 0.25)
    assert bar.container.children[1].value == 2
    assert "loss\u20070.25" in bar.container.children[2].value
