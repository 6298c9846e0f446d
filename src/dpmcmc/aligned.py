# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables as text, no wider than a page, and as HTML for notebooks."""

import html
import re
import textwrap
import unicodedata
from collections.abc import Collection, Sequence
from itertools import zip_longest

__all__ = ["WIDTH", "aligned", "broken", "columns_of", "filled", "in_html"]

WIDTH = 88
"""The widest line that is printed."""

_GAP = "  "


def filled(line: str) -> str:
    """A line of words, broken if it is too wide; what follows is indented."""
    return textwrap.fill(line, WIDTH, subsequent_indent=_GAP)


def aligned(
    rows: Sequence[Sequence[str]], *, right: Collection[int], broken_at: Collection[int]
) -> list[str]:
    """The lines of a table.

    Parameters
    ----------
    rows
        The cells of each row, the header among them.
    right
        The columns of numbers, which are set to the right.
    broken_at
        The columns whose cells may be broken where lines would be too wide: first the
        widest of them.
    """
    widths = [max(1, *map(columns_of, column)) for column in zip(*rows, strict=True)]
    room = WIDTH - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room and max(widths[place] for place in broken_at) > 1:
        widths[max(broken_at, key=lambda place: widths[place])] -= 1
    lines = []
    for row in rows:
        cells = [
            broken(cell, width) if place in broken_at else [cell]
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            shown = (
                " " * (width - columns_of(part)) + part
                if place in right
                else part + " " * (width - columns_of(part))
                for place, (part, width) in enumerate(zip(parts, widths, strict=True))
            )
            lines.append(_GAP.join(shown).rstrip())
    return lines


def in_html(rows: Sequence[Sequence[str]], *, right: Collection[int]) -> str:
    """A table for notebooks, with every cell escaped; the first row is the header."""

    def line(row: Sequence[str], tag: str) -> str:
        cells = (
            f'<{tag} style="text-align: {"right" if place in right else "left"}">'
            f"{html.escape(cell)}</{tag}>"
            for place, cell in enumerate(row)
        )
        return f"<tr>{''.join(cells)}</tr>"

    head, *body = rows
    below = "".join(line(row, "td") for row in body)
    return f"<table><thead>{line(head, 'th')}</thead><tbody>{below}</tbody></table>"


def broken(name: str, widest: int, indent: str = "") -> list[str]:
    """A name in lines of at most that width, broken between its words if possible."""
    if columns_of(name) <= widest:
        return [name]
    lines = [""]
    for word in re.split(r"(?<=[\s,;_=/-])|(?=\[)", name):
        for part in [word] if columns_of(indent + word) <= widest else word:
            if columns_of(lines[-1] + part.rstrip()) > widest:
                lines.append(indent)
            lines[-1] += part
    return [line.rstrip() for line in lines]


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(_width(sign) for sign in text)


def _width(sign: str) -> int:
    if unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1
