import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from programs import compare

X = np.float32([0.5, -1.0, 2.0])


def test_calls_are_written_in_place():
    compare(lambda x: jax.jit(lambda y: jnp.sin(y) + y)(x * 2), X)
    compare(lambda x: jax.nn.silu(x) + jax.nn.relu(x) + jax.nn.gelu(x), X, rtol=3e-6)
    compare(jax.grad(lambda x: jnp.sum(jax.nn.softmax(x) * x)), X, rtol=3e-6, atol=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_scan_with_state_inputs_and_outputs(reverse, length):
    xs = np.arange(length * 2, dtype=np.float32).reshape(length, 2)

    def run(x, xs):
        def step(carry, row):
            total, count = carry
            total = total * 0.5 + row.sum() * x[:2]
            return (total, count + 1), (total, row * count, count)

        return lax.scan(step, (x[:2], 0), xs, reverse=reverse)

    compare(lambda x, xs: tuple(jax.tree.leaves(run(x, xs))), X, xs)


def test_a_state_that_is_handed_on_unchanged_or_swapped():
    def swap(x):
        return lax.scan(lambda c, _: ((c[1], c[0]), c[0]), (x, -x), length=3)

    compare(lambda x: tuple(jax.tree.leaves(swap(x))), X)
    compare(lambda x: tuple(jax.tree.leaves(swap(x[0]))), X)
    compare(lambda x: lax.scan(lambda c, _: (c, c), x, length=2)[1], X)


def test_what_a_loop_changes_does_not_change_what_it_began_with():
    def run(x):
        y = x * 2
        z, _ = lax.scan(lambda c, _: (c + 1, None), y, length=3)
        return y, z

    compare(run, X)


def test_loops_inside_loops():
    def inner(row):
        return lax.fori_loop(0, 3, lambda i, s: s + row * i, jnp.zeros(3))

    compare(lambda x: lax.map(inner, jnp.stack([x, 2 * x])), X)


@pytest.mark.parametrize("start", [0.5, 3.0, 200.0])
def test_while(start):
    def run(x):
        return lax.while_loop(
            lambda s: s[0] < 100, lambda s: (s[0] * 1.7 + 1, s[1] + 1), (x, 0)
        )

    compare(run, np.float32(start))


def test_while_with_closed_over_arrays():
    def run(x, limit):
        return lax.while_loop(
            lambda s: s.sum() < limit, lambda s: s + jnp.abs(x), jnp.zeros(3)
        )

    compare(run, X, np.float32(20))


@pytest.mark.parametrize("which", [-3, 0, 1, 2, 9])
def test_branches(which):
    branches = [jnp.sin, lambda x: x * 2, lambda x: -x]
    compare(lambda i, x: lax.switch(i, branches, x), np.int32(which), X)


@pytest.mark.parametrize("value", [True, False])
def test_branch_on_a_boolean_with_several_results(value):
    def run(p, x):
        return lax.cond(p, lambda x: (x, x.sum()), lambda x: (-x, x.max()), x)

    compare(run, np.bool_(value), X)


def test_a_scan_of_two_steps_has_two_results():
    def step(carry, _):
        return carry * 2, carry + 1

    compare(lambda x: lax.scan(step, x[0], None, length=2)[1], X)


def test_associative_scan():
    def run(x):
        return lax.associative_scan(
            lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (x, x)
        )

    compare(lambda x: run(jnp.tile(x, 3)), X)


def test_random_numbers_of_a_fixed_key_are_drawn_once():
    compare(lambda x: x + jax.random.normal(jax.random.key(0), (3,)), X)
    compare(lambda x: jax.random.permutation(jax.random.key(1), 3) + x, X)
