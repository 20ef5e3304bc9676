"""Chapters read measurements from the files that scripts stored."""

import json
from pathlib import Path

import pytest

from blocks.page import ratios, results, stored

BENCH = {
    "command": "make bench",
    "date": "2026-11-30",
    "versions": {"jax": "0.10.2", "flax": "0.12.8"},
    "processor": "two <cores>",
    "rows": [
        {
            "block": "norms",
            "what": "rms_norm forward and backward (8, 512, 512)",
            "against": "flax",
            "ratio": 1.904,
            "low": 1.8,
            "high": 2.0,
        },
        {
            "block": "optim",
            "what": "adamw",
            "against": "optax",
            "ratio": 1,
            "low": 1,
            "high": 1,
        },
    ],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "bench.json").write_text(json.dumps(BENCH))
    (tmp_path / "decay.json").write_text('{"seeds": [1, 2]}')
    monkeypatch.setattr(stored, "_folder", lambda: tmp_path)
    return tmp_path


def test_a_stored_result_is_read_by_its_name(folder):
    assert results("decay") == {"seeds": [1, 2]}


def test_a_missing_result_is_answered_with_those_there_are(folder):
    with pytest.raises(ValueError, match="named 'dropout'; there are: bench, decay$"):
        results("dropout")


def test_an_empty_folder_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "_folder", lambda: tmp_path / "none")
    with pytest.raises(ValueError, match="there are: none yet"):
        results("bench")


def test_the_table_has_the_rows_of_its_block_alone(folder):
    table = ratios("norms")
    lines = repr(table).splitlines()
    assert lines[0] == "| what | against | ratio | 95 % interval |"
    assert lines[2] == (
        "| rms_norm forward and backward (8, 512, 512) | flax | 1.90 | 1.80 to 2.00 |"
    )
    assert lines[3] == ""


def test_a_line_below_says_how_and_where_it_was_measured(folder):
    note = repr(ratios("optim")).splitlines()[-1]
    for part in ("make bench", "2026-11-30", "two <cores>", "jax 0.10.2, flax 0.12.8"):
        assert part in note
    assert "above 1, ours is quicker" in note


def test_a_block_that_was_not_measured_is_answered_with_those_that_were(folder):
    with pytest.raises(ValueError, match="no block 'rotary'; it has: norms, optim$"):
        ratios("rotary")


def test_another_benchmark_is_read_by_its_name(folder):
    (folder / "device.json").write_text(json.dumps(BENCH | {"date": "2027-01-01"}))
    assert "2027-01-01" in repr(ratios("norms", "device"))


def test_a_checkout_reads_the_folder_of_its_root(monkeypatch, tmp_path):
    root = Path(__file__).parents[2]
    assert stored._folder() == root / "results"
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(stored, "__file__", str(tmp_path / "stored.py"))
    assert stored._folder() == tmp_path / "results"
