"""What the reader does to a live figure, and what comes of it, in Chromium."""

import re

import jax
import numpy as np
import pytest
from live_site import CONTROLS, DEFAULTS, everything, second
from test_pages import AXE
from visits import BEYOND, settled

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
VIEWS = {"everything": everything, "second": second}
NOT_A_NUMBER = ["", "-", "99", "-4"]


def settings(page):
    """The settings as the controls show them."""
    return page.evaluate(
        """() => Object.fromEntries(
          [...document.querySelectorAll('#everything .live-controls [name]')].map(n =>
            [n.name, n.type === 'checkbox' ? n.checked : n.type === 'range'
              ? n.nextSibling.firstChild.valueAsNumber : n.value]))"""
    )


def check_drawn(page, expected):
    """The controls show these settings, and the figure what JAX returns for them."""
    settled(page)
    assert settings(page) == expected
    arguments = {name: CONTROLS[name].argument(expected[name]) for name in expected}
    results = jax.jit(lambda kw: everything(**kw))(arguments)
    last = page.evaluate("drawn.everything.at(-1)")
    for name, value in results.items():
        value = np.ravel(value)
        atol = 2e-6 * max(1, np.abs(value).max())
        np.testing.assert_allclose(last[name], value, rtol=0, atol=atol, err_msg=name)


def field(page, label):
    return page.get_by_label(f"{label}, as a number")


def drag(page, slider, end):
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    start = float(slider.evaluate("n => (n.value - n.min) / (n.max - n.min)"))
    page.mouse.move(box["x"] + 8 + (box["width"] - 16) * start, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, middle, steps=8)
    page.mouse.up()


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
    ("name", "key", "value"),
    [
        ("slope", "ArrowRight", 10**0.01),
        ("slope", "ArrowDown", 10**-0.01),
        ("slope", "PageUp", 10**0.1),
        ("slope", "Home", 0.1),
        ("slope", "End", 10.0),
        ("phase", "ArrowUp", 1.03),
        ("phase", "ArrowLeft", 0.97),
        ("phase", "PageDown", 0.7),
        ("phase", "End", 6.0),
        ("n", "ArrowRight", 4),
        ("n", "PageUp", 10),
        ("n", "PageDown", 1),
        ("n", "Home", 1),
    ],
)
def test_keys_move_a_slider_by_its_step(opened, name, key, value):
    page = opened()
    slider = page.locator(f"#everything [name={name}]")
    slider.press(key)
    settled(page)
    # A handle on a logarithmic axis stops at numbers of three digits.
    assert settings(page)[name] == pytest.approx(value, rel=5e-3)
    check_drawn(page, DEFAULTS | {name: settings(page)[name]})
    unit = " rad" if name == "slope" else ""
    said = slider.get_attribute("aria-valuetext")
    assert said == f"{settings(page)[name]:.4g}{unit}"


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
    page.get_by_role("button", name="Play phase").click()
    page.wait_for_function("drawn.everything.at(-1).mark[0] > -1.5")
    page.get_by_role("button", name="Pause phase").click()
    page.wait_for_timeout(150)
    stands = settings(page)
    page.wait_for_timeout(300)
    assert settings(page) == stands
    check_drawn(page, stands)
    page.locator("#everything [name=phase]").press("End")
    page.get_by_role("button", name="Play phase").click()
    page.wait_for_function("drawn.everything.at(-1).mark[0] < 0")
    page.get_by_role("button", name="Reset").first.click()
    page.wait_for_timeout(300)
    check_drawn(page, DEFAULTS)


def test_play_stops_at_the_end(opened):
    page = opened()
    field(page, "phase").fill("5.9")
    page.get_by_role("button", name="Play phase").click()
    page.get_by_role("button", name="Play phase").wait_for()
    check_drawn(page, DEFAULTS | {"phase": 6})


def test_play_goes_in_few_steps_where_motion_is_to_be_reduced(opened):
    page = opened(reduced_motion="reduce")
    page.get_by_role("button", name="Play phase").click()
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


def copied(page, button):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=button).first.click()
    page.get_by_role("button", name="Copied").wait_for()
    return page.evaluate("navigator.clipboard.readText()")


def change_all(page):
    field(page, "slope").fill("0.3")
    field(page, "a whole number").fill("7")
    page.locator("#everything [name=phase]").press("PageUp")
    page.get_by_label("kind").select_option("relu")
    page.get_by_label("turn it over").check()
    settled(page)
    return {"slope": 0.3, "phase": 1.3, "n": 7, "kind": "relu", "flip": True}


def test_the_call_that_is_copied_returns_what_is_drawn(opened):
    page = opened()
    change_all(page)
    call = copied(page, "Copy as Python")
    results = eval(call, {"everything": everything})
    last = page.evaluate("drawn.everything.at(-1)")
    for name, value in results.items():
        np.testing.assert_allclose(last[name], np.ravel(value), atol=4e-6)


def test_the_link_reopens_the_page_with_the_settings(opened):
    page = opened()
    expected = change_all(page)
    link = copied(page, "Copy link")
    other = opened("#" + link.split("#")[1])
    assert other.url == link
    check_drawn(other, expected)
    other.evaluate("location.hash = '#everything?kind=gelu+%26+co&phase=2'")
    check_drawn(other, DEFAULTS | {"phase": 2})
    other.get_by_role("button", name="Reset").first.click()
    check_drawn(other, DEFAULTS)


