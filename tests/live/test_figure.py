import json
import re
import sys
from types import SimpleNamespace

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
from anywidget.widget import enable_custom_widget_manager_once
from IPython.core.formatters import DisplayFormatter
from matplotlib.patches import FancyArrowPatch

from blocks.live import Choice, Slider, Switch, live, name_parts
from blocks.live.told import axis_map

WORDS = {"alt": "a figure", "summary": ""}
X = np.linspace(0, 1, 5)


def figure(gid="y"):
    fig, ax = plt.subplots()
    ax.plot(X, 0 * X, gid=gid)
    ax.set(xlim=(0, 1), ylim=(0, 2))
    return fig


def parabola(a):
    return {"y": a * X**2}


def state(widget):
    return json.loads(
        re.search(r"<script.*?>(.*)</script>", widget.page_html(), re.S)[1]
    )


def make(view=parabola, fig=None, **given):
    controls = given or {"a": Slider(0.0, 2.0, 1.0)}
    return live(view, fig or figure(), **(WORDS | controls))


def test_the_drawing_is_what_the_function_returns_at_the_defaults():
    one, two = make(), make(a=Slider(0.0, 2.0, 2.0))

    def ends(widget):
        path = re.search(r'id="parabola-y".*?d="([^"]*)"', widget.svg, re.S)[1]
        return [float(n) for n in re.findall(r"[\d.]+", path)][-1]

    (told,) = one.artists
    a, b, log = told["y"]
    assert ends(one) == pytest.approx(a * 1 + b, abs=0.01)
    assert ends(two) == pytest.approx(a * 2 + b, abs=0.01)
    assert told["kind"] == "line" and not log and len(told["xs"]) == 5


def test_a_page_without_javascript_still_has_the_drawing():
    html = make().page_html()
    assert html.index("<svg") < html.index("<script")
    assert 'role="img" aria-label="a figure"' in html
    assert state(make())["values"] == {"a": 1.0}
    assert "svg" not in state(make())


def test_nothing_in_the_text_ends_the_script_that_holds_it():
    widget = live(
        parabola, figure(), alt="x", summary="</script>{a}", a=Slider(0.0, 1.0, 1.0)
    )
    assert "</script>{a}" not in widget.page_html()
    assert state(widget)["summary"] == "</script>{a}"


def test_values_are_set_from_python_and_checked():
    widget = make(
        lambda a, n: {"y": a * n * X}, a=Slider(0.0, 2.0, 1.0), n=Slider(1, 3, 1)
    )
    widget.values = {"a": 0.5}
    assert widget.values == {"a": 0.5, "n": 1}
    with pytest.raises(ValueError, match=r"n must lie between 1 and 3; got 4"):
        widget.values = {"n": 4}
    with pytest.raises(ValueError, match="this figure has no 'b'; it has a, n"):
        widget.values = {"b": 4}
    assert widget.values == {"a": 0.5, "n": 1}


def test_logarithmic_axes():
    fig, ax = plt.subplots()
    ax.loglog([], [], gid="y")
    ax.set(xlim=(1, 1000), ylim=(0.01, 100))
    widget = make(
        lambda a: {"y": jnp.array([[1.0, 0.01], [1000.0, 100.0]]) * a},
        fig,
        a=Slider(0.5, 1.0, 1.0),
    )
    (told,) = widget.artists
    for axis in "xy":
        a, b, log = told[axis]
        assert log
    a, b, _ = told["y"]
    bottom, top = a * -2 + b, a * 2 + b
    assert 0 < top < bottom < fig.bbox.height


def everything():
    fig, axes = plt.subplots(2, 3)
    a, b, c, d, e, f = axes.flat
    a.plot([], [], "o-", gid="path")
    a.axvline(0.5, gid="across")
    a.axhline(0.5, gid="level")
    b.scatter(X, X, gid="points")
    c.fill_between(X, X, X + 1, gid="band")
    d.imshow(np.zeros((2, 3)), vmin=0, vmax=1, gid="heat")
    d.set_xticks(range(3), ["the", "cat", "sat"])
    name_parts(e.barh(range(3), np.ones(3)), "bars")
    f.add_patch(FancyArrowPatch((0, 0), (1, 1), gid="arrow"))
    f.text(0, 0, "a is {:.2f}", gid="note")

    def view(a, kind, on):
        return {
            "path": jnp.stack([a * X, X], axis=1),
            "across": a,
            "level": a,
            "points": jnp.stack([X, a * X], axis=1),
            "band": jnp.stack([X - a, X + a], axis=1),
            "heat": a * jnp.ones((2, 3)),
            "bars": a * jnp.arange(3.0),
            "arrow": jnp.array([0.0, 0.0, 1.0, 1.0]) * a,
            "note": a,
            "chosen": kind + on,
        }

    controls = {
        "a": Slider(0.1, 1.0, 0.5, log=True),
        "kind": Choice(("one", "two"), "one"),
        "on": Switch(True),
    }
    return live(view, fig, alt="x", summary="chosen {chosen}", name="all", **controls)


