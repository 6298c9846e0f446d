# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What every step costs: events say what was released, accountants what it costs."""

from dpmcmc.accounting.barker_bit import BarkerBit
from dpmcmc.accounting.batch_gaussian import GaussianBatchSum
from dpmcmc.accounting.certify import (
    Certificate,
    certify_delta,
    certify_epsilon,
)
from dpmcmc.accounting.currencies import (
    ProfilePoint,
    gdp_cost,
    privacy_profile,
    zcdp_cost,
)
from dpmcmc.accounting.gaussian_barker_bit import GaussianBarkerBit
from dpmcmc.accounting.gaussian_release import GaussianRelease
from dpmcmc.accounting.inversions import (
    largest,
    largest_clip,
    least_noise,
    most_steps,
)
from dpmcmc.accounting.laplace_release import LaplaceRelease
from dpmcmc.accounting.minibatch_bit import MinibatchBit
from dpmcmc.accounting.registry import Event, UnsupportedEventError

__all__ = [
    "BarkerBit",
    "Certificate",
    "Event",
    "GaussianBarkerBit",
    "GaussianBatchSum",
    "GaussianRelease",
    "LaplaceRelease",
    "MinibatchBit",
    "ProfilePoint",
    "UnsupportedEventError",
    "certify_delta",
    "certify_epsilon",
    "gdp_cost",
    "largest",
    "largest_clip",
    "least_noise",
    "most_steps",
    "privacy_profile",
    "zcdp_cost",
]
