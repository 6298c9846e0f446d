# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Templates of HTML: whatever is filled in is escaped, unless it was made here."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template

__all__ = ["Html", "bar", "definitions", "each", "fill", "paragraph", "read", "table"]


class Html(str):
    """HTML that was made here: it is not escaped again."""

    __slots__ = ()


def read(name: str) -> Html:
    """A file of the folder ``templates``."""
    folder = files("dpmcmc.report").joinpath("templates")
    return Html(folder.joinpath(name).read_text(encoding="utf-8"))


def fill(template: str, **values: str) -> Html:
    """A template with its values; each is escaped unless it is `Html`."""
    safe = {
        name: value if isinstance(value, Html) else escape(value)
        for name, value in values.items()
    }
    return Html(Template(template).substitute(safe))


def each(template: str, rows: Iterable[Sequence[str]]) -> Html:
    """A template filled for each row, whose cells are ``$a``, ``$b`` and ``$c``."""
    filled = (fill(template, **dict(zip("abc", row, strict=False))) for row in rows)
    return Html("\n".join(filled))


def paragraph(text: str, kind: str = "") -> Html:
    """A paragraph; nothing if there is no text."""
    return fill('<p class="$kind">$text</p>', kind=kind, text=text) if text else Html()


def definitions(pairs: Iterable[tuple[str, str]]) -> Html:
    """Names with their values; nothing if there are none."""
    rows = each("<div><dt>$a</dt><dd>$b</dd></div>", pairs)
    return Html(f"<dl>{rows}</dl>") if rows else Html()


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], kind: str
) -> Html:
    """A table whose first column names its rows; one that is too wide scrolls."""
    body = Html()
    for name, *cells in rows:
        # A name such as coefficients[home_region=south] may be broken at its parts.
        safe = name if isinstance(name, Html) else escape(name)
        parted = safe.replace("[", "<wbr>[")
        for end in "=_":
            parted = parted.replace(end, f"{end}<wbr>")
        first = fill('<th scope="row">$name</th>', name=Html(parted))
        body = Html(f"{body}<tr>{first}{each('<td>$a</td>', zip(cells))}</tr>\n")
    return fill(
        '<div class="scroll" tabindex="0" role="region" aria-label="$caption">\n'
        '<table class="$kind"><caption>$caption</caption>\n'
        "<thead><tr>$head</tr></thead>\n<tbody>$body</tbody></table></div>",
        caption=caption,
        kind=kind,
        head=each('<th scope="col">$a</th>', zip(head)),
        body=body,
    )


def bar(parts: Iterable[tuple[str, float]], words: str) -> Html:
    """A bar of parts, each with its class and its fraction of the length."""
    pieces = each(
        '<i class="$a" style="width:$b%"></i>',
        ((kind, f"{100 * fraction:.2f}") for kind, fraction in parts),
    )
    template = '<span class="bar" role="img" aria-label="$words">$pieces</span>'
    return fill(template, words=words, pieces=pieces)
