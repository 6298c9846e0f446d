# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What every step costs: events say what was released, accountants what it costs."""

from dpmcmc.accounting.batch_gaussian import GaussianBatchSum, least_noise
from dpmcmc.accounting.certify import (
    Certificate,
    certify_delta,
    certify_epsilon,
)
from dpmcmc.accounting.filter import ZcdpFilter
from dpmcmc.accounting.full_data import BarkerBit
from dpmcmc.accounting.gaussian_barker import GaussianBarkerBit
from dpmcmc.accounting.gaussian_release import GaussianDpEvent
from dpmcmc.accounting.inversions import largest_clip, most_steps
from dpmcmc.accounting.logistic_minibatch import LogisticMinibatchBit
from dpmcmc.accounting.minibatch import MinibatchBit
from dpmcmc.accounting.registry import UnsupportedEventError

__all__ = [
    "BarkerBit",
    "Certificate",
    "GaussianBarkerBit",
    "GaussianBatchSum",
    "GaussianDpEvent",
    "LogisticMinibatchBit",
    "MinibatchBit",
    "UnsupportedEventError",
    "ZcdpFilter",
    "certify_delta",
    "certify_epsilon",
    "largest_clip",
    "least_noise",
    "most_steps",
]
