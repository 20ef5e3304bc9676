"""A real Chromium, and the built book at an address."""

import pytest
from book_site import CHROMIUM, FLAGS, served
from playwright.sync_api import sync_playwright


@pytest.fixture(scope="module")
def browser():
    assert CHROMIUM.exists(), "Chromium is missing: apt-get install chromium"
    with sync_playwright() as playwright:
        with playwright.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS
        ) as browser:
            yield browser


@pytest.fixture(scope="module")
def address():
    with served() as address:
        yield address
