"""The style reads on both themes, and a chapter's first cell sets it."""

import jax
import matplotlib
import pytest

from blocks.page import setup, style


@pytest.fixture(autouse=True)
def restored():
    precision = jax.config.jax_default_matmul_precision
    with matplotlib.rc_context():
        yield
    jax.config.update("jax_default_matmul_precision", precision)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.1 between two colours."""

    def luminance(colour):
        values = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [
            v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_setup_sets_the_highest_precision_and_the_style_without_output(capfd):
    jax.config.update("jax_default_matmul_precision", None)
    matplotlib.rcParams["text.usetex"] = True
    assert setup() is None
    assert jax.config.jax_default_matmul_precision == "highest"
    assert matplotlib.rcParams["axes.prop_cycle"].by_key()["color"] == [*style.PALETTE]
    assert not matplotlib.rcParams["text.usetex"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("theme", [style.LIGHT, style.DARK], ids=["light", "dark"])
def test_text_and_lines_stand_out_from_their_background(theme):
    for name, colour in theme.items():
        need = {"fg": 7, "muted": 4.5, "grid": 1.1, "bg": 1}.get(name, 3)
        assert contrast(colour, theme["bg"]) >= need, name


def test_a_host_that_names_no_colours_reads_the_lines_on_either_background():
    for colour in style.PALETTE:
        assert contrast(colour, "#ffffff") >= 3
        assert contrast(colour, style.DARK["bg"]) >= 3


def test_no_colour_of_the_style_is_one_that_authors_write_by_name():
    named = {matplotlib.colors.to_hex(c) for c in matplotlib.colors.CSS4_COLORS}
    assert not named & set(style.VARIABLES)
    assert len(style.VARIABLES) == len(style.LIGHT)


def test_both_themes_name_the_same_variables():
    assert style.LIGHT.keys() == style.DARK.keys()
