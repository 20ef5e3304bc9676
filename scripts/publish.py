"""Publishes the built book from its checkout: pushes two branches to `origin`.

`notebooks` gets a folder named by the commit, beside those of earlier commits, since a
page that somebody has open still leads there. `gh-pages` becomes the site. Nothing is
forced, and where nothing changes nothing is pushed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from book_address import NOTEBOOKS, ask, find, git

SITE = "gh-pages"
ATTEMPTS = 3  # others may push to the branch of notebooks at the same time


def stored(folder: Path) -> str:
    """A folder as git's tree, whatever the checkout ignores."""
    with tempfile.TemporaryDirectory() as place:
        settings = {"GIT_INDEX_FILE": str(Path(place, "index"))}
        settings["GIT_WORK_TREE"] = str(folder)
        as_is = "-c", "core.autocrlf=false"
        git(ROOT, *as_is, "add", "--all", "--force", str(folder), **settings)
        tree = git(ROOT, "write-tree", **settings)
    return tree


def beside(parent: str, tree: str, name: str) -> str:
    """The tree of `parent` with another under this name."""
    entries = git(ROOT, "ls-tree", parent).splitlines() if parent else []
    entries = [entry for entry in entries if entry.partition("\t")[2] != name]
    entries.append(f"040000 tree {tree}\t{name}")
    return git(ROOT, "mktree", given="\n".join(entries) + "\n")


def push(branch: str, tree: str, commit: str, folder: str = "") -> bool:
    """Make a branch hold a tree, or hold it in a folder; whether it had to change."""
    parent = ""
    if git(ROOT, "ls-remote", "origin", f"refs/heads/{branch}"):
        git(ROOT, "fetch", "--quiet", "--no-tags", "origin", f"refs/heads/{branch}")
        parent = git(ROOT, "rev-parse", "FETCH_HEAD")
    whole = beside(parent, tree, folder) if folder else tree
    if parent and git(ROOT, "rev-parse", f"{parent}^{{tree}}") == whole:
        return False
    # In the name of who made the commit that is published, and with its date.
    told = git(ROOT, "show", "--no-patch", "--format=%an%n%ae%n%aI", commit)
    name, mail, date = told.splitlines()
    who = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", name), ("EMAIL", mail), ("DATE", date))
    }
    words = "commit-tree", whole, "-m", f"{branch} of {commit}"
    made = git(ROOT, *words, *(["-p", parent] if parent else []), **who)
    git(ROOT, "push", "--quiet", "origin", f"{made}:refs/heads/{branch}")
    return True


def fault() -> str:
    """Why this may not be published, in one line; else nothing."""
    address = find(ROOT)
    if not address.archive:
        return "no address is known: publish from a clone with a remote `origin`"
    if address.commit != ask(ROOT, "rev-parse", "HEAD"):
        return f"the checkout does not stand at {address.commit}"
    if ask(ROOT, "status", "--porcelain"):
        return "the checkout has changes: commit them, then publish"
    books = sorted(HTML.glob("notebooks/*.ipynb"))
    if not books or any(address.archive not in b.read_text("utf8") for b in books):
        return f"the book is not built at {address.commit}: run `make build`"
    if not (HTML / ".nojekyll").exists():
        return "_build/html has no .nojekyll, without which hosts drop its folders"
    return ""


def main() -> None:
    if reason := fault():
        sys.exit(f"not published: {reason}")
    commit = find(ROOT).commit
    for branch, folder in ((NOTEBOOKS, HTML / "notebooks"), (SITE, HTML)):
        tree = stored(folder)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                inside = commit if branch == NOTEBOOKS else ""
                changed = push(branch, tree, commit, inside)
                break
            except subprocess.CalledProcessError as error:
                if attempt == ATTEMPTS:
                    sys.exit(f"not published: {branch}: {error.stderr.strip()}")
        print(f"{branch}: {'pushed' if changed else 'nothing new'}", flush=True)


if __name__ == "__main__":
    main()
