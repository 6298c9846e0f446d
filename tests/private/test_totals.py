# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Totals over all records: blocks, devices, noise, words of the tape."""

from fractions import Fraction
from itertools import pairwise
from threading import Thread
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from answers import LINEAR, POINT, SIZE, Gradient, Named, asked, digest, simulated

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.private import (
    Records,
    Tape,
    foresee_counts,
    foresee_sum,
    release_counts,
    release_sum,
    totals,
)
from dpmcmc.private.histograms import exact_counts
from dpmcmc.private.sums import exact_sum
from dpmcmc.private.tape import Stream
from dpmcmc.private.totals import spread_over

KINDS = {
    "sum": (release_sum, Gradient(), 0),
    "counts": (release_counts, Named(), 1),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.mark.parametrize("count", [1, 15, 16, 17, 1021])
def test_blocks_change_nothing(kind, monkeypatch, count):
    release, question, which = kind
    records = simulated(count)[which]
    whole = asked(release, question, records)
    for number in (1, 7 * 15, 16 * SIZE):
        monkeypatch.setattr(totals, "_NUMBERS_AT_ONCE", number)
        found = asked(release, question, records)
        np.testing.assert_array_equal(found, whole, strict=True)


def test_an_accelerator_holds_more_numbers_at_once():
    processor, accelerator = (
        spread_over([SimpleNamespace(platform=name)] * 2) for name in ("cpu", "gpu")
    )
    assert processor.devices == accelerator.devices == 2
    assert accelerator.numbers > 10 * processor.numbers


def test_devices_change_nothing(fresh_process):
    flags = "--xla_force_host_platform_device_count=3"
    lines = fresh_process("answers.py", "1", "2", "3", XLA_FLAGS=flags).split()
    assert set(lines) == {digest(1)}
    assert len(lines) == 3


def test_the_noise_is_as_large_as_was_said(kind):
    """Sd of 600 numbers of no record, 5 sd: false alarm below 1 in a million."""
    release, question, _ = kind
    nobody = np.full((1, SIZE), np.nan)
    drawn = [
        asked(release, question, nobody, noise=3.0, tape=Tape.seeded(seed))
        for seed in range(600 // asked(release, question, nobody).size)
    ]
    numbers = np.ravel(drawn)
    assert numbers.std() / 3.0 == pytest.approx(1, abs=5 / np.sqrt(2 * numbers.size))
    assert np.all(numbers * CLIP_STEPS == np.round(numbers * CLIP_STEPS))


@pytest.mark.parametrize("noise", [0.0, -1.0, np.nan, np.inf, 2.0**31])
def test_nothing_leaves_without_noise(kind, noise):
    release, question, _ = kind
    with pytest.raises(ValueError, match="is no noise"):
        asked(release, question, np.ones((5, SIZE)), noise=noise)


@pytest.mark.parametrize("square", [4, 6])
def test_noise_that_a_division_rounded_down_is_still_enough(monkeypatch, square):
    """A noise of √square/μ, as floats, makes no more than μ, as real numbers."""
    found = []

    def no_noise(tape, count, sd):
        found.append(sd)
        return np.zeros(count, np.int64)

    monkeypatch.setattr(totals, "rounded_normals", no_noise)
    for places in range(1, 100):
        noise = 2.0**-12 * (1 + places * 2.0**-8)  # a whole number of steps
        mu = float(np.nextafter(square**0.5 / noise, 0))
        asked(release_sum, Gradient(), np.ones((1, SIZE)), noise=square**0.5 / mu)
        assert Fraction(square * CLIP_STEPS**2, found[-1] ** 2) <= Fraction(mu) ** 2


def test_no_word_is_read_twice_and_none_of_other_streams(kind, monkeypatch):
    calls, inner = [], Tape.words

    def words(self, stream, chain, start, count, attempt=0):
        calls.append((stream, attempt, chain, start, start + count))
        return inner(self, stream, chain, start, count, attempt)

    monkeypatch.setattr(Tape, "words", words)
    release, question, _ = kind
    asked(release, question, np.ones((20, SIZE)))
    assert {call[:3] for call in calls} == {(Stream.NOISE, 0, 0)}
    ends = [call[3:] for call in sorted(calls)]
    assert all(one[1] <= other[0] for one, other in pairwise(ends))


def test_a_secret_tape_serves_once(kind):
    release, question, _ = kind
    tape = Tape.fresh()
    asked(release, question, np.ones((5, SIZE)), tape=tape)
    with pytest.raises(RuntimeError, match="this tape has been used"):
        asked(release, question, np.ones((5, SIZE)), tape=tape)


def test_a_total_too_long_to_bound_is_refused():
    with pytest.raises(ValueError, match="too long to add"):
        asked(release_counts, Named(count=2**20), np.ones((2, SIZE)))


def test_what_was_compiled_serves_other_records(kind):
    release, question, which = kind
    records = simulated(64)[which]
    asked(release, question, records)
    before = exact_sum._cache_size() + exact_counts._cache_size()
    asked(release, question, records[::-1].copy(), noise=2.0)
    assert exact_sum._cache_size() + exact_counts._cache_size() == before


COMPILED = "/jax/core/compile/backend_compile_duration"


@pytest.fixture
def compiled():
    """Programs as they are compiled, on whatever thread."""
    found = []

    def compile_(event, *_, **__):
        if event == COMPILED:
            found.append(event)

    jax.monitoring.register_event_duration_secs_listener(compile_)
    return found


FORESEE = {release_sum: foresee_sum, release_counts: foresee_counts}


def test_what_was_foreseen_is_compiled_once_on_another_thread(kind, compiled):
    release, question, which = kind
    records = simulated(977)[which]  # a number of records that no other test has
    on = {"dtype": "float64", "devices": jax.devices()[:1]}
    compile_ = FORESEE[release](LINEAR, Records(records), question, POINT, **on)
    assert compiled == []
    thread = Thread(target=compile_)
    thread.start()
    thread.join()
    assert len(compiled) == 1
    asked(release, question, records[::-1].copy())
    assert len(compiled) == 1
