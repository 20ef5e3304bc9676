"""A copy under another name and address, built, published to a repository on disk."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from mini_book import ROOT, Book

SERVER, PATH = "https://github.com", "a-reader/of-halves"
KEYS = "GITHUB_SERVER_URL GITHUB_REPOSITORY GITHUB_SHA GITHUB_REF_TYPE GITHUB_REF_NAME"


def git(folder: Path, *command: str) -> str:
    who = "-c", "user.name=a reader", "-c", "user.email=reader@example.org"
    done = subprocess.run(
        ["git", *who, *command], cwd=folder, capture_output=True, encoding="utf8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Clone:
    """A checkout of the miniature book whose origin is a bare repository on disk."""

    def __init__(self, book: Book, origin: Path, patch: pytest.MonkeyPatch):
        self.book, self.origin, self.patch = book, origin, patch

    def commit(self, words: str) -> str:
        git(self.book.folder, "add", "--all")
        git(self.book.folder, "commit", "--quiet", "-m", words)
        commit = git(self.book.folder, "rev-parse", "HEAD")
        self.patch.setenv("GITHUB_SHA", commit)
        return commit

    def build(self) -> None:
        status, said = self.book.build()
        assert status == 0, said

    def publish(self) -> tuple[int, str]:
        return self.book.run("scripts/publish.py")

    def files(self, branch: str) -> list[str]:
        return git(self.origin, "ls-tree", "-r", "--name-only", branch).splitlines()


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A clone whose first commit has been built and published."""
    folder = tmp_path_factory.mktemp("clone")
    book, origin = Book.new(folder / "book"), folder / "origin.git"
    git(folder, "init", "--quiet", "--bare", str(origin))
    git(book.folder, "init", "--quiet", "-b", "trunk")
    git(book.folder, "remote", "add", "origin", str(origin))
    (book.folder / ".gitignore").write_text("/_build/\n/node_modules\n__pycache__/\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("BOOK_ADDRESS", raising=False)
        values = SERVER, PATH, "", "branch", "trunk"
        for key, value in zip(KEYS.split(), values, strict=True):
            patch.setenv(key, value)
        clone = Clone(book, origin, patch)
        clone.first = clone.commit("one")
        clone.build()
        status, clone.said = clone.publish()
        assert status == 0, clone.said
        yield clone


def links(page: str) -> dict[str, str]:
    """The targets of the page's own links, by their words."""
    shown = "".join(re.findall(r'<p class="page-links">(.*?)</p>', page, re.S))
    found = re.findall(r'<a href="([^"]*)"[^>]*>(.*?)</a>', shown)
    return {words: target.replace("&amp;", "&") for target, words in found}


def test_the_button_opens_a_notebook_that_has_been_published(published):
    target = links(published.book.page("first"))["Open in Colab"]
    head = f"https://colab.research.google.com/github/{PATH}/blob/"
    assert target == f"{head}notebooks/{published.first}/first.ipynb"
    branch, file = target.removeprefix(head).split("/", 1)
    book = json.loads(git(published.origin, "show", f"{branch}:{file}"))
    call = "".join(book["cells"][0]["source"]).splitlines()[-1]
    assert f"{SERVER}/{PATH}/archive/{published.first}.zip" in call


def test_every_page_leads_to_its_source_and_to_where_a_mistake_is_told(published):
    for name, mine in (("first", 4), ("intro", 2)):
        found = links(published.book.page(name))
        assert len(found) == mine
        assert found["Edit this page"] == f"{SERVER}/{PATH}/edit/trunk/book/{name}.md"
        report = found["Report a mistake"]
        assert report.startswith(
            f"{SERVER}/{PATH}/issues/new?title=A+mistake+in+book%2F"
        )
        assert published.first in report


def test_a_page_offers_its_notebook_at_a_relative_address(published):
    target = links(published.book.page("second"))["Download notebook (.ipynb)"]
    page = published.book.folder / "_build/html/book/second.html"
    assert json.loads((page.parent / target).read_text("utf8"))["cells"]


def test_the_site_is_whole_on_its_branch_and_right_under_any_path(published):
    files = published.files("gh-pages")
    assert {".nojekyll", "index.html", "book/first.html", "_static/book.css"} <= {
        *files
    }
    for file in files:
        if file.endswith(".html") and file != "404.html":
            page = git(published.origin, "show", f"gh-pages:{file}")
            assert not re.search(r'(?:href|src)="/', page), file


def test_nothing_that_is_published_names_another_repository(published):
    for branch in ("notebooks", "gh-pages"):
        pages = branch, "--", "*.html", "*.ipynb"
        text = git(
            published.origin, "grep", "-ohE", r"github\.(com|io)/[^\" )]*", *pages
        )
        assert text and all("of-halves" in place for place in text.splitlines()), text


def test_a_second_push_of_a_commit_changes_nothing(published):
    before = git(published.origin, "rev-parse", "notebooks", "gh-pages")
    status, said = published.publish()
    assert status == 0 and said.count("nothing new") == 2
    assert git(published.origin, "rev-parse", "notebooks", "gh-pages") == before


def test_it_is_published_in_the_name_of_who_made_the_commit(published):
    for branch in ("notebooks", "gh-pages"):
        told = git(published.origin, "log", "--format=%an %ae %cn %s", branch)
        assert told.startswith("a reader reader@example.org a reader ")
        assert published.first in told


def test_changes_and_an_older_build_are_refused_and_a_later_commit_keeps_the_folder(
    published,
):
    published.book.change("book/first.md", "half of five is 2.5.", "five halves: 2.5.")
    status, said = published.publish()
    assert status and "not published: the checkout has changes" in said
    second = published.commit("two")
    status, said = published.publish()
    assert status and f"the book is not built at {second}" in said
    published.build()
    status, said = published.publish()
    assert status == 0 and said.count("pushed") == 2
    folders = {file.split("/")[0] for file in published.files("notebooks")}
    assert folders == {published.first, second}
    assert git(published.origin, "rev-list", "--count", "notebooks") == "2"


def test_a_checkout_elsewhere_than_the_ci_says_is_refused(published, monkeypatch):
    monkeypatch.setenv("GITHUB_SHA", "0" * 40)
    status, said = published.publish()
    assert status and f"the checkout does not stand at {'0' * 40}" in said


def test_without_an_address_there_is_a_download_and_nothing_else(published, tmp_path):
    copy = published.book.copy(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        for key in KEYS.split():
            patch.delenv(key)
        status, said = copy.build()
        assert status == 0, said
        assert [*links(copy.page("first"))] == ["Download notebook (.ipynb)"]
        assert not links(copy.page("intro"))
        file = copy.folder / "_build/html/notebooks/first.ipynb"
        cells = json.loads(file.read_text("utf8"))["cells"]
        assert "".join(cells[0]["source"]).endswith('", "", "")')
        status, said = copy.run("scripts/publish.py")
    assert status and "not published: no address is known" in said


def test_the_workflows_only_call_what_runs_anywhere():
    targets = subprocess.run(
        ["make", "help"], cwd=ROOT, env=os.environ, capture_output=True, encoding="utf8"
    ).stdout
    commands = []
    for file in (ROOT / ".github/workflows").glob("*.yml"):
        for job in yaml.safe_load(file.read_text("utf8"))["jobs"].values():
            commands += [step["run"] for step in job["steps"] if "run" in step]
    assert {".ci/run", "make publish"} <= set(commands)
    for command in set(commands) - {".ci/run"}:
        assert re.search(rf"^{command} ", targets, re.M), command
