"""A live figure follows every kind of control, in Chromium."""

import numpy as np
import pytest
from live_reader import PHONE, check_drawn, drag, field, settings
from live_site import CONTROLS, DEFAULTS
from visits import settled

NOT_A_NUMBER = ["", "-", "99", "-4"]


def test_the_figure_begins_at_the_defaults(opened):
    check_drawn(opened(), DEFAULTS)


def test_the_mouse_drags_each_slider_and_the_figure_follows_on_the_way(opened):
    page = opened()
    expected = dict(DEFAULTS)
    for name in ("slope", "phase", "n"):
        before = page.evaluate("drawn.everything.length")
        drag(page, page.locator(f"#everything [name={name}]"), 0.8)
        settled(page)
        assert page.evaluate("drawn.everything.length") > before + 3
        now = settings(page)[name]
        control = CONTROLS[name]
        assert control.value < now < control.high
        expected[name] = now
        check_drawn(page, expected)


def test_the_mouse_reaches_both_ends_exactly(opened):
    page = opened()
    for name in ("slope", "phase", "n"):
        slider = page.locator(f"#everything [name={name}]")
        for end, reached in ((1, CONTROLS[name].high), (0, CONTROLS[name].low)):
            drag(page, slider, end)
            assert settings(page)[name] == reached


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        (
            "slope",
            {
                "ArrowRight": 10**0.01,
                "ArrowDown": 10**-0.01,
                "PageUp": 10**0.1,
                "Home": 0.1,
                "End": 10.0,
            },
        ),
        ("phase", {"ArrowUp": 1.02, "ArrowLeft": 0.98, "PageDown": 0.8, "End": 6.0}),
        ("n", {"ArrowRight": 4, "PageUp": 10, "PageDown": 1, "Home": 1}),
    ],
)
def test_keys_move_a_slider_by_its_step(opened, name, keys):
    page = opened()
    slider = page.locator(f"#everything [name={name}]")
    unit = " rad" if name == "slope" else ""
    for key, value in keys.items():
        slider.press(key)
        settled(page)
        now = settings(page)[name]
        # A handle on a logarithmic axis stops at numbers of three digits.
        assert now == pytest.approx(value, rel=5e-3), key
        check_drawn(page, DEFAULTS | {name: now})
        assert slider.get_attribute("aria-valuetext") == f"{now:.4g}{unit}"
        page.get_by_role("button", name="Reset").first.click()


def test_a_number_that_is_typed_is_taken_as_it_stands(opened):
    page = opened()
    field(page, "phase").fill("1.23456")
    field(page, "slope").fill("0.123")
    field(page, "a whole number").fill("7")
    check_drawn(page, DEFAULTS | {"phase": 1.23456, "slope": 0.123, "n": 7})
    assert page.locator("#everything [name=n]").input_value() == "7"


@pytest.mark.parametrize("typed", NOT_A_NUMBER)
def test_what_is_no_number_of_the_range_is_said_and_neither_lost_nor_clamped(
    opened, typed
):
    page = opened()
    number = field(page, "phase")
    number.fill("2.5")
    number.press("ControlOrMeta+a")
    page.keyboard.type(typed) if typed else number.press("Delete")
    check = page.locator("#everything .live-fault:not(:empty)")
    assert check.all_inner_texts() == ["A number from 0 to 6."]
    assert number.get_attribute("aria-invalid") == "true"
    assert check.get_attribute("role") == "alert"
    number.blur()
    kept = number.evaluate("n => n.value")
    assert kept == ("" if typed == "-" else typed)
    settled(page)
    assert page.evaluate("drawn.everything.at(-1).mark[0]") == -0.5
    number.fill("3")
    assert check.count() == 0 and number.get_attribute("aria-invalid") == "false"
    check_drawn(page, DEFAULTS | {"phase": 3})


def test_a_part_of_a_whole_number_is_refused(opened):
    page = opened()
    field(page, "a whole number").fill("2.5")
    fault = page.locator("#everything .live-fault:not(:empty)")
    assert fault.all_inner_texts() == ["A whole number from 1 to 10."]
    settled(page)
    assert page.evaluate("drawn.everything.at(-1).count[0]") == 4
    page.locator("#everything [name=n]").press("ArrowRight")
    assert fault.count() == 0
    check_drawn(page, DEFAULTS | {"n": 4})


