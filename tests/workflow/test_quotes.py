# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A quote is what a reservation would set aside, and writes nothing."""

from pathlib import Path

import pytest
from dp_accounting.dp_event import SelfComposedDpEvent

from dpmcmc.accounting import BarkerBit
from dpmcmc.ledger import Ledger, OverBudgetError


def test_a_quote_is_the_share_that_is_then_reserved(tmp_path: Path) -> None:
    total = SelfComposedDpEvent(BarkerBit(0.01, 400), 300)
    with Ledger.open(tmp_path / "study.db") as ledger:
        ledger.register("people", records=400, epsilon=1, delta=1e-6)
        share = ledger.quote("people", total)
        assert len(ledger.entries()) == 1
        ledger.reserve("people", total)
        assert ledger.overview("people").reserved == share > 0
        more = SelfComposedDpEvent(BarkerBit(0.01, 400), 10**6)
        with pytest.raises(OverBudgetError):
            ledger.quote("people", more)
        assert len(ledger.entries()) == 2
