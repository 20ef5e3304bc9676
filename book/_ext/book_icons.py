"""Cuts the theme's icon fonts down to the icons that the pages use."""

import re
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

CLASSES = re.compile(r"\bfa-[a-z0-9-]+")
RULE = re.compile(r'((?:\.fa-[\w-]+:{1,2}before,?)+)\{content:"\\([0-9a-f]+)"')
CONTENT = re.compile(r'content:\s*"\\([0-9a-f]{4})"')
SOURCES = re.compile(r"src:url\([^)]*?(fa-[a-z]+-\d+)\.woff2\)[^;}]*")


def used_icons(out: Path, css: str) -> set[int]:
    """The code points that classes in pages and scripts, or rules of style, ask for."""
    files = [*out.rglob("*.html"), *out.rglob("*.js")]
    asked = {name for file in files for name in CLASSES.findall(file.read_text("utf8"))}
    points = {
        int(point, 16)
        for names, point in RULE.findall(css)
        if asked & set(CLASSES.findall(names))
    }
    for sheet in out.rglob("*.css"):
        rules = RULE.sub("", sheet.read_text("utf8"))
        points |= {int(point, 16) for point in CONTENT.findall(rules)}
    return points


def subset(app: Sphinx, failure: Exception | None) -> None:
    if failure or app.builder.name != "html":
        return
    out = Path(app.outdir)
    sheet = out / "_static" / "styles" / "pydata-sphinx-theme.css"
    css = sheet.read_text("utf8")
    points = used_icons(out, css)
    for file in (out / "_static" / "vendor" / "fontawesome" / "webfonts").glob("*.ttf"):
        font = TTFont(file)
        cutter = Subsetter(Options(layout_features=[], notdef_outline=True))
        cutter.populate(unicodes=points & set(font.getBestCmap()))
        cutter.subset(font)
        font.flavor = "woff"
        font.save(file.with_suffix(".woff"))
        file.unlink()
        file.with_suffix(".woff2").unlink()
    folder = "../vendor/fontawesome/webfonts/"
    css = SOURCES.sub(rf'src:url({folder}\1.woff) format("woff")', css)
    sheet.write_text(css, "utf8")
    sheet.with_suffix(".css.map").unlink(missing_ok=True)


def setup(app: Sphinx) -> None:
    app.connect("build-finished", subset)
