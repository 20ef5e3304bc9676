"""The method of `make bench-live`: what it weighs, times and marks."""

import numpy as np
import pytest
from live_site import live_everything, live_second, write

from scripts import bench_live


def test_each_figure_of_a_page_is_weighed_by_itself(tmp_path):
    write(tmp_path)
    found = bench_live.figures("index.html", tmp_path)
    assert list(found) == ["everything", "second"]
    assert found["everything"] == live_everything().page_html()
    assert found["second"] == live_second().page_html()


def test_sizes_are_of_what_a_static_host_sends():
    noise = np.random.default_rng(0).bytes(5000)
    assert bench_live.kilobytes(noise) == pytest.approx(5.0, abs=0.1)
    assert bench_live.kilobytes("a" * 100_000) < 0.3


def test_what_is_over_its_limit_is_marked():
    row = {"page": "book/a.html", "figure": "one", "p95_ms": 8.1, "p95_slow_ms": 50.0}
    pages = [{"page": "book/a.html", "page_kb": 121.0}]
    printed = bench_live.table([row | {"figure_kb": 40.1}], pages, 10.0)
    line = next(text for text in printed.splitlines() if text.startswith("book/a one"))
    assert line.split()[2:] == ["8.1*", "50.0", "40.1*"]
    assert "121.0*" in printed and "the module: 10.0 KB" in " ".join(printed.split())
    for limit in ("p95 8 ms", "slowed 50 ms", "40 KB", "120 KB", "of 10 KB"):
        assert limit in printed


def test_each_drawing_of_a_drag_is_timed_once(opened):
    page = opened()
    page.evaluate(bench_live.CLOCK)
    drawn = page.evaluate("drawn.everything.length")
    times = bench_live.drag(page, "everything")
    assert len(times) == page.evaluate("drawn.everything.length") - drawn
    # Moves of one frame are drawn together, and those to the same place not at all.
    assert 10 < len(times) <= 3 * (bench_live.MOVES + 1)
    assert all(0 < time < 1e4 for time in times)
