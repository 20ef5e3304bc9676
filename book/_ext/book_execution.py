"""Executes the chapters: side by side, and again only when their code has changed.

What a chapter shows follows from its cells, and from the package, the stored results,
the lock and this file. The latter make a digest that names the cache folder; in it
jupyter-cache keys a chapter by its cells. Prose is no part of either, so a change of
prose runs nothing.
"""

import hashlib
import os
import re
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import datetime
from pathlib import Path

import book_outputs
import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn, JupyterCacheAbstract
from myst_nb.core.read import create_nb_reader
from nbclient import NotebookClient
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
ANSI = re.compile(r"\x1b\[[0-9;]*m")
# A chapter compiles hundreds of programs and computes little with each.
QUICK = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
# Variables by which a reader's own settings would change what a chapter shows.
FOREIGN = ("JAX", "XLA_", "TF_", "MPL", "MATPLOTLIB", "IPYTHON", "JUPYTER", "BLOCKS_")


def digest(root: Path) -> str:
    """Name of the state of everything beside its own cells that a chapter reads."""
    total = hashlib.sha256(f"{sys.version_info[:2]} {sys.platform}".encode())
    files = [root / "requirements.txt", Path(__file__)]
    for folder in ("blocks", "results"):
        files += sorted((root / folder).rglob("*"))
    for path in files:
        if path.is_file() and "__pycache__" not in path.parts:
            total.update(f"{os.path.relpath(path, root)}\0".encode())
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


def isolate(root: Path) -> None:
    """Give the kernels the tree that is being built and none of the user's settings."""
    for name in [n for n in os.environ if n.startswith(FOREIGN)]:
        del os.environ[name]
    os.environ |= {
        "PYTHONPATH": str(root),
        "PYTHONHASHSEED": "0",
        "JAX_PLATFORMS": "cpu",
        # Progress bars are for those who wait: a page has none.
        "BLOCKS_BOOK": "1",
        "JUPYTER_PREFER_ENV_PATH": "1",
        "IPYTHONDIR": str(root / "_build" / "ipython"),
        # An existing, empty file: matplotlib then looks for no other.
        "MATPLOTLIBRC": os.devnull,
    }


def choose_cache(app: Sphinx, config: Config) -> None:
    root = Path(app.srcdir)
    isolate(root)
    folder = root / "_build" / "executed" / digest(root)
    for other in folder.parent.glob("*"):
        if other != folder:
            shutil.rmtree(other)
    folder.mkdir(parents=True, exist_ok=True)
    config.nb_execution_cache_path = str(folder)


def notebooks(env: BuildEnvironment) -> dict[str, NotebookNode]:
    """The chapters that have cells, read as the parser will read them."""
    found = {}
    for page in sorted(env.found_docs):
        path = env.doc2path(page)
        text = Path(path).read_text("utf8")
        reader = create_nb_reader(path, env.myst_config, env.mystnb_config, text)
        if reader is not None:
            found[page] = reader.read(text)
    return found


def is_cached(cache: JupyterCacheAbstract, notebook: NotebookNode) -> bool:
    try:
        cache.match_cache_notebook(notebook)
    except KeyError:
        return False
    return True


def slowest_cell(notebook: NotebookNode) -> float:
    """Seconds of the cell that took longest, to be set beside the timeout."""
    seconds = [0.0]
    for cell in notebook.cells:
        times = cell.metadata.pop("execution", {})
        ends = [times.get(f"iopub.{name}") for name in ("execute_input", "status.idle")]
        if all(ends):
            start, stop = (datetime.fromisoformat(t.replace("Z", "")) for t in ends)
            seconds.append((stop - start).total_seconds())
    return round(max(seconds), 2)


def compiling(root: Path, page: str) -> dict[str, str]:
    """Settings by which jax compiles quickly, and keeps what it compiles for a page.

    Each page has a folder of its own: jax writes there without a lock.
    """
    return {
        "XLA_FLAGS": QUICK,
        "JAX_COMPILATION_CACHE_DIR": str(root / "_build" / "compiled" / page),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }


def run(root: Path, page: str, notebook: NotebookNode, timeout: int) -> float:
    """Execute the cells of a page where they stand; the seconds it took."""
    start = time.perf_counter()
    client = NotebookClient(
        notebook,
        resources={"metadata": {"path": str(root / Path(page).parent)}},
        timeout=timeout,
        record_timing=True,
        extra_arguments=["--log-level=40"],
    )
    client.execute(env=os.environ | compiling(root, page))
    return time.perf_counter() - start


def execute(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Fill the cache, then hold every output against what a page may show."""
    cache = get_cache(env.mystnb_config.execution_cache_path)
    found = notebooks(env)
    missing = {page: nb for page, nb in found.items() if not is_cached(cache, nb)}
    faults = []
    env.executed_now = set(missing)
    workers = min(4, os.cpu_count() or 1)
    with ThreadPoolExecutor(workers) as pool:
        timeout = env.mystnb_config.execution_timeout
        jobs = {
            pool.submit(run, Path(app.srcdir), page, nb, timeout): page
            for page, nb in missing.items()
        }
        for done, job in enumerate(as_completed(jobs), start=1):
            page, place = jobs[job], f"({done} of {len(jobs)})"
            try:
                seconds = job.result()
            except Exception as error:  # a cell that fails, a kernel that died
                LOGGER.info(f"failed   {page} {place}")
                faults.append(f"{page}: {ANSI.sub('', str(error)).strip()}")
                continue
            LOGGER.info(f"executed {page} {seconds:.1f} s {place}")
            whole = missing[page]
            times = {
                "execution_seconds": seconds,
                "slowest_cell": slowest_cell(whole),
            }
            # A page without a kernel has no use for the state of widgets.
            whole.metadata.pop("widgets", None)
            bundle = CacheBundleIn(whole, env.doc2path(page), data=times)
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    env.execution_times = {}
    for page, notebook in found.items():
        if is_cached(cache, notebook):
            record, whole = cache.merge_match_into_notebook(notebook)
            record = cache.get_cache_record(record)
            env.execution_times[page] = record.data
            faults += [f"{page}: {fault}" for fault in book_outputs.faults(whole)]
            kept = Path(app.srcdir, "_build", "notebooks", f"{page}.ipynb")
            kept.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(whole, kept)
    if faults:
        raise ExtensionError("the chapters do not stand:\n" + "\n".join(faults))


def report(app: Sphinx, failure: Exception | None) -> None:
    """Print and keep how long each chapter takes to execute."""
    times = getattr(app.env, "execution_times", {}) if app.env else {}
    if failure or not times:
        return
    lines = [f"{'chapter':24}{'seconds':>9}{'slowest cell':>14}"]
    for page, seconds in times.items():
        kept = "" if page in app.env.executed_now else "  (kept)"
        total, cell = seconds["execution_seconds"], seconds["slowest_cell"]
        lines.append(f"{page:24}{total:9.1f}{cell:14.1f}{kept}")
    total = sum(seconds["execution_seconds"] for seconds in times.values())
    lines.append(f"{'together':24}{total:9.1f}")
    Path(app.outdir, "times.txt").write_text("\n".join(lines) + "\n", "utf8")
    LOGGER.info("\n" + "\n".join(lines))


def setup(app: Sphinx) -> None:
    app.connect("config-inited", choose_cache)
    app.connect("env-before-read-docs", execute)
    app.connect("build-finished", report)
