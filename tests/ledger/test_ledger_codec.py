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
from ledger_cases import BIT, SINGLES, whole_run

from dpmcmc import InputError
from dpmcmc.accounting import BarkerBit, Event, GaussianRelease, MinibatchBit
from dpmcmc.ledger import LedgerError
from dpmcmc.ledger.codec import Events, canonical, decode, encode

WITH_WIDTHS = MinibatchBit(
    50, 100, 0.5, 1.5, (-1.0, 0.0, 1.0), (0.25, 0.5, 0.25), (0.05, 0.1, 0.05)
)


@pytest.mark.parametrize(
    "events",
    [*({event: 7} for event in SINGLES), {WITH_WIDTHS: 1}, whole_run(10), {}],
    ids=lambda e: str(e)[:30],
)
def test_events_are_the_same_after_writing_and_reading(events: Events) -> None:
    again = decode(json.loads(canonical(encode(events))))
    assert again == events
    assert [*map(type, again)] == [*map(type, events)]


def test_what_happened_no_time_is_not_written() -> None:
    assert encode({BIT: 0}) == []


@given(st.floats(min_value=math.ulp(0.0), max_value=1e6), st.integers(1, 2**40))
def test_numbers_keep_every_bit(clip: float, records: int) -> None:
    events = {BarkerBit(clip, records): 1, GaussianRelease(clip): 3}
    assert decode(json.loads(canonical(encode(events)))) == events


def test_numbers_of_numpy_become_plain() -> None:
    event = BarkerBit(np.float64(0.1), np.int64(5))  # type: ignore[arg-type]
    text = canonical(encode({event: np.int64(3)}))  # type: ignore[dict-item]
    assert decode(json.loads(text)) == {BarkerBit(0.1, 5): 3}


class Own(BarkerBit):
    """An event of a user's own, which has a rule by inheritance only."""


@pytest.mark.parametrize(
    "event",
    [
        dp_event.NonPrivateDpEvent(),
        dp_event.LaplaceDpEvent(1.0),
        dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(1.0)),
        dp_event.UnsupportedDpEvent(),
        Own(0.1, 5),
    ],
)
def test_other_events_are_refused(event: Event) -> None:
    with pytest.raises(LedgerError):
        encode({BIT: 1, event: 1})


@pytest.mark.parametrize(
    "events", ["BarkerBit", {"BarkerBit": 1}, {BIT: 1.5}, {BIT: -1}], ids=str
)
def test_what_is_no_event_at_all_is_refused(events: object) -> None:
    with pytest.raises(InputError):
        encode(events)  # type: ignore[arg-type]


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
