# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The chains of the paper's experiment (section 4), each run when first asked for."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from dp_accounting.dp_event import SelfComposedDpEvent

from dpmcmc.acceptance import MinibatchBarker, Setting
from dpmcmc.accounting import certify_epsilon
from dpmcmc.accounting.paper import paper_epsilon
from dpmcmc.experiments.mixture import TRUTH, mixture_model, simulate_mixture
from dpmcmc.experiments.tempered_grid import GridPosterior, tempered_grid
from dpmcmc.model.model import Model
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.proposals import RandomWalk
from dpmcmc.sampler import sample, sample_not_private
from dpmcmc.variational import Variational

__all__ = ["FIT", "PAPER", "QUICK", "START", "Settings", "Study", "whole_chain"]

START = {"mean": 0.0, "gap": 0.0}
"""The mean of the prior: where chains without privacy start, and the fit begins."""

FIT = Variational(epsilon=0.21, delta=1e-6)
"""Private variational inference with the paper's budget, where private chains start."""

_RECORDS_SEED, _EXACT_SEED, _SEITA_SEED, _RUNS_SEED = 2019, 1, 2, 3


@dataclass(frozen=True)
class Settings:
    """How large the experiment is; what is not said in the paper is ours.

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
        The δ of every ε shown. The paper does not state its own.
    pairs
        Moves at which figure 1c counts clipped ratios.
    fits
        Starts of the Gaussian mixture's optimiser in figure 4.
    variances
        The C of figure 4.
    """

    records: int = 1_000_000
    batch: int = 1000
    tempered: float = 100.0
    proposal_variance: float = 0.01
    steps: int = 20_000
    baseline_steps: int = 5000
    runs: int = 20
    delta: float = 1e-6
    pairs: int = 2000
    fits: int = 20
    variances: tuple[float, ...] = (
        *(0.5, 1.0, 1.25, 1.5, 1.75),
        *(2.0, 2.25, 2.5, 2.75, 3.0),
    )

    @property
    def walk(self) -> RandomWalk:
        """The proposal."""
        return RandomWalk(scale=self.proposal_variance**0.5)

    def epsilons(self, steps: int) -> tuple[float, float]:
        """The paper's ε and the certified one, of one private chain of ``steps``."""
        setting = Setting(self.records, self.tempered, clip=None)
        test = MinibatchBarker(batch=self.batch)
        bit = test.event(setting, test.mechanism(setting))
        certified = certify_epsilon(SelfComposedDpEvent(bit, steps), self.delta)
        return paper_epsilon(bit, steps, self.delta)[0], certified.epsilon


PAPER = Settings()
QUICK = replace(PAPER, steps=10_000, fits=2, variances=(1.0, 1.5, 2.0, 2.5))


class Study:
    """Simulated records, their tempered posterior, and chains that draw from it.

    Parameters
    ----------
    settings
        How large it is.
    progress
        Whether to show progress bars.
    """

    def __init__(self, settings: Settings, progress: bool = True) -> None:
        self.settings = settings
        self.progress = progress

    @cached_property
    def model(self) -> Model:
        """The paper's mixture, started at `START`."""
        return mixture_model(START)

    @cached_property
    def records(self) -> np.ndarray:
        """Records simulated at θ = (0, 1), the same ones each time."""
        generator = np.random.default_rng(_RECORDS_SEED)
        return simulate_mixture(TRUTH, self.settings.records, generator)

    @cached_property
    def grid(self) -> GridPosterior:
        """The tempered posterior of the records, on a grid."""
        return tempered_grid(self.model, self.records, self.settings.tempered)

    @cached_property
    def exact(self) -> Posterior:
        """Figure 2a: the tempered chain without privacy, on all records."""
        return sample_not_private(
            self.model,
            self.records,
            steps=self.settings.steps,
            tempering=self.settings.tempered,
            proposal=self.settings.walk,
            seed=_EXACT_SEED,
            progress=self.progress,
        )

    @cached_property
    def seita(self) -> Posterior:
        """The baseline of Seita et al.: batches and C = 1, without privacy."""
        return self._batches(variance=1.0, chains=1, seed=_SEITA_SEED, start=START)

    @cached_property
    def private(self) -> Posterior:
        """Figure 2b: one private chain, on fresh randomness."""
        return sample(
            self.model,
            self.records,
            steps=self.settings.steps,
            delta=self.settings.delta,
            test=MinibatchBarker(batch=self.settings.batch),
            tempering=self.settings.tempered,
            proposal=self.settings.walk,
            start=FIT,
            progress=self.progress,
        )

    @cached_property
    def runs(self) -> Posterior:
        """Figure 3: independent runs of the private chain, from a seed.

        They are drawn at once and repeatably, so that they are not private: the
        records are simulated, and the figure shows what one private run would cost.
        """
        return self._batches(2.0, self.settings.runs, _RUNS_SEED, FIT)

    def _batches(
        self, variance: float, chains: int, seed: int, start: Any
    ) -> Posterior:
        return sample_not_private(
            self.model,
            self.records,
            steps=self.settings.steps,
            test=MinibatchBarker(batch=self.settings.batch, variance=variance),
            tempering=self.settings.tempered,
            proposal=self.settings.walk,
            chains=chains,
            seed=seed,
            start=start,
            progress=self.progress,
        )


def whole_chain(posterior: Posterior, name: str) -> np.ndarray:
    """Every step of a parameter, warm-up included, of shape (chains, steps)."""
    parts = [posterior.warmup_draws[name], posterior.draws[name]]
    return np.concatenate(parts, axis=1).astype(np.float64)
