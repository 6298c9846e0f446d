# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables as text, no wider than a page: what is too long is broken over lines."""

import textwrap
from collections.abc import Collection, Sequence
from itertools import zip_longest

__all__ = ["WIDTH", "aligned", "filled"]

WIDTH = 88
"""The widest line that is printed."""

_GAP = "  "


def filled(line: str) -> str:
    """A line of words, broken if it is too wide; what follows is indented."""
    return textwrap.fill(line, WIDTH, subsequent_indent=_GAP)


def aligned(
    rows: Sequence[Sequence[str]], *, right: Collection[int], broken: Collection[int]
) -> list[str]:
    """The lines of a table.

    Parameters
    ----------
    rows
        The cells of each row, the header among them.
    right
        The columns of numbers, which are set to the right.
    broken
        The columns whose cells may be broken where lines would be too wide: first the
        widest of them.
    """
    widths = [max(1, *map(len, column)) for column in zip(*rows, strict=True)]
    room = WIDTH - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room and max(widths[place] for place in broken) > 1:
        widths[max(broken, key=lambda place: widths[place])] -= 1
    lines = []
    for row in rows:
        cells = [
            (textwrap.wrap(cell, width) or [""]) if place in broken else [cell]
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            shown = (
                part.rjust(width) if place in right else part.ljust(width)
                for place, (part, width) in enumerate(zip(parts, widths, strict=True))
            )
            lines.append(_GAP.join(shown).rstrip())
    return lines
