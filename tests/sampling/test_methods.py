# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Acceptance tests as a user chooses them: mechanism, event, words and refusals."""

import math
from typing import Any

import numpy as np
import pytest
from dpmcmc.acceptance import Setting, tempered_records
from hypothesis import given
from hypothesis import strategies as some

import dpmcmc
from dpmcmc.correction import correction_for, linear_programme
from dpmcmc.private import FullData, Grid, Minibatch

N = 5000
MODEL = dpmcmc.Model(
    lambda theta, record: -0.5 * (record - theta) ** 2, lambda theta: -(theta**2), 0.0
)


class WasReadError(BaseException):
    """What no handler of errors takes for one of its own."""


class Unreadable:
    """Records that fail the test if anyone reads them."""

    shape, dtype = (N,), np.dtype(np.float32)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise WasReadError("a record was read")


def run(**changes: Any) -> dpmcmc.Posterior:
    settings: dict[str, Any] = {
        "steps": 5,
        "delta": 1e-6,
        "proposal": dpmcmc.RandomWalk(0.1),
        "test": dpmcmc.MinibatchBarker(batch=100),
        "progress": False,
    }
    return dpmcmc.sample(MODEL, Unreadable(), **(settings | changes))


def minibatch(**changes: Any) -> dict[str, Any]:
    return {"test": dpmcmc.MinibatchBarker(**({"batch": 100} | changes))}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (minibatch(batch=N + 1), [f"batch is {N + 1}", f"at most the {N} records"]),
        (minibatch(batch=0), ["batch is 0", "at least 1"]),
        (minibatch(batch=2.5), ["batch is 2.5", "whole number"]),
        (minibatch(variance=1.0), ["variance is 1.0", "strictly between 1,"]),
        (minibatch(variance=3.3), ["variance is 3.3", "π²/3"]),
        (minibatch(variance=-1), ["variance is -1", "above 0"]),
        ({"test": dpmcmc.GaussianBarker(variance=4.0), "clip": 0.1}, ["variance is 4"]),
        ({"tempering": 0}, ["tempering is 0", "above 0"]),
        ({"tempering": -5.0}, ["tempering is -5.0", "above 0"]),
        ({"tempering": N + 1}, [f"tempering is {N + 1}", "at most"]),
        ({"tempering": math.nan}, ["tempering is nan"]),
        ({"tempering": dpmcmc.Coarsening(beta=0)}, ["beta is 0"]),
        (
            {"steps": 10**9, **minibatch(batch=N)},
            ["1,000,000,000 steps", "a smaller batch"],
        ),
        ({"clip": 0.1}, ["clip is 0.1", "a clip of its own"]),
        ({"test": dpmcmc.Barker()}, ["clip is None", "above 0"]),
        ({"test": dpmcmc.GaussianBarker()}, ["clip is None", "above 0"]),
        ({"test": "minibatch"}, ["test is a str", "MinibatchBarker"]),
        ({"test": None}, ["test is a NoneType"]),
        (
            minibatch(correction=correction_for(1.5)),
            ["for C = 1.5", "variance is 2.0"],
        ),
    ],
    ids=lambda value: None if isinstance(value, list) else str(value)[:60],
)
def test_what_cannot_be_used_is_refused_before_a_record_is_read(
    changes: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(dpmcmc.InputError) as caught:
        run(**changes)
    assert caught.value.__cause__ is None
    for word in words:
        assert word in str(caught.value)


def test_records_are_read_once_all_is_well() -> None:
    with pytest.raises(WasReadError, match="a record was read"):
        run()


class Generous(dpmcmc.Barker):
    """Runs a wider clip than it says: nothing could vouch for its cost."""

    def mechanism(self, setting: Setting) -> FullData:
        return FullData(Grid(100.0))


class Shifty:
    """Looks like a correction, and is another at every look."""

    variance, widths, weights = 2.0, (0.0,), (1.0,)

    @property
    def centres(self) -> tuple[float, ...]:
        return (float(np.random.default_rng().normal()),)


@pytest.mark.parametrize(
    "changes",
    [
        {"test": Generous(), "clip": 0.01},
        minibatch(correction=Shifty()),
    ],
    ids=["a test of another class", "a correction of another class"],
)
def test_what_no_statement_could_vouch_for_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(dpmcmc.InputError):
        run(**changes)


@given(
    records=some.integers(10, 10**9),
    share=some.floats(1e-6, 1),
    tempered=some.floats(1e-6, 1),
    variance=some.sampled_from([1.25, 2.0, 2.5]),
    replacement=some.booleans(),
)
def test_what_runs_is_what_is_paid_for(
    records: int, share: float, tempered: float, variance: float, replacement: bool
) -> None:
    """Mechanism and event carry the same numbers, whatever the setting."""
    batch = min(1 + int(share * (records - 1)), 2**22)
    test = dpmcmc.MinibatchBarker(batch, variance, None, replacement)
    setting = Setting(records, tempered * records, None)
    mechanism = test.mechanism(setting)
    event = test.event(setting, mechanism)
    assert isinstance(mechanism, Minibatch)
    decision = mechanism.decision
    assert decision.batch == event.batch == batch
    assert decision.grid.clip == event.clip
    assert decision.noise.variance == event.variance
    assert decision.noise.correction.centres == event.positions
    assert decision.noise.correction.weights == event.weights
    assert decision.noise.correction.widths == event.deviations
    assert mechanism.replacement == event.replacement
    assert event.records == records
    # Δ* = (N₀/b) Σ r = Σ ρ / √b with ρ = r N₀ / √b
    assert decision.grid.scale == pytest.approx(tempered * records / math.sqrt(batch))


@given(clip=some.floats(1e-20, 10), tempered=some.floats(1e-6, 1))
def test_full_data_tests_pay_for_their_clip(clip: float, tempered: float) -> None:
    setting = Setting(1000, 1000 * tempered, clip)
    for test in (dpmcmc.Barker(), dpmcmc.GaussianBarker()):
        mechanism = test.mechanism(setting)
        event = test.event(setting, mechanism)
        assert isinstance(mechanism, FullData)
        assert mechanism.grid.clip == event.clip == clip
        assert event.records == 1000
        assert mechanism.grid.scale == pytest.approx(tempered)
        if mechanism.noise is not None:
            assert mechanism.noise.variance == event.variance
            assert mechanism.noise.correction.centres == event.positions


@given(records=some.integers(1, 10**12), beta=some.floats(1e-3, 1e12))
def test_coarsening_tempers_to_fewer_records(records: int, beta: float) -> None:
    tempered = tempered_records(dpmcmc.Coarsening(beta), records)
    assert 0 < tempered <= min(records, beta) * (1 + 1e-12)
    assert tempered_records(None, records) == records


def test_a_given_correction_is_used() -> None:
    fitted = linear_programme(1.8)
    test = dpmcmc.MinibatchBarker(batch=10, variance=1.8, correction=fitted)
    setting = Setting(100, 100, None)
    event = test.event(setting, test.mechanism(setting))
    assert event.positions == fitted.centres


@pytest.mark.parametrize("replacement", [False, True])
def test_the_statement_says_how_bits_were_decided(replacement: bool) -> None:
    records = np.random.default_rng(1).normal(size=N).astype(np.float32)
    posterior = dpmcmc.sample(
        MODEL,
        records,
        steps=50,
        delta=1e-6,
        test=dpmcmc.MinibatchBarker(batch=100, replacement=replacement),
        tempering=250,
        proposal=dpmcmc.RandomWalk(0.1),
        progress=False,
    )
    text = posterior.statement.text
    how = "with" if replacement else "without"
    assert f"a fresh, secret batch of 100 records drawn {how} replacement" in text
    assert "clipped to ±0.04" in text
    assert "N₀ = 250" in text
    assert posterior.statement.is_tempered
    assert 0 < posterior.statement.epsilon < 1
    assert "tempered to 250" in _captions(posterior)


def _captions(posterior: dpmcmc.Posterior) -> str:
    figure = dpmcmc.plot_posterior(posterior)
    return " ".join(text.get_text() for part in figure.subfigs for text in part.texts)
