# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Austerity in MCMC land (Korattikara, Chen and Welling 2014). Not private.

Metropolis–Hastings accepts if the mean ratio is above a threshold. A t-test on a batch
that grows decides as soon as its p-value is below a tolerance. How many records are
read depends on them, which alone would leak.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks.peers.walks import Answer, Ratios

__all__ = ["SequentialTest"]


@dataclass(frozen=True)
class SequentialTest:
    """The test: records a batch, and the tolerance."""

    batch: int = 500
    tolerance: float = 0.01

    def __call__(
        self, ratios: Ratios, prior: float, count: int, generator: np.random.Generator
    ) -> Answer:
        """Decide about one move."""
        threshold = (np.log(generator.random()) - prior) / count
        order = generator.permutation(count)
        seen = np.empty(0)
        while len(seen) < count:
            new = ratios(order[len(seen) : len(seen) + self.batch])
            seen = np.append(seen, new)
            left = max(0.0, 1 - (len(seen) - 1) / (count - 1))
            error = seen.std(ddof=1) / np.sqrt(len(seen)) * np.sqrt(left)
            if error == 0:
                break
            distance = abs(seen.mean() - threshold) / error
            if stats.t.sf(distance, len(seen) - 1) < self.tolerance:
                break
        return Answer(bool(seen.mean() > threshold), len(seen))
