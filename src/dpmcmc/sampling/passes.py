# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How long passes over streamed records will take, said before a run begins.

It is computed from shapes, and from how fast made-up bytes are read where records will
be kept; no record is read for it.
"""

import os
import time
import warnings
from tempfile import TemporaryFile, gettempdir

import jax
import numpy as np

from dpmcmc.processes import is_first
from dpmcmc.sampling.chain import Chain
from dpmcmc.sampling.plan import Plan

__all__ = ["bytes_a_second", "warn_of_passes"]

_TRIED = 2**26
"""Bytes that are written and read to see how fast the disk is."""

_SHORT = 60.0
"""Seconds of reading that are not worth a word."""


def warn_of_passes(plan: Plan) -> None:
    """Warn if a chain that reads all streamed records at every step will take long."""
    records = plan.problem.records
    if not records.streamed or records.sizes is None or not is_first():
        return
    steps = sum(
        stage.lengths.steps
        for stage in plan.stages
        if isinstance(stage, Chain) and stage.test.batch is None and not stage.is_free
    )
    leaves = jax.tree.leaves(plan.problem.one_record)
    one = sum(leaf.dtype.itemsize * int(np.prod(leaf.shape)) for leaf in leaves)
    size = max(records.sizes) * one
    if steps == 0 or steps * size < _SHORT * 2**26:  # no disk in use is as slow
        return
    speed = bytes_a_second()
    seconds = size / speed
    if steps * seconds < _SHORT:
        return
    warnings.warn(
        f"the records are streamed: a pass over the {size / 1e9:.3g} GB of a process "
        f"takes about {seconds:.3g} s, as {gettempdir()} is read at "
        f"{speed / 1e9:.2g} GB a second, and the chain makes {steps:,} passes: "
        f"{steps * seconds / 3600:.2g} h. More processes, fewer steps or "
        "MinibatchBarker, which reads batches alone, take less.",
        stacklevel=3,
    )


def bytes_a_second() -> float:
    """How fast the disk is read on which streamed records are kept."""
    with TemporaryFile() as file:
        file.write(os.urandom(_TRIED))
        file.flush()
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):  # else it is read from memory
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(0)
        begun = time.perf_counter()
        while file.read(2**20):
            pass
        return _TRIED / (time.perf_counter() - begun)
