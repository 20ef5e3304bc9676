"""A matplotlib figure that follows sliders by running the JAX function behind it."""

import html
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import jax
import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure

from blocks.live import artists
from blocks.live.controls import Control
from blocks.live.program import to_javascript
from blocks.live.told import describe
from blocks.page.pictures import framed, themed_svg

View = Callable[..., Mapping[str, Any]]


class Live(anywidget.AnyWidget):
    """A live figure: a widget where there is a kernel, else HTML that a page wakes up.

    `values` holds the settings by name, as the reader moves them; assigning a dict with
    some of them moves the figure.
    """

    _esm = Path(__file__).with_name("live.mjs")
    # ipywidgets 7 would display through this, without the HTML of the page.
    _ipython_display_ = None
    name = traitlets.Unicode().tag(sync=True)
    call = traitlets.Unicode().tag(sync=True)
    program = traitlets.Unicode().tag(sync=True)
    svg = traitlets.Unicode().tag(sync=True)
    artists = traitlets.List().tag(sync=True)
    controls = traitlets.List().tag(sync=True)
    summary = traitlets.Unicode().tag(sync=True)
    caption = traitlets.Unicode().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)

    def __init__(self, checks: Mapping[str, Control], alt: str, **state: Any):
        self._checks, self._alt = checks, alt
        super().__init__(**state)

    @traitlets.validate("values")
    def _check_values(self, proposal: Any) -> dict[str, Any]:
        given = proposal["value"]
        checked = {name: control.value for name, control in self._checks.items()}
        checked |= self.values
        for name, value in given.items():
            if name not in self._checks:
                known = ", ".join(self._checks)
                raise ValueError(f"this figure has no {name!r}; it has {known}")
            try:
                checked[name] = self._checks[name].checked(value)
            except ValueError as error:
                raise ValueError(f"{name} {error}") from None
        return checked

    def _still(self) -> str:
        """What a reader without JavaScript is told."""
        at = ", ".join(
            f"{control.label or name}: {self.values[name]}"
            for name, control in self._checks.items()
        )
        return f"Without JavaScript this figure stands still, at {at}."

    def page_html(self) -> str:
        """The figure as it stands, with what the page's own module needs to move it."""
        keys = "name", "call", "program", "artists", "controls", "summary", "values"
        state = json.dumps({k: getattr(self, k) for k in keys}, separators=(",", ":"))
        state = state.replace("</", "<\\/")
        return (
            f'<div class="live-figure" id="{self.name}">'
            f"{framed(self.svg, self.caption)}"
            f"<noscript><p>{html.escape(self._still())}</p></noscript>"
            f'<script type="application/json">{state}</script></div>'
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, *metadata = bundle if isinstance(bundle, tuple) else (bundle,)
        data = dict(data or {}) | {
            "text/plain": self._alt,
            "text/html": self.page_html(),
        }
        return (data, *metadata) if metadata else data


def live(
    view: View,
    fig: Figure,
    *,
    alt: str,
    summary: str,
    caption: str = "",
    name: str = "",
    **controls: Control,
) -> Live:
    """Pair a function of the sliders with the figure that shows what it returns.

    `view(**settings)` is a JAX function of one argument for each control; it returns a
    dict of arrays. A result moves the artists of `fig` whose `gid` is its name (see the
    table in `blocks/live/artists.py`), or stands in `summary`, a sentence that follows
    the sliders: "the loss is {loss}", "{loss:.2f}". `alt` says what the figure shows;
    `caption` stands below it; `name` is its address on the page (the name of the
    function unless given). The function is translated to JavaScript here: what cannot
    be translated raises NotImplementedError with the line at fault. Raises ValueError
    where controls and arguments or results and artists do not pair, where a shape does
    not fit its artist, and where a result is not finite at the default or at an end of
    a control.
    """
    check_arguments(view, controls)
    defaults = {key: control.value for key, control in controls.items()}
    example = {key: controls[key].argument(value) for key, value in defaults.items()}
    program = to_javascript(view, example)
    parts = artists.find(fig)
    results = _results(view, controls, defaults)
    artists.check_pairs(set(results), set(parts), set(controls), summary)
    told = _tell(fig, parts, results)
    address = name or view.__name__.replace("_", "-")
    svg = themed_svg(fig, address, alt)
    plt.close(fig)
    return Live(
        controls,
        alt,
        name=address,
        call=view.__name__,
        program=program,
        svg=svg,
        artists=[part | {"id": f"{address}-{part['id']}"} for part in told],
        controls=[{"name": key} | c.describe() for key, c in controls.items()],
        summary=summary,
        caption=caption,
        values=defaults,
    )


def check_arguments(
    view: View, controls: Mapping[str, Control], given: int = 0
) -> None:
    """ValueError unless the controls are the arguments after the first `given`."""
    parameters = list(inspect.signature(view).parameters.values())[given:]
    takes = {p.name for p in parameters}
    needs = {p.name for p in parameters if p.default is p.empty}
    if unknown := sorted(set(controls) - takes):
        raise ValueError(f"{view.__name__} has no argument {', '.join(unknown)}")
    if missing := sorted(needs - set(controls)):
        raise ValueError(f"no control moves {', '.join(missing)} of {view.__name__}")


def _results(
    view: View, controls: Mapping[str, Control], defaults: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """The results at the defaults, after a look at the ends of every control."""
    run = jax.jit(lambda kw: view(**kw))

    def at(**changed):
        settings = {**defaults, **changed}
        values = run({k: controls[k].argument(v) for k, v in settings.items()})
        for key, value in values.items():
            if not np.all(np.isfinite(value)):
                where = ", ".join(f"{k}={v}" for k, v in (changed or defaults).items())
                raise ValueError(f"the result {key!r} is not finite at {where}")
        return values

    for key, control in controls.items():
        for end in control.ends():
            at(**{key: end})
    return {key: np.asarray(value) for key, value in at().items()}


def _tell(
    fig: Figure, parts: Mapping[str, list[Any]], results: Mapping[str, np.ndarray]
) -> list[dict[str, Any]]:
    """Let the artists show the results, and say how the page is to move them."""
    kinds = {
        name: artists.kind_of(name, found, results[name].shape)
        for name, found in parts.items()
    }
    for name, kind in kinds.items():
        artists.show(kind, parts[name], results[name])
    fig.set_dpi(72)  # the SVG's own unit: what is laid out now is what it shows
    fig.canvas.draw()
    fig.set_layout_engine("none")
    return [
        {"result": name, "id": name, "count": len(parts[name])}
        | describe(kind, parts[name], results[name])
        for name, kind in kinds.items()
    ]
