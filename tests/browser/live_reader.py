"""What a reader does to the live figure of `live_site`, and sees of it."""

import jax
import numpy as np
from live_site import CONTROLS, everything
from visits import settled

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


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


def change_all(page):
    field(page, "slope").fill("0.3")
    field(page, "a whole number").fill("7")
    page.locator("#everything [name=phase]").press("PageUp")
    page.get_by_label("kind").select_option("relu")
    page.get_by_label("turn it over").check()
    settled(page)
    return {"slope": 0.3, "phase": 1.2, "n": 7, "kind": "relu", "flip": True}


def copied(page, button):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=button).first.click()
    page.get_by_role("button", name="Copied").wait_for()
    return page.evaluate("navigator.clipboard.readText()")
