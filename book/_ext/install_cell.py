"""The first cell of each notebook; `book_notebooks` appends the call."""


def prepare(name, commit, source):
    """Install the package of this chapter, and upgrade nothing that is installed."""
    import importlib.util
    import re
    import subprocess
    import sys
    import tempfile
    from importlib import metadata

    from packaging.version import InvalidVersion, Version

    def pip(*command):
        command = sys.executable, "-m", "pip", "--disable-pip-version-check", *command
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"pip could not install {name}: {done.stderr.strip()}")

    keep, origin = {}, None
    for found in metadata.distributions():
        try:
            key = re.sub(r"[-_.]+", "-", found.metadata.get("Name")).lower()
            if key != name:
                keep.setdefault(key, f"{key}=={Version(found.version)}")
            elif origin is None:
                origin = found.read_text("direct_url.json") or ""
        except (InvalidVersion, TypeError):
            continue  # pip does not see these either
    there = origin is not None and commit in origin
    if not source:  # built from a copy of the book that nobody can reach
        there = importlib.util.find_spec("blocks") is not None
    if not there:
        if not source:
            raise RuntimeError(
                "this notebook does not know where its package is published: "
                "pip install a copy of the book, then run this cell again"
            )
        if "blocks" in sys.modules:
            other = re.search(r"\b[0-9a-f]{40}\b", origin or "")
            raise RuntimeError(
                f"blocks of commit {other[0][:12] if other else 'unknown'} is loaded, "
                f"and this chapter wants {commit[:12]}: restart the session (menu "
                "Runtime or Kernel), then run this cell again"
            )
        if origin is not None:
            pip("uninstall", "--yes", name)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
            constraints.write("\n".join(keep.values()))
            constraints.flush()
            pip("install", "-c", constraints.name, f"{name}[page] @ {source}")
        importlib.invalidate_caches()

    import jax
    import numpy

    device = jax.devices()[0]
    print(f"Python {sys.version.split()[0]}, jax {jax.__version__}, ", end="")
    print(f"numpy {numpy.__version__}, blocks of commit {commit[:12] or 'unknown'}")
    print(f"on {device.platform} ({device.device_kind})")
