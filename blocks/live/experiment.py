"""A panel for what takes too long for a page: settings, a button, a bar, one figure."""

import html
import time
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from blocks.live import artists
from blocks.live.controls import Choice, Control, Switch
from blocks.live.figure import check_arguments
from blocks.page.pictures import themed_svg

WIDGET = "application/vnd.jupyter.widget-view+json"
NOTE = "To change the settings and train again, run this chapter in Colab or Jupyter."
# The second press of a double click reaches the kernel when the run has ended.
PAUSE = 0.3  # seconds

# The open panels by name: a cell that runs again closes the panel that it made before.
_open: dict[str, "Experiment"] = {}


def experiment(
    run: Callable[..., Mapping[str, Any]],
    fig: Figure,
    *,
    result: Mapping[str, Any],
    steps: int,
    alt: str,
    summary: str,
    name: str = "",
    **controls: Control,
) -> "Experiment":
    """Pair a function that trains with the figure that shows what it returns.

    `run(report, **settings)` gets the settings as Python values (of a choice, its name)
    and calls `report(step, loss)` with steps 1, ..., `steps` on its way. It returns a
    dict of arrays, of which each moves the artists with its `gid`, as in `live`, or one
    number that stands in `summary`: "the loss is {loss:.2f}". `result` is what it
    returns for the settings at which the controls begin: a page without a kernel shows
    that and says where the rest runs. `name` is the panel's own (the name of the
    function unless given); a panel closes an earlier one of its name. Raises ValueError
    where controls and arguments or results and artists do not pair, and where a shape
    does not fit its artist; what `run` raises is shown in the panel.
    """
    check_arguments(run, controls, given=1)
    address = name or run.__name__.replace("_", "-")
    panel = Experiment(run, fig, address, steps, alt, summary, controls)
    panel.show(result)
    if address in _open:
        _open[address].close()
    _open[address] = panel
    return panel


class Experiment:
    """A training run behind a button; `values` holds the settings by name."""

    def __init__(self, run, fig, name, steps, alt, summary, controls):
        self._run, self._fig, self._name, self._alt = run, fig, name, alt
        self._summary, self._controls = summary, controls
        self._parts = artists.find(fig)
        self._steps, self._ended, self._page = steps, -PAUSE, ""
        self._inputs = {key: _widget(key, c) for key, c in controls.items()}
        self._picture, self._words = ipywidgets.HTML(), ipywidgets.HTML()
        self._bar = ipywidgets.IntProgress(min=0, max=steps, description="ready")
        self._button = ipywidgets.Button(description="Run", button_style="primary")
        self._button.on_click(self._pressed)
        row = ipywidgets.HBox([self._button, self._bar])
        self.panel = ipywidgets.VBox(
            [*self._inputs.values(), row, self._picture, self._words]
        )

    @property
    def values(self) -> dict[str, Any]:
        return {name: widget.value for name, widget in self._inputs.items()}

    def _pressed(self, _: Any) -> None:
        if not self._button.disabled and time.monotonic() - self._ended >= PAUSE:
            self.start()

    def start(self) -> None:
        """Train with the present settings, and show what came of it."""
        self._button.disabled = True
        self._bar.value = 0
        self._bar.description = "running"
        try:
            self.show(self._run(self._report, **self.values))
            self._bar.description = "done"
        except KeyboardInterrupt:
            self._bar.description = "stopped"
        except Exception as error:
            self._bar.description = "failed"
            message = html.escape(f"{type(error).__name__}: {error}")
            self._words.value = f'<p role="alert">{message}</p>'
        finally:
            self._button.disabled = False
            self._ended = time.monotonic()

    def _report(self, step: int, loss: Any) -> None:
        # A message for each of many steps is more than a notebook takes.
        if step % max(1, self._steps // 100) == 0 or step == self._steps:
            self._bar.value = step
            self._bar.description = f"loss {float(loss):.3g}"

    def show(self, result: Mapping[str, Any]) -> None:
        """Let the figure and the sentence below it show these results."""
        settings = self.values
        values = {name: np.asarray(value) for name, value in result.items()}
        artists.check_pairs(set(values), set(self._parts), set(settings), self._summary)
        for name, parts in self._parts.items():
            kind = artists.kind_of(name, parts, values[name].shape)
            artists.show(kind, parts, values[name])
        for ax in self._fig.axes:
            ax.relim()
            ax.autoscale_view()
        svg = themed_svg(self._fig, f"experiment-{self._name}", self._alt)
        plt.close(self._fig)
        words = html.escape(artists.fill(self._summary, settings | values))
        self._picture.value = (
            f'<figure class="picture" style="margin:1em 0">{svg}</figure>'
        )
        self._words.value = f'<p role="status">{words}</p>'
        shown = ", ".join(
            _setting(name, self._controls[name], value)
            for name, value in settings.items()
        )
        self._page = (
            f'<div class="experiment">{self._picture.value}<p>{words}</p>'
            f'<p class="note">Shown for {html.escape(shown)}. {NOTE}</p></div>'
        )

    def close(self) -> None:
        """Take the panel out of the notebook, with what its button would start."""
        self._button.on_click(self._pressed, remove=True)
        row = self.panel.children[len(self._inputs)]
        for widget in (self.panel, *self.panel.children, *row.children):
            widget.close()

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        view = {
            "version_major": 2,
            "version_minor": 0,
            "model_id": self.panel.model_id,
        }
        return {WIDGET: view, "text/html": self._page, "text/plain": self._alt}


def _setting(name: str, control: Control, value: Any) -> str:
    """One setting in words: "learning rate 0.01"."""
    if isinstance(control, Switch):
        text = "on" if value else "off"
    elif isinstance(control, Choice):
        text = value
    else:
        text = f"{value:.4g} {control.unit}".rstrip()
    return f"{control.label or name} {text}"


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
    if control.unit:
        words["description"] += f" ({control.unit})"
    if control.whole:
        return ipywidgets.IntSlider(min=control.low, max=control.high, **words)
    words |= {"step": control.describe()["step"], "readout_format": ".4"}
    if not control.log:
        return ipywidgets.FloatSlider(min=control.low, max=control.high, **words)
    low, high = np.log10([control.low, control.high])
    return ipywidgets.FloatLogSlider(min=low, max=high, **words)
