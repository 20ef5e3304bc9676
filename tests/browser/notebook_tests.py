"""What a live figure and a panel must do in every notebook with a kernel."""

import pytest
from notebooks import GO, Home
from playwright.sync_api import Locator, Page, expect

# Where each of some nodes stands among its siblings.
PLACES = "nodes => nodes.map(node => [...node.parentNode.children].indexOf(node))"
# How far a bar has come, each time it moves.
WATCH = """bar => {
  window.widths = [];
  new MutationObserver(() => widths.push(bar.style.width))
    .observe(bar, {attributes: true});
}"""
# The least contrast of the words in an element with what is painted behind them.
CONTRAST = """root => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => numbers(colour).slice(0, 3).reduce((sum, c, k) => {
    c /= 255;
    const linear = c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return sum + [0.2126, 0.7152, 0.0722][k] * linear;
  }, 0);
  const behind = node => {
    for (let up = node; up; up = up.parentElement) {
      const colour = getComputedStyle(up).backgroundColor;
      if ((numbers(colour)[3] ?? 1) > 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const told = 'label, input:not([type=range]), button, select, p, text';
  const words = [...root.querySelectorAll(told)]
    .filter(node => node.value || node.textContent.trim());
  const found = words.map(node => {
    const style = getComputedStyle(node), text = node.matches('text');
    const [a, b] = [light(text ? style.fill : style.color), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    return [ratio, node.outerHTML.slice(0, 80)];
  });
  return {count: found.length, least: found.sort((a, b) => a[0] - b[0])[0]};
}"""


class LiveFigure:
    """The tests of a `home`, alike in every notebook."""

    def test_dragging_redraws_while_the_kernel_is_busy(self, home: Home):
        unit = home.reset()
        home.until_the_kernel_has(1.0)
        home.start("busy")
        drag(home.page, home.slider, 0.25, 0.75)
        slope = float(home.slider.input_value())
        assert 2.5 < slope < 3.5
        assert home.curve()[-1] / unit == pytest.approx(slope, abs=0.01)
        assert "*" in home.cell("busy").locator(home.prompt).inner_text()
        (home.folder / GO).touch()
        assert home.finish("busy").strip() == "{'slope': 1.0}"
        home.until_the_kernel_has(slope)

    def test_keys_move_the_slider_and_leave_the_notebook_alone(self, home: Home):
        unit = home.reset()
        home.slider.focus()
        chosen = home.page.locator(home.chosen).evaluate_all(PLACES)
        cells = home.page.locator(home.cells).count()
        for key in ("ArrowRight", "ArrowUp", "ArrowUp", "ArrowDown", "ArrowRight", "b"):
            home.page.keyboard.press(key)
        expect(home.slider).to_be_focused()
        value = float(home.slider.input_value())
        assert value == pytest.approx(1.06), value
        assert home.curve()[-1] / unit == pytest.approx(1.06, abs=0.01)
        typed = home.figure.get_by_role("spinbutton")
        typed.focus()
        home.page.keyboard.press("Control+A")
        home.page.keyboard.type("2.5")
        assert home.curve()[-1] / unit == pytest.approx(2.5, abs=0.01)
        assert home.page.locator(home.chosen).evaluate_all(PLACES) == chosen
        assert home.page.locator(home.cells).count() == cells
        home.until_the_kernel_has(2.5)

    def test_values_set_in_a_cell_move_the_slider_and_the_figure(self, home: Home):
        unit = home.reset()
        home.run("set")
        expect(home.slider).to_have_value("3")
        assert home.curve()[-1] / unit == pytest.approx(3, abs=0.01)
        assert home.figure.get_by_role("spinbutton").input_value() == "3"
        expect(home.figure.locator(".live-summary")).to_have_text("The slope is 3.")

    def test_an_edited_function_is_a_new_figure(self, home: Home):
        home.reset()
        before = home.curve()
        home.cell("figure").locator(home.editor).click()
        home.cell("figure").locator(home.focused).wait_for()
        for key in ("Control+Home", "End", "ArrowLeft", "Backspace", "2"):
            home.page.keyboard.press(key)
        home.run("figure")
        expect(home.figure).to_have_count(1)
        square = [height * k / 10 for k, height in enumerate(before)]
        home.until(lambda: home.curve() == pytest.approx(square, abs=0.02))
        home.slider.focus()
        home.page.keyboard.press("PageUp")
        assert home.curve() == pytest.approx([1.2 * y for y in square], abs=0.02)

    def test_a_panel_trains_once_with_its_settings(self, home: Home):
        home.run("panel")
        panel = home.cell("panel").locator(".widget-vbox")
        expect(panel).to_contain_text("The rate is 0.50.")
        # ipywidgets' own read-out takes typing too.
        panel.locator(".widget-readout").click()
        home.page.keyboard.press("Control+A")
        home.page.keyboard.type("0.8")
        home.page.keyboard.press("Enter")
        before = panel.locator("svg").inner_html()
        panel.locator(".progress-bar").evaluate(WATCH)
        panel.get_by_role("button", name="Run").dblclick()
        expect(panel).to_contain_text("The rate is 0.80.")
        expect(panel).to_contain_text("done")
        assert home.page.evaluate("new Set(widths).size") >= 4
        assert panel.locator("svg").count() == 1
        assert panel.locator("svg").inner_html() != before
        assert home.run("runs").strip() == "[0.8] {'rate': 0.8}"
        expect(panel.get_by_role("button", name="Run")).to_be_enabled()


def drag(page: Page, slider: Locator, start: float, end: float) -> None:
    """Move the handle of a slider from one part of its length to another."""
    box = slider.bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + start * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], y, steps=10)
    page.mouse.up()
