# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The progress bar of anything that takes long: how much is done, and time left.

A bar shows public numbers alone: how many steps, runs or records there are, and how
many of them are done. It is shown where somebody sees it move: on a terminal or in a
notebook, and not in a file or a pipe.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from warnings import catch_warnings, filterwarnings

with catch_warnings():  # bars of text will do where a notebook has no widgets
    filterwarnings("ignore", message="IProgress not found")
    from tqdm.auto import tqdm

__all__ = ["Bar", "steps_bar"]


_UNABLE = OSError, ValueError
"""What a terminal that has gone away raises. It must not end a run that is paid for."""


class Bar:
    """A bar that is shown: call it with each number done."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def __call__(self, done: int) -> None:
        """Move by a number."""
        with suppress(*_UNABLE):
            self._bar.update(done)

    def say(self, label: str) -> None:
        """Show another label: what is under way now."""
        with suppress(*_UNABLE):
            self._bar.set_description_str(label)

    def close(self) -> None:
        """Show it no longer."""
        with suppress(*_UNABLE):
            self._bar.close()


@contextmanager
def steps_bar(
    total: int, label: str, shown: bool, unit: str = " steps"
) -> Iterator[Bar]:
    """Show a bar of ``total`` steps; call what it yields with each number done.

    Parameters
    ----------
    total
        How many there are.
    label
        What is done. A bar that was given other labels ends with this one.
    shown
        Whether it is shown, where it can be.
    unit
        What is counted, as it stands behind a number.
    """
    try:
        # None leaves it to tqdm to see whether there is a terminal; the streams of a
        # notebook say that they are none.
        is_notebook = type(sys.stderr).__module__.startswith("ipykernel.")
        hidden = (False if is_notebook else None) if shown else True
        shows = tqdm(total=total, desc=label, unit=unit, disable=hidden)
    except _UNABLE:
        shows = tqdm(disable=True)
    bar = Bar(shows)
    try:
        yield bar
        bar.say(label)
    finally:
        bar.close()
