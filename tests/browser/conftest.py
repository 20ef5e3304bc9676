"""A real Chromium, and the built book at an address."""

import pytest
from book_site import CHROMIUM, FLAGS, served
from live_site import HEAR, write
from playwright.sync_api import Page, sync_playwright
from visits import Visit, watch


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


@pytest.fixture(scope="module")
def live_address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    write(folder)
    with served(folder) as address:
        yield address


@pytest.fixture
def opened(browser, live_address):
    """Opens the page of live figures in a context with these settings.

    In the end no console may have spoken, and nothing may have been asked elsewhere.
    """
    contexts, visits = [], []

    def opened(after="", **settings) -> Page:
        wide = {"viewport": {"width": 1000, "height": 900}, "color_scheme": "light"}
        context = browser.new_context(**(wide | settings))
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(HEAR)
        visits.append(Visit("live", page))
        watch(page, visits[-1])
        page.goto(f"{live_address}index.html{after}")
        if settings.get("java_script_enabled", True):
            page.wait_for_selector("#second[data-live]")
        return page

    yield opened
    for visit in visits:
        assert not visit.complaints and not visit.failures
        own = (live_address, "data:", "blob:")
        assert all(url.startswith(own) for url in visit.requests)
    for context in contexts:
        context.close()