def test_a_choice_and_a_switch(opened):
    page = opened()
    page.get_by_label("kind").select_option("relu")
    page.get_by_label("turn it over").check()
    check_drawn(page, DEFAULTS | {"kind": "relu", "flip": True})
    page.get_by_label("kind").press("ArrowDown")
    page.get_by_label("turn it over").press("Space")
    check_drawn(page, DEFAULTS)


def test_a_finger_drags_and_taps(opened):
    page = opened(**PHONE)
    slider = page.locator("#everything [name=phase]")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    touch = page.context.new_cdp_session(page)
    spots = np.linspace(box["x"] + box["width"] / 6, box["x"] + box["width"] * 0.7, 6)
    for k, x in enumerate(spots):
        point = {"x": float(x), "y": box["y"] + box["height"] / 2}
        kind = "touchMove" if k else "touchStart"
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    settled(page)
    assert 3 < settings(page)["phase"] < 5
    page.get_by_label("turn it over").tap()
    check_drawn(page, settings(page) | {"flip": True})


def test_play_runs_until_it_is_paused_and_begins_anew_at_the_end(opened):
    page = opened()
    page.get_by_role("button", name="Play: phase").click()
    page.wait_for_function("drawn.everything.at(-1).mark[0] > -1.5")
    page.get_by_role("button", name="Pause: phase").click()
    page.wait_for_timeout(150)
    stands = settings(page)
    page.wait_for_timeout(300)
    assert settings(page) == stands
    check_drawn(page, stands)
    page.locator("#everything [name=phase]").press("End")
    page.get_by_role("button", name="Play: phase").click()
    page.wait_for_function("drawn.everything.at(-1).mark[0] < 0")
    page.get_by_role("button", name="Reset").first.click()
    page.wait_for_timeout(300)
    check_drawn(page, DEFAULTS)


def test_play_stops_at_the_end(opened):
    page = opened()
    field(page, "phase").fill("5.9")
    page.get_by_role("button", name="Play: phase").click()
    page.get_by_role("button", name="Play: phase").wait_for()
    check_drawn(page, DEFAULTS | {"phase": 6})


def test_play_goes_in_few_steps_where_motion_is_to_be_reduced(opened):
    page = opened(reduced_motion="reduce")
    page.get_by_role("button", name="Play: phase").click()
    page.wait_for_function("drawn.everything.at(-1).mark[0] > -1.5")
    seen = page.evaluate("drawn.everything.map(out => out.mark[0])")
    assert np.diff(seen) == pytest.approx(0.6, abs=1e-5)


def test_reset_brings_every_setting_back(opened):
    page = opened()
    for name in ("slope", "phase", "n"):
        page.locator(f"#everything [name={name}]").press("PageDown")
    page.get_by_label("kind").select_option("relu")
    page.get_by_label("turn it over").check()
    page.get_by_role("button", name="Reset").first.click()
    check_drawn(page, DEFAULTS)


# A figure in a notebook, whose kernel answers what the reader does with an echo.
ECHO = """async () => {
  const { default: widget } = await import("./live.mjs");
  const text = await (await fetch("index.html")).text();
  const told = new DOMParser().parseFromString(text, "text/html")
    .querySelector("#second");
  const state = JSON.parse(told.querySelector("script").textContent);
  Object.assign(state, {svg: told.querySelector("svg").outerHTML, caption: ""});
  let listener;
  const model = {
    get: key => state[key], set: (key, value) => { state[key] = value; },
    save_changes() {}, on: (_, heard) => { listener = heard; },
  };
  const el = document.createElement("div");
  Object.assign(el, {id: "again", className: "live-figure"});
  document.body.append(el);
  await widget.render({model, el});
  const [field, seen] = [el.querySelector("input[type=number]"), []];
  const kernel = scale => {
    state.values = {scale};
    listener();
    seen.push([state.values.scale, field.valueAsNumber]);
  };
  field.value = 1.5;
  field.dispatchEvent(new Event("input", {bubbles: true}));
  kernel(1);
  await new Promise(done => setTimeout(done, 300));
  kernel(0.75);
  return seen;
}"""


def test_an_echo_of_the_kernel_does_not_undo_what_the_reader_did_since(opened):
    assert opened().evaluate(ECHO) == [[1.5, 1.5], [0.75, 0.75]]
