"""A table that a cell computes, as a page, a notebook and a terminal show it."""

import html
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class Table:
    """Rows under the names of their columns; `note` stands below.

    Every cell is a text. A row of another length than `head` raises ValueError.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def __post_init__(self):
        for row in self.rows:
            if len(row) != len(self.head):
                names, given = ", ".join(self.head), ", ".join(map(str, row))
                raise ValueError(
                    f"each row needs {len(self.head)} cells, one for each of {names}; "
                    f"got {len(row)}: {given}"
                )

    def __repr__(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{table}\n\n{self.note}" if self.note else table

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{html.escape(x)}</th>' for x in self.head)
        body = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>"
            for row in self.rows
        )
        note = f'<p class="note">{html.escape(self.note)}</p>' if self.note else ""
        return (
            f'<table class="table computed"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table>{note}"
        )