def test_every_kind_of_artist_is_found_and_described():
    told = {part["result"]: part for part in everything().artists}
    kinds = {name: part["kind"] for name, part in told.items()}
    assert kinds == {
        "path": "line",
        "across": "vline",
        "level": "hline",
        "points": "points",
        "band": "band",
        "heat": "image",
        "bars": "bars",
        "arrow": "arrow",
        "note": "text",
    }
    assert told["heat"]["labels"] == [[], ["the", "cat", "sat"]]
    assert told["bars"]["upright"] is False and told["bars"]["count"] == 3
    assert told["note"]["template"] == "a is {:.2f}"
    assert told["points"]["points"] == len(told["band"]["xs"]) == 5


def test_every_artist_stands_in_the_drawing():
    widget = everything()
    for part in widget.artists:
        names = [part["id"]]
        if part["kind"] == "bars":
            names = [f"{part['id']}[{k}]" for k in range(3)]
        for name in names:
            assert widget.svg.count(f'id="{name}"') == 1
    assert "a is 0.50" in widget.svg


def test_a_slider_that_is_no_argument():
    with pytest.raises(ValueError, match="parabola has no argument b"):
        make(a=Slider(0.0, 1.0, 0.5), b=Slider(0.0, 1.0, 0.5))


def test_an_argument_without_a_slider():
    with pytest.raises(ValueError, match="no control moves a of parabola"):
        live(parabola, figure(), **WORDS)


def test_a_result_without_an_artist():
    with pytest.raises(
        ValueError, match="no artist has the gid y, and the summary is silent"
    ):
        make(fig=plt.figure())


def test_an_artist_without_a_result():
    fig = figure()
    fig.axes[0].plot(X, X, gid="z")
    with pytest.raises(ValueError, match="no result moves the artist z"):
        make(fig=fig)


def test_a_summary_that_names_nothing():
    with pytest.raises(ValueError, match="the summary names z, which is no result"):
        live(parabola, figure(), alt="x", summary="z is {z}", a=Slider(0.0, 1.0, 0.5))


def test_a_shape_that_does_not_fit():
    with pytest.raises(ValueError, match=r"'y' of shape \(4,\) does not fit its line"):
        make(lambda a: {"y": a * jnp.ones(4)})


@pytest.mark.parametrize("low, where", [(0.0, "a=0.0"), (0.5, "a=2.0")])
def test_a_result_that_is_not_finite_at_an_end(low, where):
    def view(a):
        return {"y": X + 1 / a if low == 0 else X + 1 / (2 - a)}

    with pytest.raises(ValueError, match=f"'y' is not finite at {where}"):
        make(view, a=Slider(low, 2.0, 1.0))


def test_an_artist_that_cannot_move():
    fig, ax = plt.subplots()
    ax.pie([1, 2])[0][0].set_gid("y")
    with pytest.raises(ValueError, match="cannot move the Wedge 'y'"):
        make(fig=fig)


def test_a_scale_that_cannot_move():
    fig = figure()
    fig.axes[0].set_yscale("symlog")
    with pytest.raises(ValueError, match="linear or logarithmic; got 'symlog'"):
        make(fig=fig)


def test_colours_that_are_not_linear():
    fig, ax = plt.subplots()
    ax.imshow(np.ones((2, 2)), norm="log", gid="y")
    with pytest.raises(ValueError, match="linear in its numbers; got LogNorm"):
        make(lambda a: {"y": a * jnp.ones((2, 2))}, fig)


def test_a_reader_without_javascript_is_told_at_what_the_figure_stands():
    page = make().page_html()
    assert re.search("<noscript><p>Without JavaScript .* at a: 1.0.</p>", page)


def test_a_notebook_is_handed_the_widget_and_the_page():
    # Of a widget of ipywidgets 7, IPython would ask less than the bundle.
    data, _ = DisplayFormatter().format(make())
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "live-figure" in data["text/html"] and data["text/plain"] == "a figure"


@pytest.fixture
def colab(monkeypatch):
    """What Colab's own module is asked for, by the name of the function."""
    asked = []
    output = SimpleNamespace(
        enable_custom_widget_manager=lambda: asked.append("widget manager"),
        _widgets=SimpleNamespace(_installed_url="the manager's address"),
    )
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    # It asks once in a session, so forget what earlier tests have seen.
    enable_custom_widget_manager_once.cache_clear()
    yield asked
    enable_custom_widget_manager_once.cache_clear()


def test_colab_is_asked_once_to_show_widgets_of_others(colab):
    data, metadata = DisplayFormatter().format(make())
    make()
    assert colab == ["widget manager"]
    (view,) = metadata.values()
    assert view["colab"]["custom_widget_manager"]["url"] == "the manager's address"
    assert metadata.keys() <= data.keys()


def test_nothing_is_asked_of_colab_elsewhere():
    assert "google.colab.output" not in sys.modules
    _, metadata = DisplayFormatter().format(make())
    assert not metadata


def test_an_axis_is_told_in_points_at_any_resolution():
    coarse, fine = (plt.subplots(dpi=dpi)[1] for dpi in (72, 144))
    for which in "xy":
        want = axis_map(coarse, which)
        np.testing.assert_allclose(axis_map(fine, which), want, rtol=1e-4)
    plt.close("all")
