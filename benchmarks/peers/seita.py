# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""An efficient minibatch acceptance test (Seita et al. 2017). Not private.

Barker's test, with the noise of a batch in place of part of the logistic noise. A batch
grows until the variance of N times its mean ratio is below 1; normal noise makes it 1,
and a correction makes it logistic. The paper of this package bounds the variance by
clipping instead, which is what makes the test private.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.peers.walks import Answer, Ratios
from dpmcmc.correction import Correction, correction_for

__all__ = ["BarkerBatchTest"]


@cache
def _correction() -> Correction:
    return correction_for(1.0)


@dataclass(frozen=True)
class BarkerBatchTest:
    """The test: how many records a batch grows by."""

    batch: int = 500

    def __call__(
        self, ratios: Ratios, prior: float, count: int, generator: np.random.Generator
    ) -> Answer:
        """Decide about one move."""
        order = generator.permutation(count)
        seen, variance = np.empty(0), np.inf
        while variance > 1 and len(seen) < count:
            seen = np.append(seen, ratios(order[len(seen) : len(seen) + self.batch]))
            left = 1 - len(seen) / count
            variance = count**2 * left * seen.var() / len(seen)
        noise = np.sqrt(max(0.0, 1 - variance)) * generator.normal()
        given = _correction()
        one = generator.choice(len(given.weights), p=np.array(given.weights))
        noise += given.centres[one] + given.widths[one] * generator.normal()
        return Answer(bool(count * seen.mean() + prior + noise > 0), len(seen))