@pytest.mark.parametrize(
    "query",
    [
        "slope=100&phase=x&n=2.5&kind=tanh&flip=perhaps",
        "slope=&phase=NaN&n=&kind=&flip=",
        "slope=Infinity&other=1&constructor=2&flip=constructor",
        "%&=&&phase=%E0%A4%A",
    ],
)
def test_what_a_link_cannot_ask_for_is_passed_over(opened, query):
    check_drawn(opened(f"#everything?{query}"), DEFAULTS)
    check_drawn(opened(f"#everything?{query}&n=4"), DEFAULTS | {"n": 4})
    check_drawn(opened(f"#%E0%A4%A?{query}&n=4"), DEFAULTS)


def test_without_a_clipboard_the_text_stands_ready(opened):
    page = opened()
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.get_by_role("button", name="Copy as Python").last.click()
    line = page.get_by_role("textbox", name="Copy as Python")
    assert line.input_value() == "second(scale=1)"
    assert page.evaluate("getSelection().toString()") == "second(scale=1)"
    line.blur()
    assert line.count() == 0


def test_the_sentence_follows_and_is_spoken_once_it_rests(opened):
    page = opened()
    words = page.locator("#everything .live-summary")
    spoken = page.locator("#everything [aria-live=polite]")
    field(page, "a whole number").fill("7")
    page.get_by_label("kind").select_option("relu")
    settled(page)
    peak = page.evaluate("drawn.everything.at(-1).peak[0]")
    said = f"The peak is {peak:.4g} and the count 7; n is 7, relu."
    assert words.inner_text() == said
    page.wait_for_function(
        "document.querySelector('#everything [aria-live=polite]').textContent"
        f" === {said!r}"
    )
    assert spoken.count() == 1


def test_the_drawing_and_its_caption_stand_without_javascript(opened):
    page = opened(java_script_enabled=False)
    alt = "Six pictures with everything that a live figure can move"
    assert page.get_by_role("img", name=alt).bounding_box()["width"] > 600
    assert page.get_by_text("All that moves").is_visible()
    assert page.locator("input, button, select").count() == 0


def test_paper_shows_the_figure_without_its_controls(opened):
    page = opened()
    page.locator("#everything [name=phase]").press("End")
    page.emulate_media(media="print")
    for seen in ("#everything svg", "figcaption", "#everything .live-summary"):
        assert page.locator(seen).is_visible()
    for hidden in page.locator("input, select, button").all():
        assert not hidden.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("phone", [False, True])
def test_axe_finds_no_fault(opened, scheme, phone):
    page = opened(color_scheme=scheme, **(PHONE if phone else {}))
    page.get_by_role("button", name="Read a cell of “weights”").press("ArrowDown")
    field(page, "phase").fill("99")
    page.evaluate(AXE.read_text("utf8"))
    found = page.evaluate("axe.run(document)")["violations"]
    assert not [(v["id"], v["nodes"][0]["html"][:200]) for v in found]


def test_the_colours_follow_the_theme(opened):
    colours = [
        opened(color_scheme=scheme)
        .locator("#everything-curve path, #everything .live-panel")
        .evaluate_all(
            "all => all.map(n => [getComputedStyle(n).stroke,"
            " getComputedStyle(n).backgroundColor].join())"
        )
        for scheme in ("light", "dark")
    ]
    assert len(colours[0]) == 2
    assert all(a != b for a, b in zip(*colours, strict=True))


def test_on_a_phone_nothing_stands_out_and_a_finger_hits_every_control(opened):
    page = opened(**PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert not page.evaluate(BEYOND)
    for control in page.locator("input, select, button").all():
        box = control.bounding_box()
        assert min(box["height"], box["width"]) >= 24
    # The drawing keeps a size at which its text can be read, and scrolls.
    assert page.locator("#everything svg").bounding_box()["width"] == 560
    box = page.locator("#everything .scroll")
    box.press("ArrowRight")
    page.wait_for_function("document.querySelector('.scroll').scrollLeft > 0")


def test_wide_enough_a_page_has_no_bar_to_scroll(opened):
    page = opened()
    boxes = page.locator(".scroll").evaluate_all(
        "all => all.map(n => [n.scrollWidth, n.clientWidth])"
    )
    assert len(boxes) == 2 and all(inner == outer for inner, outer in boxes)


def test_two_figures_share_no_id(opened):
    ids = opened().evaluate("[...document.querySelectorAll('[id]')].map(n => n.id)")
    assert len(ids) > 100 and len(set(ids)) == len(ids)
    assert not [name for name in ids if not re.match("everything|second|live-", name)]


def test_a_figure_that_fails_says_so_and_keeps_its_drawing(browser, live_address):
    page = browser.new_page()
    errors = []
    page.on("console", lambda message: errors.append(message.text))

    def broken(route):
        text = route.fetch().text().replace("export function run", "function run", 1)
        route.fulfill(body=text, content_type="text/html")

    page.route("**/index.html", broken)
    page.goto(f"{live_address}index.html")
    page.wait_for_selector("#second[data-live]")
    assert page.locator("#everything svg").count() == 1
    assert page.locator("#everything .live-panel").count() == 0
    assert page.get_by_text("This figure cannot move in your browser.").is_visible()
    assert len(errors) == 1 and errors[0].startswith("everything")
    page.close()
