"""Brings the module that wakes live figures to the pages that have one."""

import shutil
from pathlib import Path

from sphinx.application import Sphinx

MODULES = "live.mjs", "hydrate.mjs"


def bring_modules(app: Sphinx, failure: Exception | None) -> None:
    """Lay the modules of `blocks/live` beside the pages, and name them where needed."""
    if failure or app.builder.name != "html":
        return
    out = Path(app.outdir)
    mark = 'class="live-figure"'
    pages = [p for p in out.rglob("*.html") if mark in p.read_text("utf8")]
    if not pages:
        return
    target = out / "_static" / "live"
    target.mkdir(parents=True, exist_ok=True)
    for module in MODULES:
        shutil.copy(Path(app.srcdir, "blocks", "live", module), target)
    for page in pages:
        up = "../" * (len(page.relative_to(out).parts) - 1)
        script = f'<script type="module" src="{up}_static/live/hydrate.mjs"></script>'
        text = page.read_text("utf8")
        page.write_text(text.replace("</body>", f"{script}\n</body>"), "utf8")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", bring_modules)
