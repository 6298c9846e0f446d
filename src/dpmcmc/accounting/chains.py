# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A chain of bits from blocks: how long the blocks are, and how fine the lattice."""

import functools

from dpmcmc.accounting.blocks import BlockTable
from dpmcmc.accounting.losses import Losses, profile_losses
from dpmcmc.accounting.registry import NotApplicableError
from dpmcmc.arithmetic import LOG_ODDS_LIMIT

__all__ = ["compose_blocks", "fineness", "require_narrow"]

_LONGEST = 128
_CELLS = 16
_FINEST = 128


def fineness(count: int) -> tuple[int, int]:
    """Choose the longest block and the lattice cells per range for a chain.

    A short chain affords a finer lattice. Each lattice refines the next coarser one,
    so that a longer chain never costs less.
    """
    longest, cells = _LONGEST, _CELLS
    while cells < _FINEST and count <= longest // 2:
        longest, cells = longest // 2, cells * 2
    return longest, cells


def require_narrow(reach: float) -> None:
    """Refuse a release that one record decides: no number of them is private."""
    if reach > LOG_ODDS_LIMIT:
        raise NotApplicableError(
            f"one record can move what is released by {reach:.6g} units of its noise; "
            f"above {LOG_ODDS_LIMIT:g} it decides the release. Take a smaller clip."
        )


def compose_blocks(table: BlockTable, count: int) -> Losses:
    """Compose ``count`` bits from the table's longest blocks and one shorter.

    Guarantee
    ---------
    Adaptive composition of blocks is dominated by composing their loss
    distributions, so the result dominates any adaptive play of the bits.
    """
    longest = len(table.values) - 1
    whole, rest = divmod(count, longest)
    parts = [_losses(table, longest, whole)] if whole else []
    parts += [_losses(table, rest, 1)] if rest else []
    return functools.reduce(Losses.with_other, parts)


def _losses(table: BlockTable, length: int, times: int) -> Losses:
    return profile_losses(
        table.values[length], table.step, length * table.rounding, times
    )
