# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of tests of sampling."""

import pytest

from dpmcmc.sampling.fit.fitted import Fitted


@pytest.fixture
def deciding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let records decide, however little the quadratic misses."""
    monkeypatch.setattr(Fitted, "is_alone", False)
