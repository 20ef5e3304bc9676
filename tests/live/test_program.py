import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from programs import Program

from blocks.live import to_javascript


def test_a_program_is_one_function_without_a_library():
    source = to_javascript(lambda a, b: {"y": a * b}, {"a": jnp.float32(1), "b": 2})
    assert source == (
        "const F = Math.fround;\n"
        "export function run({ a, b }) {\n"
        "  a = F(a);\n"
        "  b = (b | 0);\n"
        "  return { y: F(a * F(b)) };\n"
        "}\n"
    )


def test_names_that_javascript_keeps_for_itself():
    run = Program(
        lambda new, F, delete: {"var": new + F - delete},
        dict.fromkeys(("new", "F", "delete"), jnp.float32(0)),
    )
    assert run(new=3.0, F=5.0, delete=1.0)["var"] == 7.0


def test_a_switch_and_a_whole_number_arrive_as_they_are():
    run = Program(
        lambda on, n: {"y": jnp.where(on, n, -n)},
        {"on": jnp.bool_(True), "n": jnp.int32(1)},
    )
    assert run(on=True, n=4)["y"] == 4 and run(on=False, n=4)["y"] == -4


def test_comments_are_the_lines_of_python_that_a_piece_came_from():
    def view(a):
        squares = (a * jnp.arange(4.0)) ** 2
        return {"total": squares.sum()}

    source = to_javascript(view, {"a": jnp.float32(1)}, comments=True)
    assert '// return {"total": squares.sum()}' in source
    assert "//" not in to_javascript(view, {"a": jnp.float32(1)})


def test_equal_constants_stand_once():
    table = np.arange(5.0, dtype=np.float32)
    source = to_javascript(
        lambda a: {"x": a * jnp.asarray(table), "y": a + jnp.array(table)},
        {"a": jnp.float32(1)},
    )
    assert source.count("new Float32Array([0,1,2,3,4])") == 1


def test_only_helpers_that_are_used_come_along():
    assert "erfc" not in to_javascript(lambda a: {"y": a**2}, {"a": jnp.float32(1)})
    assert "function erfc" in to_javascript(
        lambda a: {"y": jax.nn.gelu(a, approximate=False)}, {"a": jnp.float32(1)}
    )


def test_a_primitive_without_a_rule_is_named_with_the_line_it_came_from():
    def view(a):
        return {"y": jnp.linalg.svd(a * jnp.eye(2), compute_uv=False)}

    with pytest.raises(NotImplementedError) as caught:
        to_javascript(view, {"a": jnp.float32(1)})
    message = str(caught.value)
    assert "cannot run the primitive 'svd' yet" in message
    assert "test_program.py, line" in message and "jnp.linalg.svd(a" in message
    assert "add a rule for it in blocks/live/rules" in message
    assert "\n" not in message


def test_a_dtype_that_a_page_lacks_is_named():
    with pytest.raises(NotImplementedError, match="got bfloat16 in 'convert_element"):
        to_javascript(lambda a: {"y": a.astype(jnp.bfloat16)}, {"a": jnp.float32(1)})


def test_a_function_must_name_its_results():
    with pytest.raises(ValueError, match="returns a dict of arrays"):
        to_javascript(lambda a: a, {"a": jnp.float32(1)})


def test_a_result_that_is_an_argument_or_a_constant():
    run = Program(lambda a: {"a": a, "one": jnp.ones(3)}, {"a": jnp.float32(1)})
    found = run(a=2.5)
    assert found["a"] == 2.5
    np.testing.assert_array_equal(found["one"], 1)


def test_array_arguments():
    run = Program(
        lambda x, on: {"y": lax.cumsum(x), "n": on.sum()},
        {"x": jnp.zeros(3), "on": jnp.zeros(2, bool)},
    )
    found = run(x=[1.0, 2.0, 3.5], on=[True, False])
    np.testing.assert_array_equal(found["y"], [1, 3, 6.5])
    assert found["n"] == 1
