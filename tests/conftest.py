"""What the tests share: a key, float64, a fixed generator and the golden files."""

import os
from pathlib import Path

import jax
import numpy as np
import pytest

# Products are coarser by default on some devices; references are compared at full
# precision, those computed while tests are collected included.
jax.config.update("jax_default_matmul_precision", "highest")
# The tests compile far more than they compute, so what is quick to compile wins. XLA
# reads these when a test, or a process that it starts, first computes.
jax.config.update("jax_disable_most_optimizations", True)
QUICK = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
os.environ["XLA_FLAGS"] = f"{QUICK} {os.environ.get('XLA_FLAGS', '')}"


@pytest.fixture(scope="session")
def key():
    """The randomness of a test; TEST_SEED names another, for none may hang on one."""
    return jax.random.key(int(os.environ.get("TEST_SEED", 0)))


def _set_during_test(name, value):
    before = getattr(jax.config, name)
    jax.config.update(name, value)
    yield
    jax.config.update(name, before)


@pytest.fixture
def float64():
    yield from _set_during_test("jax_enable_x64", True)


@pytest.fixture
def pinned_random():
    """For tests of printed numbers, which hold for one layout of random bits."""
    yield from _set_during_test("jax_threefry_partitionable", True)


@pytest.fixture
def golden():
    """`golden("alibi")` is the dictionary of arrays in tests/golden/alibi.npz."""

    def load(name):
        with np.load(Path(__file__).parent / "golden" / f"{name}.npz") as file:
            return dict(file)

    return load
