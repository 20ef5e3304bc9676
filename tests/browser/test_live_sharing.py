"""What a live figure gives away: a call, a link, a sentence."""

import numpy as np
from live_reader import change_all, check_drawn, copied, field
from live_site import DEFAULTS, everything
from visits import settled


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


def test_what_a_link_cannot_ask_for_is_passed_over(opened):
    page = opened("#everything?slope=100&phase=x&n=2.5&kind=tanh&flip=perhaps&n=4")
    check_drawn(page, DEFAULTS | {"n": 4})
    for asked in (
        "everything?slope=&phase=NaN&n=&kind=&flip=",
        "everything?slope=Infinity&other=1&constructor=2&flip=constructor",
        "everything?%&=&&phase=%E0%A4%A",
    ):
        page.evaluate("asked => { location.hash = asked }", asked)
        check_drawn(page, DEFAULTS)
    check_drawn(opened("#%E0%A4%A?phase=2"), DEFAULTS)


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
