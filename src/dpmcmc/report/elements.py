# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of a page of HTML. Whatever is called text is escaped here, once."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from itertools import chain, repeat
from typing import NamedTuple

__all__ = [
    "Bar",
    "Section",
    "bar",
    "bullets",
    "card",
    "cards",
    "code",
    "definitions",
    "heading",
    "paragraph",
    "several",
    "table",
]

_SHOWN_NAMES = 6


class Bar(str):
    """HTML that `bar` made, and that is not escaped again."""

    __slots__ = ()


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f"<p{_class(kind)}>{escape(text)}</p>"


def heading(text: str) -> str:
    """A heading inside a section."""
    return f"<h3>{escape(text)}</h3>"


class Section(NamedTuple):
    """A part of the page that the contents point to.

    Attributes
    ----------
    place
        Its address in the page: one word of ours.
    title
        Its heading.
    body
        Its HTML, in pieces; empty where there is nothing to show.
    """

    place: str
    title: str
    body: Sequence[str]

    @property
    def html(self) -> str:
        """The part with its heading."""
        inside = "\n".join(self.body)
        return (
            f'<section id="{self.place}" aria-labelledby="{self.place}-title">\n'
            f'<h2 id="{self.place}-title">{escape(self.title)}</h2>\n{inside}\n'
            "</section>"
        )

    @property
    def link(self) -> str:
        """What points to it in the contents."""
        return f'<a href="#{self.place}">{escape(self.title)}</a>'


def bullets(items: Iterable[tuple[str, str]]) -> str:
    """A list of points: a few words that stand out, and a sentence or two."""
    lines = (
        f"<li><strong>{escape(lead)}</strong> {escape(rest)}</li>"
        for lead, rest in items
    )
    return f"<ul>{''.join(lines)}</ul>"


def definitions(pairs: Iterable[tuple[str, str]], kind: str = "") -> str:
    """Names with what they stand for."""
    lines = (
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in pairs
    )
    return f"<dl{_class(kind)}>{''.join(lines)}</dl>"


def code(text: str) -> str:
    """Text as a machine wrote it; long lines scroll by themselves."""
    return f'<pre tabindex="0">{escape(text)}</pre>'


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    marked: Iterable[str] = (),
    kind: str = "",
) -> str:
    """A table whose first column names its rows, and which scrolls by itself.

    ``marked`` has a class for each of the first rows. A cell is text, or a `Bar`.
    """
    titles = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = []
    for row, mark in zip(rows, chain(marked, repeat("")), strict=False):
        first, *rest = row
        cells = "".join(f"<td>{_cell(cell)}</td>" for cell in rest)
        lines.append(
            f'<tr{_class(mark)}><th scope="row">{_name(first)}</th>{cells}</tr>'
        )
    return (
        '<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(caption)}"><table{_class(kind)}>'
        f"<caption>{escape(caption)}</caption><thead><tr>{titles}</tr></thead>\n"
        f"<tbody>{chr(10).join(lines)}</tbody></table></div>"
    )


def cards(items: Iterable[str]) -> str:
    """Figures side by side where there is room, else one under the other."""
    inside = list(items)
    kind = "cards few" if len(inside) in (1, 2, 4) else "cards"
    return f'<div class="{kind}">{chr(10).join(inside)}</div>'


def card(
    svg: bytes,
    title: str,
    alt: str,
    note: str,
    *,
    is_private: bool,
    across: str = "",
    up: str = "",
) -> str:
    """A figure with its title, what it shows in words, and what its axes are.

    Names stand around the picture, not in it: any script and sign can be shown. One
    that is not private says so.
    """
    alarm = "" if is_private else '<strong class="alarm">NOT PRIVATE</strong> '
    told = alt if is_private else f"Not private. {alt}"
    picture = (
        f'<img src="data:image/svg+xml;base64,{b64encode(svg).decode()}" '
        f'alt="{escape(told)}">'
    )
    if up:
        picture = f'<span class="up">{escape(up)}</span>{picture}'
    below = f'<span class="across">{escape(across)}</span>' if across else ""
    caption = f"<figcaption>{alarm}<b>{escape(title)}</b> {escape(note)}</figcaption>"
    return f'<figure><div class="picture">{picture}</div>{below}\n{caption}</figure>'


def bar(shares: Sequence[tuple[float, str]], alt: str) -> Bar:
    """A bar made of parts, each a share of its length and a colour."""
    pieces, left = [], 0.0
    for share, colour in shares:
        width = max(0.0, min(share, 1 - left)) * 1000
        pieces.append(
            f'<rect x="{left * 1000:.1f}" width="{width:.1f}" height="40" '
            f'fill="{colour}"/>'
        )
        left += width / 1000
    return Bar(
        f'<svg class="bar" role="img" aria-label="{escape(alt)}" '
        'viewBox="0 0 1000 40" preserveAspectRatio="none">'
        f'<rect width="1000" height="40" fill="#e4e7ea"/>{"".join(pieces)}</svg>'
    )


def several(names: Sequence[str]) -> str:
    """Names in a sentence; of many only the first few."""
    if len(names) > _SHOWN_NAMES:
        others = len(names) - _SHOWN_NAMES + 1
        names = [*names[: _SHOWN_NAMES - 1], f"{others} others"]
    if len(names) <= 1:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _cell(text: str) -> str:
    return text if isinstance(text, Bar) else escape(text)


def _name(text: str) -> str:
    """A name that may be broken before its place: coefficients, then [age]."""
    return escape(text).replace("[", "<wbr>[")


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
