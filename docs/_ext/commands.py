# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The directive ``commands``: the help of every command, from the parser itself."""

import argparse
import os
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dpmcmc.cli import parser

_WIDTH = "88"
"""Columns of the help, whatever the terminal is that builds the pages."""


class Commands(SphinxDirective):
    """A section for each command, with its help."""

    def run(self) -> list[nodes.Node]:
        """Make the sections."""
        return [_section(found) for found in _parsers(parser())]


def _section(found: argparse.ArgumentParser) -> nodes.section:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = _WIDTH
    try:
        text = found.format_help()
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    section = nodes.section(ids=[nodes.make_id(found.prog)])
    section += nodes.title(text=found.prog)
    section += nodes.literal_block(text, text, language="text")
    return section


def _parsers(found: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser, and those of its commands."""
    yield found
    for action in found._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _parsers(inner)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
