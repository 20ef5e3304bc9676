"""The method of `make bench`: what it times, what it refuses, what it writes."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from blocks.page import stored
from scripts import bench
from scripts.bench import bench_pairs

pytest.importorskip("tqdm")

X = jnp.arange(6.0).reshape(1, 2, 3)
W = jnp.arange(1.0, 7.0).reshape(3, 2)
OURS = (lambda w, x: x @ w), W
TRANSPOSED = (lambda w, x: x @ w.T), W.T
OFF = (lambda w, x: x @ w.T * 1.001), W.T
NO_GRADIENT = (lambda w, x: x @ jax.lax.stop_gradient(w).T), W.T
NOT_A_NUMBER = (lambda w, x: x @ w.T * jnp.nan), W.T
ONE_MORE_AXIS = (lambda w, x: (x @ w.T)[None]), W.T


def cases(theirs):
    return list(bench_pairs.both_ways("norms", "product", X, OURS, {"flax": theirs}))


def test_the_interval_is_that_of_the_median():
    middle, low, high = bench_pairs.median_with_interval(np.array([1, 2, 2, 2, 9] * 8))
    assert (middle, low, high) == (2, 2, 2)
    ratios = np.random.default_rng(1).normal(3, 1, 400)
    middle, low, high = bench_pairs.median_with_interval(ratios)
    # The median of n normal numbers deviates by sqrt(pi / 2 / n).
    width = 2 * 1.96 * (np.pi / 2 / 400) ** 0.5
    assert low < middle < high
    assert high - low == pytest.approx(width, rel=0.25)


def test_ratios_are_their_time_over_ours_in_pairs_of_both_orders(monkeypatch):
    case, seen = cases(TRANSPOSED)[0], []

    def seconds(side, calls):
        seen.append("ours" if side is case.ours else "theirs")
        return {"ours": 2.0, "theirs": 3.0}[seen[-1]]

    monkeypatch.setattr(bench_pairs, "seconds", seconds)
    ratios = bench_pairs.measure([case], rounds=8)
    assert ratios.tolist() == [[1.5] * 16]
    a, b = "ours", "theirs"
    orders = {tuple(order) for order in np.reshape(seen[-32:], (8, 4)).tolist()}
    assert orders == {(a, b, b, a), (b, a, a, b)}
    monkeypatch.setattr(bench_pairs, "LIMIT", -1)
    assert bench_pairs.measure([case], rounds=3).shape == (1, 0)


def test_layouts_may_differ_where_numbers_agree():
    for case in cases(TRANSPOSED):
        bench_pairs.require_agreement(case)


@pytest.mark.parametrize("theirs", [OFF, NOT_A_NUMBER])
def test_nothing_is_timed_whose_results_differ(theirs):
    for case in cases(theirs):
        with pytest.raises(ValueError, match="norms: product, .*must agree to 0.0001"):
            bench_pairs.measure([case])


def test_nothing_is_timed_whose_gradients_differ():
    forward, backward = cases(NO_GRADIENT)
    bench_pairs.require_agreement(forward)
    with pytest.raises(ValueError, match="forward and backward.*must agree"):
        bench_pairs.require_agreement(backward)


def test_nothing_is_timed_whose_shapes_differ():
    for case in cases(ONE_MORE_AXIS):
        with pytest.raises(ValueError, match="shapes must agree"):
            bench_pairs.require_agreement(case)
        alone = case._replace(compared=bench_pairs.size_alone)
        with pytest.raises(ValueError, match="shapes must agree"):
            bench_pairs.require_agreement(alone)


def test_blocks_that_differ_by_design_need_the_size_alone():
    for case in cases(OFF):
        alone = case._replace(compared=bench_pairs.size_alone)
        bench_pairs.require_agreement(alone)


def test_a_chapter_reads_the_report(monkeypatch, tmp_path):
    ratios = np.array([[1.25] * 4, [0.5] * 4])
    report = bench.report(cases(TRANSPOSED), ratios, libraries=["jax"])
    (tmp_path / "bench.json").write_text(json.dumps(report))
    monkeypatch.setattr(stored, "_folder", lambda: tmp_path)
    table = stored.ratios("norms")
    first = ("product, forward, (1, 2, 3)", "flax", "1.25", "1.25 to 1.25")
    assert table.rows[0] == first
    assert table.rows[1][0] == "product, forward and backward, (1, 2, 3)"
    assert f"jax {jax.__version__}" in table.note and " cores" in table.note


def test_a_stored_ratio_lies_in_its_interval():
    stored_rows = stored.results("bench")["rows"]
    for row in stored_rows:
        assert 0 < row["low"] <= row["ratio"] <= row["high"], row
