"""The scripts behind the commands: which Python, which port, which part has failed."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from blocks.page.style import DARK, LIGHT

ROOT = Path(__file__).resolve().parents[2]
SHEET = (ROOT / "book" / "_static" / "book.css").read_text("utf8")


def script(name: str):
    path = ROOT / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"script_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("version", [(3, 10), (3, 14), (2, 7)])
def test_another_python_is_refused_in_one_line(version):
    line = script("environment").version_fault(version)
    assert "3.11 to 3.13" in line and ".".join(map(str, version)) in line
    assert "\n" not in line


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_a_supported_python_is_taken(version):
    assert not script("environment").version_fault(version)


def test_an_environment_is_made_anew_when_its_lock_changes_and_only_then(
    tmp_path, monkeypatch
):
    environment = script("environment")
    commands = []
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    (tmp_path / "requirements.txt").write_text("one")

    def run(*command):
        commands.append(command)
        python = environment.python_of(".venv")
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch()

    monkeypatch.setattr(environment, "run", run)
    environment.packages("book")
    assert len(commands) == 2
    environment.packages("book")
    assert len(commands) == 2
    (tmp_path / "requirements.txt").write_text("two")
    environment.packages("book")
    assert len(commands) == 4


def test_a_busy_port_is_passed_over():
    serve = script("serve")
    with serve.free_server(8700, 8750) as first:
        with serve.free_server(first.server_port, 8750) as second:
            assert second.server_port > first.server_port
        with pytest.raises(OSError, match="no port from"):
            serve.free_server(first.server_port, first.server_port + 1)


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """The runner of all parts, with three small ones in their place."""
    runner = script("test")
    Part = runner.Part
    monkeypatch.setattr(runner, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "page.md").write_text("one")
    (tmp_path / "lock").write_text("one")
    python = sys.executable
    small = {
        "bad": Part("fails", [f"{python} -c import:nothing"]),
        "next": Part("needs bad", [f"{python} -V"], after=("bad",)),
        "good": Part("passes", [f"{python} -V"], reads=("book", "lock")),
        "pages": Part("passes as well", [f"{python} -V"]),
    }
    monkeypatch.setattr(runner, "PARTS", small)
    return runner


def test_a_part_that_fails_fails_all_and_stops_only_what_needs_it(parts, capsys):
    assert parts.main([])
    said = capsys.readouterr().out
    for name, outcome in [("bad", "FAILED"), ("next", "not run"), ("good", "passed")]:
        assert re.search(rf"{name} +\d+\.\d s  {outcome}", said)
    assert "SyntaxError" in said
    assert not parts.main(["good"])


def test_a_part_is_passed_over_while_nothing_that_it_reads_has_changed(
    parts, capsys, monkeypatch
):
    def outcomes(*names):
        parts.main(list(names))
        said = capsys.readouterr().out.partition("how long each part took")[2]
        return dict(re.findall(r"(\w+) +\d+\.\d s  (\w+)", said))

    assert outcomes()["good"] == "passed"
    again = outcomes()
    assert again["good"] == "unchanged" and again["pages"] == "passed"
    # What is asked for by name is run.
    assert outcomes("good") == {"good": "passed"}
    page = parts.ROOT / "book" / "page.md"
    page.write_text("two")
    assert outcomes()["good"] == "passed" and outcomes()["good"] == "unchanged"
    page.rename(page.with_name("other.md"))
    assert outcomes()["good"] == "passed"
    (parts.ROOT / "lock").write_text("two")
    assert outcomes()["good"] == "passed"
    monkeypatch.setenv("TEST_SEED", "7")
    assert outcomes()["good"] == "passed" and outcomes()["good"] == "unchanged"
    # What has failed is run again, whatever it reads.
    assert outcomes()["bad"] == outcomes()["bad"] == "FAILED"


def test_a_missing_browser_is_said_last_with_its_command(parts, capsys, monkeypatch):
    monkeypatch.setattr(parts, "CHROMIUM", Path("/nowhere/chromium"))
    parts.main(["good", "pages"])
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert "apt-get install chromium" in last


def test_the_parts_run_every_test_that_there_is():
    runner = script("test")
    commands = " ".join(c for part in runner.PARTS.values() for c in part.commands)
    for folder in (ROOT / "tests").iterdir():
        if folder.name in ("book", "browser"):
            assert f"pytest -q tests/{folder.name}" in commands
    assert {part for p in runner.PARTS.values() for part in p.after} <= set(
        runner.PARTS
    )


def test_make_names_every_target_with_what_it_does():
    said = subprocess.run(
        ["make", "help"], cwd=ROOT, env=os.environ, capture_output=True, encoding="utf8"
    ).stdout
    for target in ("book", "build", "test", "lint", "bench", "lock", "clean"):
        assert re.search(rf"^make {target} +\w+", said, re.M)


def palette(theme: str) -> dict[str, str]:
    rules = SHEET.partition(f'html[data-theme="{theme}"] {{')[2].partition("}")[0]
    return dict(re.findall(r"--blocks-(\w+): (#[0-9a-f]{6});", rules))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme, figures", [("light", LIGHT), ("dark", DARK)])
def test_the_palette_is_that_of_the_figures_and_reads_on_its_ground(theme, figures):
    colours = palette(theme)
    assert colours.items() >= figures.items()
    for name in ("fg", "muted", "link"):
        assert contrast(colours[name], colours["bg"]) >= 4.5
        assert contrast(colours[name], colours["panel"]) >= 4.5
    for i in range(6):
        assert contrast(colours[f"c{i}"], colours["bg"]) >= 3
