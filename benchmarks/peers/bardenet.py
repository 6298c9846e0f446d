# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Adaptive subsampling with concentration bounds (Bardenet, Doucet, Holmes 2014).

As in `korattikara`, but a batch is large enough when an empirical Bernstein bound says
so, with a stated probability of error. The batch doubles; the bound's probabilities add
up to it. Ratios must have a known range. Not private.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.peers.walks import Answer, Ratios

__all__ = ["BernsteinTest"]


@dataclass(frozen=True)
class BernsteinTest:
    """The test: the range of ratios, the probability of error, and the first batch."""

    range: float
    error: float = 0.1
    first: int = 500

    def __call__(
        self, ratios: Ratios, prior: float, count: int, generator: np.random.Generator
    ) -> Answer:
        """Decide about one move."""
        threshold = (np.log(generator.random()) - prior) / count
        order = generator.permutation(count)
        seen, looks = np.empty(0), 0
        while len(seen) < count:
            wanted = min(count, self.first * 2**looks)
            seen = np.append(seen, ratios(order[len(seen) : wanted]))
            looks += 1
            # probabilities of the looks, error/2, error/6, error/12, …, add up to error
            log = np.log(3 * looks * (looks + 1) / self.error)
            read = len(seen)
            bound = seen.std() * np.sqrt(2 * log / read) + 3 * self.range * log / read
            if abs(seen.mean() - threshold) > bound:
                break
        return Answer(bool(seen.mean() > threshold), len(seen))
