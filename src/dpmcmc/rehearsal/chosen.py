# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What was chosen: as values that are kept and run, and in words for whoever reads."""

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpmcmc.aligned import WIDTH
from dpmcmc.custody import Arrays
from dpmcmc.errors import InputError
from dpmcmc.rehearsal.advice import ENOUGH_DRAWS
from dpmcmc.rehearsal.results import Rehearsal
from dpmcmc.rehearsal.shares import Split

__all__ = ["Choice", "Chosen"]


class Chosen(NamedTuple):
    """A way to run, and what was chosen about it.

    Attributes
    ----------
    name
        What the way is called.
    split
        How its control variates share the budget; None where they have none, or have
        the usual shares.
    tempering
        How many records the likelihood counts for; None for all.
    chains
        How many chains share its steps.
    is_blind
        Whether it was taken without a rehearsal.
    """

    name: str
    split: Split | None = None
    tempering: float | None = None
    chains: int = 1
    is_blind: bool = False

    @property
    def words(self) -> str:
        """What was chosen about the way, in sentences; empty if nothing was."""
        said = []
        if self.split is not None:
            share, part, bound = self.split
            rest = math.sqrt(1 - part**2)
            said += [
                f"Control variates may cost {share:.0%} of the ε that the start "
                "leaves, by themselves; bits have the rest.",
                "A record's gradient is shortened where it is longer than "
                f"{bound:g} times the usual length: if the model is wrong about such "
                "records, means are off by more than intervals say.",
                f"Of what a record adds to the released sum, {part:g} of the length is "
                f"for its Hessian and {rest:.2g} for its gradient: the less, the more "
                "noise is on it.",
            ]
        if self.tempering is not None:
            said.append(
                f"The likelihood is tempered, to count for {self.tempering:,.15g} "
                "records."
            )
        if self.chains > 1:
            said.append(
                f"{self.chains} chains share its steps: by the rehearsal each has "
                f"at least {ENOUGH_DRAWS} effective draws, and r-hat compares them."
            )
        return " ".join(said)

    def as_arrays(self) -> dict[str, np.ndarray]:
        """The same as plain arrays; what was not chosen is empty."""
        return {
            "way": np.array(self.name),
            "split": np.array(self.split or (), np.float64),
            "tempering": np.array(
                [] if self.tempering is None else [self.tempering], np.float64
            ),
            "chains": np.array(self.chains),
            "blind": np.array(self.is_blind),
        }

    @classmethod
    def of_arrays(cls, arrays: Arrays) -> "Chosen":
        """What `as_arrays` took apart.

        Raises
        ------
        InputError
            If it was kept in another way, by another version.
        """
        if not {"way", "split", "tempering", "chains", "blind"} <= set(arrays):
            raise InputError(
                "the run was begun with another version of dpmcmc, which kept what it "
                "chose in another way. Go on with the version that began it, or begin "
                "another run."
            )
        split, tempering = arrays["split"].tolist(), arrays["tempering"].tolist()
        return cls(
            str(arrays["way"]),
            Split(*split) if split else None,
            tempering[0] if tempering else None,
            int(arrays["chains"]),
            bool(arrays["blind"]),
        )


@dataclass(frozen=True)
class Choice:
    """How a run was chosen; printed before the rest of the budget is spent.

    Attributes
    ----------
    chosen
        The way that was chosen, and what was chosen about it.
    settings
        What it gives to `sample`; empty where that depends on a start that has not
        been found.
    tried
        The names of all ways that were open.
    reason
        Why it was chosen, in words.
    rehearsal
        The rehearsal that says so; None if there was none.
    """

    chosen: Chosen
    settings: Mapping[str, Any]
    tried: tuple[str, ...]
    reason: str
    rehearsal: Rehearsal | None

    @property
    def way(self) -> str:
        """The name of the way that was chosen."""
        return self.chosen.name

    def __str__(self) -> str:
        lines = [textwrap.fill(f"Way: {self.way}; {self.reason}.", WIDTH)]
        if self.chosen.words:
            lines.append(textwrap.fill(self.chosen.words, WIDTH))
        if self.rehearsal is not None:
            lines += ["", str(self.rehearsal)]
        return "\n".join(lines)
