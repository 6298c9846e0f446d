# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that will be needed, compiled on other threads meanwhile.

They are traced on the thread of the run, as a user's functions need not bear to be
called on several. Compiling takes longer, and needs neither them nor the interpreter.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

__all__ = ["Ahead"]

_THREADS = min(8, max(1, (os.cpu_count() or 1) // 2))
"""At most half the cores: compilers that share a core take longer, all together."""

Compile = Callable[[], object]
"""Compiles a program that has been traced."""


class Ahead:
    """Programs that are under way, each by a key.

    What goes wrong with one is left to what asks for it, which will meet it again.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, "compile")
        self._under_way: dict[object, Future[object]] = {}

    def begin(self, programs: Iterable[tuple[object, Compile]]) -> None:
        """Compile these programs and no others, each as soon as it is handed over."""
        with suppress(Exception):
            for key, compile_ in programs:
                self._under_way[key] = self._pool.submit(compile_)
        self._pool.shutdown(wait=False)  # threads end when they have compiled all

    def wait(self, key: object) -> None:
        """Return once a program has been compiled, if it is under way."""
        if key in self._under_way:
            self._under_way[key].exception()

    def close(self) -> None:
        """Leave out what has not begun, and wait for what has."""
        self._pool.shutdown(cancel_futures=True)
