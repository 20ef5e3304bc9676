"""Citations by author and year in round brackets, and the lists they lead to.

No sentence shows the label of an entry, so it is the entry's key and the style sheet
hides it: initials and years soon meet where each chapter has a list of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pybtex.database import Entry
from pybtex.plugin import register_plugin as register_in_pybtex
from pybtex.style.formatting.plain import Style
from pybtex.style.labels import BaseLabelStyle
from sphinx.application import Sphinx
from sphinxcontrib.bibtex.plugin import register_plugin
from sphinxcontrib.bibtex.style.referencing import BracketStyle
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle


def round_brackets() -> BracketStyle:
    return BracketStyle(left="(", right=")")


@dataclass
class RoundReferenceStyle(AuthorYearReferenceStyle):
    """Author (year) and (Author, year), where the library has square brackets."""

    bracket_textual: BracketStyle = field(default_factory=round_brackets)
    bracket_parenthetical: BracketStyle = field(default_factory=round_brackets)


class KeyLabels(BaseLabelStyle):
    def format_labels(self, sorted_entries: list[Entry]) -> Iterator[str]:
        return (entry.key for entry in sorted_entries)


class ByAuthorAndYear(Style):
    default_label_style = KeyLabels
    default_sorting_style = "author_year_title"


def setup(app: Sphinx) -> None:
    kind = "sphinxcontrib.bibtex.style.referencing"
    register_plugin(kind, "round", RoundReferenceStyle)
    register_in_pybtex("pybtex.style.formatting", "by_year", ByAuthorAndYear)
