# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Gaussian noise on a sum: dp-accounting's event, priced under substitution.

``GaussianDpEvent(noise_multiplier)`` stands for a sum of vectors, one for each record,
of length at most c, plus normal noise of deviation c times the multiplier. Substitution
of one record moves the sum by at most 2c, so the release is μ-Gaussian private with
μ = 2 / multiplier. Whoever draws the noise answers for drawing it exactly.
"""

import math

import numpy as np
from dp_accounting.dp_event import GaussianDpEvent

from dpmcmc.accounting.accountants import BLOCKS, GAUSSIAN, SINGLES, ZCDP
from dpmcmc.accounting.chains import require_narrow
from dpmcmc.accounting.gaussian_noise import GaussianCurve
from dpmcmc.accounting.losses import Losses, profile_losses
from dpmcmc.accounting.registry import slack_rule
from dpmcmc.errors import require_positive

__all__ = ["GaussianDpEvent"]

_CELLS = 64
_DEVIATIONS = 9.0


@slack_rule(GaussianDpEvent)
def _slack(_: GaussianDpEvent) -> float:
    return 0.0


@GAUSSIAN.rule(GaussianDpEvent)
def _mu(event: GaussianDpEvent, count: int) -> float:
    multiplier = require_positive(
        "noise_multiplier", event.noise_multiplier, "Add noise to the release."
    )
    return 2 / multiplier * math.sqrt(count)


@ZCDP.rule(GaussianDpEvent)
def _rho(event: GaussianDpEvent, count: int) -> float:
    return _mu(event, count) ** 2 / 2


@SINGLES.rule(GaussianDpEvent)
@BLOCKS.rule(GaussianDpEvent)
def _losses(event: GaussianDpEvent, count: int) -> Losses:
    curve = GaussianCurve(_mu(event, count))
    require_narrow(curve.mu)
    step = curve.mu / _CELLS
    half = math.ceil((_DEVIATIONS * curve.mu + curve.mu**2 / 2) / step)
    losses = step * np.arange(-half, half + 1)
    values = np.array([curve.delta(-loss) for loss in losses])
    return profile_losses(values, step, 0.0)
