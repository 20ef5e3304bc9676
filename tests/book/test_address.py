"""Where a book is kept and read, as its remote and the CI around it say."""

import importlib
import sys

import pytest
from mini_book import ROOT
from test_publish import KEYS, PATH, SERVER, git

sys.path.insert(0, str(ROOT / "book" / "_ext"))
book_address = importlib.import_module("book_address")
Address, find = book_address.Address, book_address.find


@pytest.mark.parametrize(
    "remote",
    [
        f"{SERVER}/{PATH}",
        f"{SERVER}/{PATH}.git",
        f"{SERVER}/{PATH}/",
        f"https://a-token@github.com/{PATH}.git",
        f"git@github.com:{PATH}.git",
        f"ssh://git@github.com:22/{PATH}.git",
        f"ssh://git@github.com/{PATH}",
    ],
)
def test_every_form_of_a_remote_is_one_address(remote):
    assert book_address.repository_of(remote) == f"{SERVER}/{PATH}"


@pytest.mark.parametrize(
    "remote",
    ["/a/path/of.git", "../of.git", "file:///a/path", "C:/a/path", "", "server:a/path",
     "http://me@127.0.0.1:9000/git/a/path", "http://localhost/a/path"],
)  # fmt: skip
def test_a_remote_that_others_cannot_reach_is_no_address(remote):
    assert book_address.repository_of(remote) == ""


@pytest.mark.parametrize(
    "repository, site",
    [
        (f"{SERVER}/A-Reader/of-halves", "https://a-reader.github.io/of-halves/"),
        (f"{SERVER}/A-Reader/A-Reader.github.io", "https://a-reader.github.io/"),
        ("https://git.example.org/a-reader/of-halves", ""),
    ],
)
def test_the_book_is_read_where_pages_serves_its_repository(repository, site):
    assert book_address.pages_of(repository) == site


def test_only_what_colab_can_open_has_a_button():
    assert Address(f"{SERVER}/{PATH}", "c0", "", "").colab("x").endswith("/c0/x.ipynb")
    assert Address("https://git.example.org/a/b", "c0", "", "").colab("x") == ""
    assert Address(f"{SERVER}/{PATH}").colab("x") == Address(commit="c0").archive == ""


def test_a_checkout_tells_its_address_and_the_ci_goes_before_it(tmp_path):
    assert find(tmp_path, {}) == Address()
    git(tmp_path, "init", "--quiet", "-b", "trunk")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "one")
    git(tmp_path, "remote", "add", "origin", f"git@github.com:{PATH}.git")
    commit = git(tmp_path, "rev-parse", "HEAD")
    pages = "https://a-reader.github.io/of-halves/"
    assert find(tmp_path, {}) == Address(f"{SERVER}/{PATH}", commit, "trunk", pages)
    (tmp_path / "inside").mkdir()
    assert find(tmp_path / "inside", {}) == Address()
    here = {"BOOK_ADDRESS": "https://book.example.org"}
    assert find(tmp_path, here).site == "https://book.example.org/"
    values = "https://git.example.org", "b/c", "d0", "tag", "v1"
    told = dict(zip(KEYS.split(), values, strict=True))
    assert find(tmp_path, told) == Address("https://git.example.org/b/c", "d0")
    del told["GITHUB_SHA"]
    assert find(tmp_path, told).repository == f"{SERVER}/{PATH}"
