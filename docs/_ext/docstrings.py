# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Docstrings as they are read in the code, made fit for Sphinx.

Guarantee blocks become boxes, and |x| is an absolute value, not a substitution.
"""

import re

from sphinx.application import Sphinx

_TITLE = ".. rubric:: Guarantee"
_COLON = "\uf001"
"""Stands for a colon while napoleon looks for one; no docstring has it."""

_BARS = re.compile(r"(`+[^`]*`+)|\|")
_LITERALS = re.compile(r"(``[^`]+``)(\w?)")


def before_napoleon(_app: Sphinx, what: str, *rest: object) -> None:
    """Keep a property's first line whole: what goes before a colon is no type."""
    lines = rest[-1]
    assert isinstance(lines, list)
    if what in {"property", "attribute"} and lines:
        lines[0] = lines[0].replace(":", _COLON)


def after_napoleon(_app: Sphinx, _what: str, *rest: object) -> None:
    """Escape formulas and draw the boxes."""
    lines = rest[-1]
    assert isinstance(lines, list)
    lines[:] = _boxed([_escaped(line) for line in lines])


def is_field(
    _app: Sphinx, _what: str, _name: str, value: object, *_rest: object
) -> bool | None:
    """Leave out a named tuple's fields, which its own docstring has told of."""
    return True if type(value).__name__ == "_tuplegetter" else None


def without_factories(*arguments: object) -> tuple[str, str] | None:
    """Write an argument that is made anew at each call so that Sphinx can read it."""
    *_, signature, returned = arguments
    if isinstance(signature, str) and "<factory>" in signature:
        return signature.replace("<factory>", "..."), str(returned or "")
    return None


def _escaped(line: str) -> str:
    kept = _BARS.sub(lambda match: match[1] or r"\|", line.replace(_COLON, ":"))
    return _LITERALS.sub(lambda m: rf"{m[1]}\ {m[2]}" if m[2] else m[0], kept)


def _boxed(lines: list[str]) -> list[str]:
    """Turn the section that napoleon made of a Guarantee block into a box."""
    if _TITLE not in lines:
        return lines
    first = lines.index(_TITLE)
    last = first + 1
    while last < len(lines) and not lines[last].startswith((":", "..")):
        last += 1
    body = [f"   {line}" if line else "" for line in lines[first + 1 : last]]
    box = [".. admonition:: Guarantee", "   :class: guarantee", "", *body, ""]
    return [*lines[:first], *box, *lines[last:]]


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx; napoleon makes its sections at priority 500."""
    app.connect("autodoc-process-docstring", before_napoleon, priority=400)
    app.connect("autodoc-process-docstring", after_napoleon, priority=600)
    app.connect("autodoc-process-signature", without_factories)
    app.connect("autodoc-skip-member", is_field)
    return {"parallel_read_safe": True}
