"""A panel for what takes too long for a page: settings, a button, a bar, one figure."""

import html
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from blocks.live import artists
from blocks.live.controls import Choice, Control, Switch
from blocks.page.pictures import themed_svg

WIDGET = "application/vnd.jupyter.widget-view+json"
NOTE = "To change the settings and train again, run this chapter in Colab or Jupyter."
Report = Callable[[int, float], Any]


def experiment(
    run: Callable[..., Mapping[str, Any]],
    fig: Figure,
    *,
    result: Mapping[str, Any],
    steps: int,
    alt: str,
    summary: str,
    **controls: Control,
) -> "Experiment":
    """Pair a function that trains with the figure that shows what it returns.

    `run(report, **settings)` returns a dict of arrays, as the function of a `live`
    figure does, and calls `report(step, loss)` with steps 1, ..., `steps` on its way.
    `result` is what it returns for the settings at which the controls begin: a page
    without a kernel shows that and says where the rest runs. `summary` may name results
    of one number, `{loss:.2f}`. Raises ValueError where a result and its artist do not
    fit.
    """
    parts = artists.find(fig)
    artists.check_pairs(set(result), set(parts), set(controls), summary)
    panel = Experiment(run, fig, parts, steps, alt, summary, controls)
    panel.show(result)
    return panel


class Experiment:
    """A training run behind a button; `values` holds the settings by name."""

    def __init__(self, run, fig, parts, steps, alt, summary, controls):
        self._run, self._fig, self._parts, self._alt = run, fig, parts, alt
        self._summary, self._controls = summary, controls
        self._steps = steps
        self._inputs = {name: _widget(name, c) for name, c in controls.items()}
        self._picture, self._words = ipywidgets.HTML(), ipywidgets.HTML()
        self._bar = ipywidgets.IntProgress(min=0, max=steps, description="ready")
        self._button = ipywidgets.Button(description="Run", button_style="primary")
        self._button.on_click(lambda _: self.start())
        row = ipywidgets.HBox([self._button, self._bar])
        self.panel = ipywidgets.VBox(
            [*self._inputs.values(), row, self._picture, self._words]
        )

    @property
    def values(self) -> dict[str, Any]:
        return {name: widget.value for name, widget in self._inputs.items()}

    def start(self) -> None:
        """Train with the present settings, and show what came of it."""
        if self._button.disabled:
            return
        self._button.disabled = True
        self._bar.value = 0
        try:
            self.show(self._run(self._report, **self.values))
            self._bar.description = "done"
        except Exception as error:
            self._bar.description = "failed"
            message = html.escape(f"{type(error).__name__}: {error}")
            self._words.value = f'<p role="alert">{message}</p>'
        finally:
            self._button.disabled = False

    def _report(self, step: int, loss: float) -> None:
        self._bar.value = step
        self._bar.description = f"loss {float(loss):.3g}"

    def show(self, result: Mapping[str, Any]) -> None:
        """Let the figure and the sentence below it show these results."""
        values = {name: np.asarray(value) for name, value in result.items()}
        for name, parts in self._parts.items():
            kind = artists.kind_of(name, parts, values[name].shape)
            artists.show(kind, parts, values[name])
        for ax in self._fig.axes:
            ax.relim()
            ax.autoscale_view()
        svg = themed_svg(self._fig, f"experiment-{self._run.__name__}", self._alt)
        plt.close(self._fig)
        self._picture.value = f'<figure class="picture">{svg}</figure>'
        words = artists.fill(self._summary, {**self.values, **values})
        self._words.value = f"<p>{html.escape(words)}</p>"

    def _page_html(self) -> str:
        settings = ", ".join(
            f"{self._controls[name].label or name} {value:g}"
            if isinstance(value, float)
            else f"{self._controls[name].label or name} {value}"
            for name, value in self.values.items()
        )
        return (
            f'<div class="experiment">{self._picture.value}{self._words.value}'
            f'<p class="note">{html.escape(settings.capitalize())}. {NOTE}</p></div>'
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        view = {
            "version_major": 2,
            "version_minor": 0,
            "model_id": self.panel.model_id,
        }
        return {
            WIDGET: view,
            "text/html": self._page_html(),
            "text/plain": self._alt,
        }


def _widget(name: str, control: Control) -> Any:
    """The plain widget for a control; both versions of ipywidgets have these."""
    words = {
        "description": control.label or name,
        "value": control.value,
        "style": {"description_width": "initial"},
        "layout": {"width": "min(100%, 30em)"},
    }
    if isinstance(control, Switch):
        return ipywidgets.Checkbox(indent=False, **words)
    if isinstance(control, Choice):
        return ipywidgets.Dropdown(options=list(control.options), **words)
    if control.whole:
        return ipywidgets.IntSlider(min=control.low, max=control.high, **words)
    if not control.log:
        step = control.describe()["step"]
        return ipywidgets.FloatSlider(
            min=control.low, max=control.high, step=step, readout_format=".3g", **words
        )
    low, high = np.log10([control.low, control.high])
    return ipywidgets.FloatLogSlider(
        min=low,
        max=high,
        step=control.describe()["step"],
        readout_format=".3g",
        **words,
    )
