import re

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter

from blocks.live import Choice, Slider, Switch, experiment

STEPS = 8
CONTROLS = {
    "rate": Slider(0.0, 1.0, 0.5, label="learning rate", unit="per step"),
    "width": Slider(1, 9, 3),
    "decay": Slider(1e-4, 1e-1, 3e-3, log=True),
    "rule": Choice(("AdamW", "SGD"), "AdamW"),
    "scaled": Switch(True, label="scale the step"),
}


def train(report, rate, width, decay, rule, scaled):
    losses = jnp.arange(STEPS, 0, -1) * rate
    for step, loss in enumerate(losses, start=1):
        report(step, loss)
    return {"losses": losses, "final": losses[-1]}


RESULT = train(lambda step, loss: None, 0.5, 3, 3e-3, "AdamW", True)


def make(run=train, *, result=RESULT, steps=STEPS, summary="it ends at {final:.2f}"):
    fig, ax = plt.subplots()
    ax.plot(np.arange(STEPS), np.zeros(STEPS), gid="losses")
    return experiment(
        run, fig, result=result, steps=steps, alt="losses", summary=summary, **CONTROLS
    )


def parts(made):
    """The inputs by name, the button, the bar, the picture and the words of a panel."""
    *inputs, row, picture, words = made.panel.children
    return dict(zip(CONTROLS, inputs, strict=True)), *row.children, picture, words


def heights(html):
    """How high each point of the curve stands in the drawing, upwards."""
    (path,) = re.findall(r'id="[^"]*-losses".*?d="([^"]*)"', html, re.S)
    return [-float(y) for _, y in re.findall(r"([\d.]+) ([\d.]+)", path)]


def test_the_panel_begins_with_the_result_that_is_stored():
    open_before = plt.get_fignums()
    _, _, bar, picture, words = parts(make())
    assert words.value == '<p role="status">it ends at 0.50</p>'
    assert 'aria-label="losses"' in picture.value
    drawn = heights(picture.value)
    assert len(drawn) == STEPS and drawn == sorted(drawn, reverse=True)
    assert bar.value == 0 and plt.get_fignums() == open_before


def test_each_run_begins_with_an_empty_bar():
    seen = []

    def run(report, rate, width, decay, rule, scaled):
        seen.append(parts(made)[2].value)
        report(STEPS, 0.5)
        return RESULT

    made = make(run)
    made.start()
    made.start()
    assert seen == [0, 0]


def test_the_settings_reach_the_run_as_python_values():
    got = []

    def run(report, rate, width, decay, rule, scaled):
        got.append([rate, width, decay, rule, scaled])
        return RESULT

    made = make(run)
    inputs, *_ = parts(made)
    inputs["rate"].value, inputs["width"].value, inputs["decay"].value = 0.25, 7, 0.01
    inputs["rule"].value, inputs["scaled"].value = "SGD", False
    made.start()
    assert got == [[0.25, 7, pytest.approx(0.01), "SGD", False]]
    assert [type(value) for value in got[0]] == [float, int, float, str, bool]
    assert list(made.values.values()) == got[0]


def test_the_inputs_have_the_ranges_of_the_controls():
    inputs, *_ = parts(make())
    assert (inputs["rate"].min, inputs["rate"].max) == (0.0, 1.0)
    assert (inputs["width"].min, inputs["width"].max) == (1, 9)
    assert (inputs["decay"].min, inputs["decay"].max) == pytest.approx((-4, -1))
    assert inputs["rule"].options == ("AdamW", "SGD")
    words = [widget.description for widget in inputs.values()]
    assert words[0] == "learning rate (per step)" and words[1] == "width"
    assert words[4] == "scale the step"


def test_a_press_trains_and_shows_what_came_of_it():
    made = make()
    inputs, button, bar, picture, words = parts(made)
    before = picture.value
    inputs["rate"].value = 1.0
    button.click()
    assert words.value == '<p role="status">it ends at 1.00</p>'
    assert bar.value == STEPS and bar.description == "done"
    assert picture.value != before and not button.disabled


def test_the_bar_moves_and_the_button_rests_while_it_trains():
    seen = []

    def run(report, rate, width, decay, rule, scaled):
        _, button, bar, *_ = parts(made)
        for step in (1, 4, 8):
            report(step, 1 / step)
            seen.append((bar.value, bar.description, button.disabled))
        return RESULT

    made = make(run)
    made.start()
    assert seen == [
        (1, "loss 1", True),
        (4, "loss 0.25", True),
        (8, "loss 0.125", True),
    ]


def test_many_steps_send_few_messages():
    moves = []

    def run(report, rate, width, decay, rule, scaled):
        parts(made)[2].observe(lambda change: moves.append(change["new"]), "value")
        for step in range(1, 10_051):
            report(step, 1.0)
        return RESULT

    made = make(run, steps=10_050)
    made.start()
    assert 50 < len(moves) < 150 and moves[-1] == 10_050


def test_twenty_runs_leave_one_picture():
    open_before = plt.get_fignums()
    made = make()
    _, _, bar, picture, _ = parts(made)
    before = len(made.panel.children)
    first = picture.value
    for _ in range(20):
        made.start()
        assert bar.description == "done"
    assert picture.value.count("<svg") == 1 and len(made.panel.children) == before
    assert picture.value == first  # the settings are those of the stored result
    assert plt.get_fignums() == open_before


