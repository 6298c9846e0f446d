# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What every step costs: events say what was released, accountants what it costs."""

from dpmcmc.accounting.certify import (
    Certificate,
    certify_delta,
    certify_epsilon,
    most_steps,
)
from dpmcmc.accounting.full_data import BarkerBit
from dpmcmc.accounting.registry import UnsupportedEventError

__all__ = [
    "BarkerBit",
    "Certificate",
    "UnsupportedEventError",
    "certify_delta",
    "certify_epsilon",
    "most_steps",
]
