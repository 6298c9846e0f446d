# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The chains of the paper's experiment (section 4), each run when first asked for."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from tqdm.auto import tqdm

import dpmcmc
from dpmcmc import Barker, MinibatchBarker, Model, Posterior, RandomWalk
from dpmcmc.rehearsal.planning import ChainPlan
from dpmcmc.sampling.plan import Method
from reproduction.paper_mixture import TRUTH, mixture_model, simulate
from reproduction.tempered_grid import GridPosterior, tempered_grid

__all__ = [
    "FULL",
    "QUICK",
    "START",
    "Experiment",
    "Sizes",
    "epsilons",
    "whole_chain",
]

START = {"mean": 0.0, "gap": 0.0}
"""The mean of the prior: where all chains start."""

_RECORDS_SEED, _EXACT_SEED, _SEITA_SEED, _RUNS_SEED = 2019, 1, 2, 3
_SEITA_CLIP = 0.99
"""In units of √b/N₀: C = 1 must exceed the largest variance that a batch may have."""

T = TypeVar("T")


@dataclass(frozen=True)
class Sizes:
    """How large the experiment is. What the paper does not state is chosen here.

    Attributes
    ----------
    records, batch, tempered
        N, b and N₀.
    proposal_variance
        Variance of the random walk in each coordinate.
    steps
        Steps of every chain.
    baseline_steps
        First steps of the chain without privacy that figure 3 compares with.
    runs
        Private chains in figure 3.
    delta
        The δ of every ε. The paper does not state its own.
    fractions, counts
        Fractions q of the records in a batch (figure 1a); numbers of steps (1b).
    pairs
        Moves at which figure 1c counts clipped ratios.
    fits, iterations
        Fits of the Gaussian mixture for each C in figure 4, and iterations of each.
    variances
        The C of figure 4.
    agreement, agreement_length
        The N₀ at which tests are compared, and the length of their chains relative to
        the full one.
    """

    records: int = 1_000_000
    batch: int = 1000
    tempered: float = 100.0
    proposal_variance: float = 0.01
    steps: int = 20_000
    baseline_steps: int = 5000
    runs: int = 20
    delta: float = 1e-6
    fractions: tuple[float, ...] = (5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2)
    counts: tuple[int, ...] = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)
    pairs: int = 2000
    fits: int = 20
    iterations: int = 20_000
    variances: tuple[float, ...] = (
        *(0.5, 1.0, 1.25, 1.5, 1.75),
        *(2.0, 2.25, 2.5, 2.75, 3.0),
    )
    agreement: tuple[float, ...] = (100.0, 1000.0)
    agreement_length: float = 1.0

    @property
    def walk(self) -> RandomWalk:
        """The proposal."""
        return RandomWalk(scale=self.proposal_variance**0.5)

    def epsilons(self, steps: int) -> tuple[float, float]:
        """The paper's ε and the certified one, of one private chain of ``steps``."""
        return epsilons(self.records, self.batch, steps, self.delta)

    def exact(self) -> Barker:
        """Barker's test on all records."""
        return Barker(proposal=self.walk, tempering=self.tempered)

    def minibatch(self, variance: float = 2.0, clip: float = 1.0) -> MinibatchBarker:
        """The paper's test on a batch (§3.2): C, and the clip in units of √b/N₀."""
        return MinibatchBarker(
            self.batch,
            clip=clip * self.batch**0.5 / self.tempered,
            proposal=self.walk,
            tempering=self.tempered,
            variance=variance,
        )


FULL = Sizes()
"""The paper's sizes."""

QUICK = replace(
    FULL,
    steps=10_000,
    fits=2,
    iterations=4000,
    variances=(1.0, 1.5, 2.0, 2.5),
    agreement=(100.0,),
    agreement_length=0.3,
)
"""The same records, and so the same cost of a step; shorter chains, fewer fits."""


class Experiment:
    """Simulated records, their tempered posterior, and chains that draw from it.

    Parameters
    ----------
    sizes
        How large it is.
    progress
        Whether to show progress bars.
    """

    def __init__(self, sizes: Sizes, progress: bool = True) -> None:
        self.sizes = sizes
        self.progress = progress

    def bar(self, values: Iterable[T], what: str, unit: str) -> Iterator[T]:
        """Go through values under a progress bar."""
        yield from tqdm(values, what, unit=f" {unit}", disable=not self.progress)

    @cached_property
    def model(self) -> Model:
        """The paper's mixture, started at `START`."""
        return mixture_model(START)

    @cached_property
    def records(self) -> dict[str, np.ndarray]:
        """Records simulated at θ = (0, 1), the same ones each time."""
        generator = np.random.default_rng(_RECORDS_SEED)
        return simulate(TRUTH, self.sizes.records, generator)

    @cached_property
    def grid(self) -> GridPosterior:
        """The tempered posterior of the records, on a grid."""
        return tempered_grid(self.model, self.records["x"], self.sizes.tempered)

    @cached_property
    def exact(self) -> Posterior:
        """Figure 2a: the tempered chain without privacy, on all records."""
        return self._seeded(self.sizes.exact(), _EXACT_SEED)

    @cached_property
    def seita(self) -> Posterior:
        """The baseline of Seita et al.: batches and C = 1, without privacy."""
        return self._seeded(
            self.sizes.minibatch(variance=1.0, clip=_SEITA_CLIP), _SEITA_SEED
        )

    @cached_property
    def private(self) -> Posterior:
        """Figure 2b: one private chain, on fresh randomness."""
        return dpmcmc.sample(
            self.model,
            self.records,
            method=self.sizes.minibatch(),
            steps=self.sizes.steps,
            delta=self.sizes.delta,
            progress=self.progress,
        )

    @cached_property
    def runs(self) -> Posterior:
        """Figure 3: independent runs of the private chain, from a seed.

        They are drawn at once and repeatably, so they are not private: the records
        are simulated, and the figure shows what one private run would cost.
        """
        return self._seeded(self.sizes.minibatch(), _RUNS_SEED, self.sizes.runs)

    def _seeded(self, method: Method, seed: int, chains: int = 1) -> Posterior:
        return dpmcmc.sample_not_private(
            self.model,
            self.records,
            method=method,
            steps=self.sizes.steps,
            seed=seed,
            chains=chains,
            progress=self.progress,
        )


def epsilons(records: int, batch: int, steps: int, delta: float) -> tuple[float, float]:
    """The paper's ε and the certified one, of a private chain of ``steps``."""
    planned = dpmcmc.plan(records, batch=batch, steps=steps, delta=delta)
    assert isinstance(planned, ChainPlan)
    paper = next(row.epsilon for row in planned.rows if row.accountant == "paper")
    return paper, planned.epsilon


def whole_chain(posterior: Posterior, name: str) -> np.ndarray:
    """Every step of a parameter, warm-up included, of shape (chains, steps)."""
    parts = [posterior.warmup_draws[name], posterior.draws[name]]
    return np.concatenate(parts, axis=1).astype(np.float64)