def test_the_axes_follow_the_result():
    made = make()
    inputs, *_, picture, _ = parts(made)
    before = heights(picture.value)
    assert ">4.0<" in picture.value and ">0.40<" not in picture.value
    inputs["rate"].value = 0.05  # a tenth of the height, in axes that follow
    made.start()
    assert heights(picture.value) == pytest.approx(before, abs=0.01)
    assert ">0.40<" in picture.value and ">4.0<" not in picture.value


def test_an_error_is_shown_and_leaves_the_panel_usable():
    def run(report, rate, width, decay, rule, scaled):
        if width == 9:
            raise FloatingPointError("the loss is <nan> at step 3")
        return RESULT

    made = make(run)
    inputs, button, bar, picture, words = parts(made)
    before = picture.value
    inputs["width"].value = 9
    made.start()
    told = "FloatingPointError: the loss is &lt;nan&gt; at step 3"
    assert words.value == f'<p role="alert">{told}</p>' and bar.description == "failed"
    assert picture.value == before and not button.disabled
    inputs["width"].value = 1
    made.start()
    assert "it ends at 0.50" in words.value and bar.description == "done"


def test_an_interrupted_run_leaves_the_panel_usable():
    def run(report, rate, width, decay, rule, scaled):
        raise KeyboardInterrupt

    made = make(run)
    _, button, bar, *_ = parts(made)
    made.start()
    assert bar.description == "stopped" and not button.disabled


def test_a_run_that_diverges_is_shown_as_far_as_it_goes():
    def run(report, rate, width, decay, rule, scaled):
        losses = np.array([1, 2, 4, np.inf, np.nan, np.nan, np.nan, np.nan])
        return {"losses": losses, "final": losses[-1]}

    made = make(run)
    *_, picture, words = parts(made)
    made.start()
    assert "it ends at nan" in words.value and len(heights(picture.value)) == 3


def test_a_double_click_is_one_run(monkeypatch):
    runs, now = [], [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def run(report, rate, width, decay, rule, scaled):
        runs.append(rate)
        parts(made)[1].click()  # while it trains
        now[0] += 60
        return RESULT

    made = make(run)
    _, button, *_ = parts(made)
    button.click()
    now[0] += 0.1  # the second press has waited for the end of the run
    button.click()
    assert len(runs) == 1
    now[0] += 0.5
    button.click()
    assert len(runs) == 2


def test_a_cell_that_runs_again_leaves_no_old_panel():
    runs = []

    def again():
        def run(report, rate, width, decay, rule, scaled):
            runs.append(rate)
            return RESULT

        return make(run)

    old = again()
    _, old_button, *_ = parts(old)
    new = again()
    old_button.click()
    assert runs == [] and old.panel.comm is None
    parts(new)[1].click()
    assert len(runs) == 1 and new.panel.comm is not None


def test_panels_of_two_names_live_side_by_side():
    def run(report):
        return {"y": np.zeros(2)}

    def panel(name):
        fig, ax = plt.subplots()
        ax.plot([0, 1], [0, 1], gid="y")
        words = {"alt": "a line", "summary": "", "name": name}
        return experiment(run, fig, result=run(None), steps=1, **words)

    one, two = panel("one"), panel("two")
    assert one.panel.comm is not None and two.panel.comm is not None
    ids = [
        set(re.findall(r'id="([^"]*)"', p.panel.children[1].value)) for p in (one, two)
    ]
    assert ids[0] and not ids[0] & ids[1]


def test_the_bundle_has_the_widget_and_the_stored_result():
    made = make()
    data, _ = DisplayFormatter().format(made)
    view = data["application/vnd.jupyter.widget-view+json"]
    assert view["model_id"] == made.panel.model_id and view["version_major"] == 2
    page = data["text/html"]
    assert page.count("<svg") == 1 and "<p>it ends at 0.50</p>" in page
    assert data["text/plain"] == "losses"


def test_a_page_says_what_is_shown_and_where_the_rest_runs():
    page = DisplayFormatter().format(make())[0]["text/html"]
    assert (
        '<p class="note">Shown for learning rate 0.5 per step, width 3, decay 0.003, '
        "rule AdamW, scale the step on. To change the settings and train again, run "
        "this chapter in Colab or Jupyter.</p>"
    ) in page
    assert not re.search("<(input|button|select)", page)


def test_a_page_keeps_a_result_with_its_own_settings():
    made = make()
    parts(made)[0]["rate"].value = 1.0  # moved, and not yet run
    assert "learning rate 0.5 " in made._repr_mimebundle_()["text/html"]
    made.start()
    page = made._repr_mimebundle_()["text/html"]
    assert "learning rate 1 " in page and "it ends at 1.00" in page


def test_an_argument_without_a_control():
    def run(report, rate, width, decay, rule, scaled, momentum):
        return RESULT

    with pytest.raises(ValueError, match="no control moves momentum of run"):
        make(run)


def test_a_control_that_is_no_argument():
    def run(report, rate, width, decay, rule):
        return RESULT

    with pytest.raises(ValueError, match="run has no argument scaled"):
        make(run)


def test_a_result_that_fits_no_artist():
    with pytest.raises(ValueError, match="no artist has the gid other"):
        make(result={**RESULT, "other": np.zeros(2)})
    with pytest.raises(ValueError, match=r"'losses' of shape \(3,\) does not fit"):
        make(result={**RESULT, "losses": np.zeros(3)})


def test_a_run_that_returns_less_says_so():
    def run(report, rate, width, decay, rule, scaled):
        return {"losses": RESULT["losses"]}

    made = make(run)
    made.start()
    assert "the summary names final, which is no result" in parts(made)[-1].value
