# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Control variates (to be written)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ControlVariates:
    def plan(self, problem, request):
        raise NotImplementedError
