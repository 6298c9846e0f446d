# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The stage after the chain: a histogram that says how much the decisions cut."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from dpmcmc.accounting import GaussianRelease
from dpmcmc.influence.residual import Residual
from dpmcmc.posterior.statement import StageSummary
from dpmcmc.private import release_counts
from dpmcmc.sampling.chain import Chain, released_points
from dpmcmc.sampling.fit.misfit import ResidualBins, ResidualPublic, cut_by
from dpmcmc.sampling.fit.tails import Counts
from dpmcmc.sampling.problem import Problem
from dpmcmc.sampling.stages import Charge, Charged, Context, Events, Part, SoFar

__all__ = ["Check"]

_MOVES = 8


@dataclass(frozen=True, eq=False)
class Check:
    """A histogram of residuals, beside the clip, on moves between released points.

    Attributes
    ----------
    mu
        The shift that one substitution makes, in sd of the noise.
    clip
        That of the decisions.
    chain
        The chain that made them.
    residual
        What a record's log-likelihood differs by from its quadratic.
    """

    mu: float
    clip: float
    chain: Chain
    residual: Callable[[SoFar], Residual]
    name: str = "check"

    @property
    def events(self) -> Events:
        """One release with normal noise."""
        return {GaussianRelease(self.mu): 1}

    def run(
        self, context: Context, so_far: SoFar, charged: Charged, charge: Charge
    ) -> Iterator[Part]:
        """Release the histogram, unless it was charged before.

        Guarantee
        ---------
        What is released is ``GaussianRelease(mu)``, by `release_counts` with one
        histogram; ``charge`` has returned before a record is read.
        """
        if charged or so_far[self.name] or self.chain.unread(so_far) is not None:
            return
        problem = context.problem
        current, proposed = _moves(problem, self.chain, so_far)
        noise = math.nextafter(math.sqrt(2) / self.mu, math.inf)
        charge(self.name, self.events)
        counts = release_counts(
            problem.model,
            problem.records,
            ResidualBins(problem.dtype),
            ResidualPublic(self.residual(so_far), current, proposed, self.clip),
            context.tape("check"),
            noise=noise,
            dtype=problem.dtype,
            devices=list(problem.devices),
        )
        if len(counts) != 1:
            raise ValueError(f"{len(counts)} histograms were asked, not one")
        yield Part(self.name, {"counts": counts[0], "noise": np.asarray(noise)})

    def cut(self, problem: Problem, so_far: SoFar) -> float | None:
        """What the clip cut off residuals on a usual move; None if it is not known."""
        parts = so_far.get(self.name, ())
        if not parts:
            return None
        arrays = parts[0].arrays
        counts = Counts(arrays["counts"], float(arrays["noise"]))
        return cut_by(counts, self.clip, problem.size)

    def describe(self, problem: Problem, so_far: SoFar) -> StageSummary:
        """What was asked, and what it said."""
        words = (
            f"one histogram of what {problem.counts} differ by from their quadratics, "
            "beside the clip of decisions, with "
            f"normal noise of sd {math.sqrt(2) / self.mu:.3g} {problem.counts}"
        )
        if self.chain.unread(so_far) is not None:
            words = "not asked, as there was no decision"
        cut = self.cut(problem, so_far)
        if cut is None:
            return StageSummary(self.name, f"{words}.", numbers={"mu": self.mu})
        return StageSummary(
            self.name,
            f"{words}: on a usual move, the clip cut {cut:.2g} off a difference of log "
            "densities.",
            numbers={"mu": self.mu, "cut": cut},
        )

    def objection(self, problem: Problem, so_far: SoFar) -> str | None:
        """None: nothing comes after."""
        del problem, so_far
        return None


def _moves(problem: Problem, chain: Chain, so_far: SoFar) -> tuple[Any, Any]:
    """Pairs of points that the chain visited, half a run apart."""
    points, accepted = released_points(so_far[chain.name], problem.initial)
    half = max(accepted.shape[1] // 2, 1)
    ends = np.linspace(half, accepted.shape[1], _MOVES, endpoint=False).astype(int)
    ends = np.minimum(ends, accepted.shape[1] - 1)
    pick: Callable[[np.ndarray], Any] = lambda rows: jax.tree.map(  # noqa: E731
        lambda leaf: leaf[np.arange(_MOVES) % len(leaf), rows], points
    )
    return pick(np.maximum(ends - half, 0)), pick(ends)
