"""Where the book is kept and where it is read, from its checkout or the CI around it.

Nothing here is written down in the repository, so a fork is right from its first build.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

GITHUB = "https://github.com"
COLAB = "https://colab.research.google.com/github"
NOTEBOOKS = "notebooks"  # the branch that they are published on
# https://host/owner/name, ssh://git@host/owner/name and git@host:owner/name. A path, a
# bare machine or a number in the host's place is no address for others.
REMOTE = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^/@]+@)?(?P<host>[\w.-]+\.[a-z]+)(?::\d+)?/"
    r"|(?:[^/@]+@)?(?P<short>[\w.-]+\.[a-z]+):/*)(?P<path>[^/:]+(?:/[^/:]+?)+)(?:\.git)?/*"
)


@dataclass(frozen=True)
class Address:
    """An empty string stands for what is not known; `site` ends in a slash."""

    repository: str = ""
    commit: str = ""
    branch: str = ""
    site: str = ""

    @property
    def archive(self) -> str:
        """The source of exactly this commit, as pip can install it."""
        if not (self.repository and self.commit):
            return ""
        return f"{self.repository}/archive/{self.commit}.zip"

    def colab(self, name: str) -> str:
        """Where Colab opens the published notebook of this name."""
        # Colab reads from this one host, and takes another's names for its own.
        if not self.archive or not self.repository.startswith(f"{GITHUB}/"):
            return ""
        path = self.repository.removeprefix(GITHUB)
        return f"{COLAB}{path}/blob/{NOTEBOOKS}/{self.commit}/{name}.ipynb"


def git(root: Path, *command: str, given: str = "", **settings: str) -> str:
    """What git says in a checkout; CalledProcessError where it refuses."""
    # In a container the checkout can belong to another user than the one who builds.
    return subprocess.run(
        ["git", "-c", f"safe.directory={root}", *command],
        cwd=root,
        input=given,
        env=os.environ | settings,
        check=True,
        capture_output=True,
        encoding="utf8",
    ).stdout.strip()


def ask(root: Path, *command: str) -> str:
    """The same, or nothing where there is no git, checkout or answer."""
    try:
        return git(root, *command)
    except (OSError, subprocess.CalledProcessError):
        return ""


def repository_of(remote: str) -> str:
    """The https address of a remote; nothing where only this machine can reach it."""
    match = REMOTE.fullmatch(remote)
    return f"https://{match['host'] or match['short']}/{match['path']}" if match else ""


def pages_of(repository: str) -> str:
    """Where GitHub Pages serves a repository."""
    if not repository.startswith(f"{GITHUB}/"):
        return ""
    owner, name = repository.removeprefix(f"{GITHUB}/").split("/", 1)
    host = f"{owner.lower()}.github.io"
    return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"


def find(root: Path, environment: Mapping[str, str] = os.environ) -> Address:
    """The address of the book in `root`.

    GITHUB_SERVER_URL, GITHUB_REPOSITORY and GITHUB_SHA together go before the checkout.
    BOOK_ADDRESS names where the book is read, if not on GitHub Pages.
    """
    names = "GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_SHA"
    server, path, commit = (environment.get(name, "") for name in names)
    if server and path and commit:
        repository = f"{server.rstrip('/')}/{path}"
        is_branch = environment.get("GITHUB_REF_TYPE") == "branch"
        branch = environment.get("GITHUB_REF_NAME", "") if is_branch else ""
    elif ask(root, "rev-parse", "--show-toplevel") == str(root.resolve()):
        repository = repository_of(ask(root, "remote", "get-url", "origin"))
        commit = ask(root, "rev-parse", "--verify", "HEAD")
        branch = ask(root, "symbolic-ref", "--short", "HEAD")
    else:
        return Address(site=slashed(environment.get("BOOK_ADDRESS", "")))
    site = environment.get("BOOK_ADDRESS", "") or pages_of(repository)
    return Address(repository, commit, branch, slashed(site))


def slashed(site: str) -> str:
    return f"{site.rstrip('/')}/" if site else ""
