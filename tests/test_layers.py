"""The order of the files of `blocks`, kept by reading their imports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import blocks

ROOT = Path(__file__).parents[1]
FILES = sorted(p for p in (ROOT / "blocks").glob("*.py") if p.stem != "__init__")

# A file imports from lines above its own, never from its own line.
FOUNDATION = [{"module", "numerics", "activations"}]
MODELS = [
    {"norms", "feedforward", "positions", "rotary", "masks", "dropout"},
    {"cache"},
    {"attention"},
    {
        "blocked_attention",
        "linformer",
        "local_attention",
        "reformer",
        "sparse",
        "transformer_xl",
    },
    {"layers"},
    {"transformer", "language_model", "decision_transformer"},
    {"loading"},
    {"generate"},
]
# Training knows no model, and no model knows how it is trained.
TRAINING = [
    {"losses", "transforms", "tasks"},
    {"optim", "parameters", "schedules"},
    {"muon"},
    {"train"},
]

STANDARD = {"collections", "dataclasses", "functools", "math", "numbers", "typing"}
LIBRARIES = {"jax", "jaxtyping"}
READS_FILES = {"loading": {"json", "numpy", "pathlib", "safetensors"}}

# Public in their file and not exported, each for its reason.
INTERNAL = {
    "ACTIVATIONS": "a table; readers reach it through `activate`",
    "AdamState": "made and read by the optimisers alone",
    "Axes": "a name for a type in signatures",
    "M": "a type variable",
    "Mask": "a name for a type in signatures",
    "MuonState": "made and read by the optimisers alone",
    "QUINTIC": "a default of `orthogonalize`",
    "Quintic": "a name for a type in signatures",
    "Schedule": "a name for a type in signatures",
    "T": "a type variable",
    "bias_correction": "a formula that two optimisers share",
    "norm": "a sum that clipping and Muon share",
    "known": "a check before those of limits",
    "require_activation": "a check that layers make before they are called",
    "require_settling": "a check that momentum, Adam and Muon share",
    "require_bias": "a check that the forms of attention share",
    "require_floating": "a check that every block makes",
    "require_fit": "a check that the forms of attention share",
    "require_heads": "a check that the forms of attention share",
    "require_mask": "a check that the forms of attention share",
    "require_pairs": "a check that rotary and attention share",
    "split": "how Muon shares a model with another optimiser",
    "two_axes": "a default of Muon",
}
HEAVY = {"IPython", "anywidget", "flax", "ipywidgets", "matplotlib", "optax", "tqdm"}


def below(stem):
    """The names of the files that `stem` may import."""
    for order in FOUNDATION + MODELS, FOUNDATION + TRAINING:
        for number, line in enumerate(order):
            if stem in line:
                return set().union(*order[:number])
    pytest.fail(f"give blocks/{stem}.py its place in the order of tests/test_layers.py")


def imports(tree):
    """The dotted names that a syntax tree imports, wherever in it they stand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = "blocks." if node.level else ""
            source = package + (node.module or "")
            if source.strip(".") == "blocks":  # from blocks import norms
                yield from (f"blocks.{alias.name}" for alias in node.names)
            else:
                yield source


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_file_imports_only_files_below_it(path):
    used = {n for n in imports(parse(path)) if n.split(".")[0] == "blocks"}
    assert used <= {f"blocks.{name}" for name in below(path.stem)}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_the_numerics_need_jax_and_jaxtyping_alone(path):
    allowed = STANDARD | LIBRARIES | READS_FILES.get(path.stem, set()) | {"blocks"}
    assert {name.split(".")[0] for name in imports(parse(path))} <= allowed


@pytest.mark.parametrize(
    "line, name",
    [
        ("import blocks.page.show", "blocks.page.show"),
        ("from blocks.live import live", "blocks.live"),
        ("from blocks import page", "blocks.page"),
        ("from . import page", "blocks.page"),
        ("from .page import show", "blocks.page"),
        ("def f():\n    import matplotlib.pyplot", "matplotlib.pyplot"),
    ],
)
def test_no_way_of_importing_escapes_the_reader(line, name):
    assert list(imports(ast.parse(line))) == [name]


def test_importing_blocks_loads_no_figures_and_no_widgets():
    program = "import sys, blocks; print(*{m.split('.')[0] for m in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "blocks" in loaded.stdout.split()
    assert not HEAVY & set(loaded.stdout.split())


def defined(tree):
    """The public names that a file makes at its top level, constants included."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (
                n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)
            )


def test_every_public_name_is_exported_or_has_a_reason_not_to_be():
    names = {n for path in FILES for n in defined(parse(path)) if n[0] != "_"}
    assert names - set(INTERNAL) == set(blocks.__all__)
    assert set(INTERNAL) <= names


def test_an_exported_name_is_the_object_of_its_file():
    assert len(blocks.__all__) == len(set(blocks.__all__))
    stems = {path.stem for path in FILES}
    for name in blocks.__all__:
        package, stem = getattr(blocks, name).__module__.split(".")
        assert package == "blocks" and stem in stems
