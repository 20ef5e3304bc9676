"""A computed table is one on a page, in a notebook and in a terminal."""

import xml.etree.ElementTree as ElementTree

import pytest

from blocks.page import Table

TABLE = Table(("rule", "share"), [("L2 & co", "<0.1>"), ("paper", "0.2")], "by <hand>")


def test_a_terminal_gets_lines_that_are_markdown():
    lines = ["| rule | share |", "| --- | --- |", "| L2 & co | <0.1> |"]
    assert repr(TABLE).splitlines() == [*lines, "| paper | 0.2 |", "", "by <hand>"]
    assert repr(Table(["x"], [["1"]])) == "| x |\n| --- |\n| 1 |"


def test_the_page_gets_a_table_with_named_columns():
    page = ElementTree.fromstring(f"<div>{TABLE._repr_html_()}</div>")
    assert [th.text for th in page.iter("th")] == ["rule", "share"]
    assert all(th.get("scope") == "col" for th in page.iter("th"))
    assert [td.text for td in page.iter("td")] == ["L2 & co", "<0.1>", "paper", "0.2"]
    assert page.find("p").text == "by <hand>"
    assert "<p" not in Table(["x"], [["1"]])._repr_html_()


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="needs 2 cells.*rule, share; got 1: L2"):
        Table(("rule", "share"), [("L2",)])
