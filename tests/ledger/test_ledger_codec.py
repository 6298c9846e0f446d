# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Events survive being written and read, to the last bit; nothing else gets in."""

import json
import math

import numpy as np
import pytest
from dp_accounting import dp_event
from hypothesis import given
from hypothesis import strategies as st
from ledger_cases import BIT, SINGLES, bits, whole_run

from dpmcmc import InputError
from dpmcmc.accounting import BarkerBit, MinibatchBit
from dpmcmc.accounting.registry import flatten
from dpmcmc.ledger import LedgerError
from dpmcmc.ledger.codec import canonical, decode, encode

COMPOSED = [
    *SINGLES,
    MinibatchBit(
        50, 100, 0.5, 1.5, (-1.0, 0.0, 1.0), (0.25, 0.5, 0.25), (0.05, 0.1, 0.05)
    ),
    bits(7),
    whole_run(10),
    dp_event.NoOpDpEvent(),
    dp_event.ComposedDpEvent([bits(3), dp_event.ComposedDpEvent([BIT])]),
]


@pytest.mark.parametrize("event", COMPOSED, ids=lambda e: str(e)[:30])
def test_an_event_is_the_same_after_writing_and_reading(
    event: dp_event.DpEvent,
) -> None:
    again = decode(json.loads(canonical(encode(event))))
    assert flatten(again) == flatten(event)
    assert encode(again) == encode(event)


@pytest.mark.parametrize("event", [*SINGLES, bits(7)], ids=lambda e: str(e)[:30])
def test_what_is_not_composed_comes_back_as_it_was(event: dp_event.DpEvent) -> None:
    again = decode(encode(event))
    assert again == event
    assert type(again) is type(event)


@given(st.floats(min_value=math.ulp(0.0), max_value=1e6), st.integers(1, 2**40))
def test_numbers_keep_every_bit(clip: float, records: int) -> None:
    event = BarkerBit(clip, records)
    assert decode(json.loads(canonical(encode(event)))) == event


def test_numbers_of_numpy_become_plain() -> None:
    event = BarkerBit(np.float64(0.1), np.int64(5))  # type: ignore[arg-type]
    text = canonical(encode(dp_event.SelfComposedDpEvent(event, np.int64(3))))
    assert decode(json.loads(text)) == dp_event.SelfComposedDpEvent(
        BarkerBit(0.1, 5), 3
    )


class Own(BarkerBit):
    """An event of a user's own, which has a rule by inheritance only."""


@pytest.mark.parametrize(
    "event",
    [
        dp_event.NonPrivateDpEvent(),
        dp_event.LaplaceDpEvent(1.0),
        dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(1.0)),
        dp_event.ComposedDpEvent([BIT, dp_event.UnsupportedDpEvent()]),
        Own(0.1, 5),
    ],
)
def test_other_events_are_refused(event: dp_event.DpEvent) -> None:
    with pytest.raises(LedgerError, match="a ledger holds only BarkerBit"):
        encode(event)


def test_what_is_no_event_at_all_is_refused() -> None:
    with pytest.raises(InputError):
        encode("BarkerBit")


@pytest.mark.parametrize(
    "values",
    [
        3,
        {"kind": "BarkerBit"},
        [{}],
        [{"kind": "os.system", "count": 1, "fields": {}}],
        [{"kind": "BarkerBit", "count": 1}],
        [{"kind": "BarkerBit", "fields": {"clip": 1.0, "records": 5}}],
        [{"kind": "BarkerBit", "count": 1, "fields": {"clip": -1.0, "records": 5}}],
        [{"kind": "BarkerBit", "count": 1, "fields": {"clip": "x", "records": 5}}],
        [{"kind": "BarkerBit", "count": "x", "fields": {"clip": 1.0, "records": 5}}],
        [{"kind": "BarkerBit", "count": 1, "fields": {"clip": 1.0, "more": 1}}],
        ["BarkerBit"],
    ],
)
def test_what_is_no_event_is_not_read(values: object) -> None:
    with pytest.raises(LedgerError, match="which is no event"):
        decode(values)  # type: ignore[arg-type]
