# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Formulas in running text: V_k and e^{−s} are shown with a low k and a high −s.

The pages write them so that they can be read as plain Markdown too. A base of a low
index is one letter (or "sup"), so that names of code are left as they are.
"""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

_LETTER = "A-Za-zΑ-Ωα-ωℓ"
_MARKS = "′″\u0303\u0304"
_WORD = rf"[{_LETTER}0-9∞]+[{_MARKS}]*"
_INDEX = re.compile(
    rf"(?:(?<![{_LETTER}])(?:[{_LETTER}]|sup)[{_MARKS}]*(?P<low>_)|(?<=\S)(?P<high>\^))"
    rf"(?:\{{(?P<braced>[^{{}}]+)\}}|\((?P<round>[^()]+)\)|(?P<bare>[−+-]?{_WORD}))"
)
_LEFT_ALONE = (nodes.literal, nodes.literal_block, nodes.raw, nodes.FixedTextElement)


class Formulas(SphinxTransform):
    """Put subscripts and superscripts where text has them written out."""

    default_priority = 600

    def apply(self) -> None:
        """Change every piece of text that is not code."""
        for text in list(self.document.findall(nodes.Text)):
            if _INDEX.search(text) and not _is_code(text):
                text.parent.replace(text, list(_parts(str(text))))


def _is_code(text: nodes.Text) -> bool:
    node = text.parent
    while node is not None:
        if isinstance(node, _LEFT_ALONE):
            return True
        node = node.parent
    return False


def _parts(text: str) -> Iterator[nodes.Node]:
    done = 0
    for match in _INDEX.finditer(text):
        sign = "low" if match["low"] else "high"
        index = match["braced"] or match["round"] or match["bare"]
        if sign == "low" and match["round"]:
            continue
        yield nodes.Text(text[done : match.start(sign)])
        if sign == "low":
            yield nodes.subscript("", index)
        else:
            # A power of a power: the braces hold an index of their own.
            yield nodes.superscript("", "", *_parts(index))
        done = match.end()
    yield nodes.Text(text[done:])


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_transform(Formulas)
    return {"parallel_read_safe": True}
