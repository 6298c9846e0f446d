# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The progress bar of a run: steps done, steps a second, time left."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm.auto import tqdm

__all__ = ["steps_bar"]


@contextmanager
def steps_bar(total: int, label: str, shown: bool) -> Iterator[Callable[[int], object]]:
    """Show a bar of ``total`` steps; call what it yields with each number done."""
    with tqdm(total=total, desc=label, unit=" steps", disable=not shown) as bar:
        yield bar.update
