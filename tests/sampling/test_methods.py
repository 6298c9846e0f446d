# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Methods of one chain: the test that runs and the event that is paid for agree."""

import math
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from runs import WALK, private

import dpmcmc
from dpmcmc import Barker, GaussianBarker, MinibatchBarker
from dpmcmc.accounting import GaussianRelease, zcdp_cost
from dpmcmc.correction import linear_programme
from dpmcmc.influence.choices import (
    ConditionalCentring,
    ModelCorrection,
    PlainClipping,
    Shrinking,
)
from dpmcmc.private import FullData, Minibatch, Test
from dpmcmc.sampling.plan import Plan
from dpmcmc.sampling.problem import Problem, make_problem
from dpmcmc.sampling.sample import plan_run

MODEL = dpmcmc.Model(
    lambda theta, record: -0.5 * (record - theta) ** 2, lambda theta: -(theta**2), 0.0
)


@dataclass
class Counted:
    """Records of which only the number and the kind are known."""

    count: int

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float32)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.count,)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise AssertionError("a record was read")


ONE = make_problem(MODEL, Counted(10), start=None, precision=None, devices=None)


def problem_of(records: int) -> Problem:
    """As `make_problem` has it, without tracing the model anew."""
    return replace(ONE, records=dpmcmc.Records(Counted(records)))


def planned(method: Any, records: int, **changes: Any) -> Plan:
    settings = {"epsilon": None, "delta": 1e-5, "steps": 5, **changes}
    return plan_run(problem_of(records), method, **settings)


def run_and_paid(method: Any, records: int) -> tuple[Test, Any]:
    """The test that a plan runs, and the event that it is certified by.

    Not private: some of these settings have no finite cost.
    """
    (chain,) = planned(method, records, not_private_because=("a test",)).stages
    (event,) = chain.events
    return chain.test, event


@given(
    records=some.integers(10, 10**9),
    part=some.floats(1e-6, 1),
    tempered=some.floats(1e-6, 1),
    variance=some.sampled_from([1.25, 2.0, 2.5]),
    replacement=some.booleans(),
)
def test_a_batch_pays_for_what_it_runs(
    records: int, part: float, tempered: float, variance: float, replacement: bool
) -> None:
    """Test and event carry the same numbers, whatever the settings."""
    batch = min(1 + int(part * (records - 1)), 2**22)
    method = MinibatchBarker(
        batch,
        proposal=WALK,
        tempering=tempered * records,
        variance=variance,
        replacement=replacement,
    )
    test, event = run_and_paid(method, records)
    assert isinstance(test, Minibatch)
    decision = test.decision
    assert decision.batch == event.batch == batch
    assert decision.grid.clip == event.clip
    assert decision.noise.variance == event.variance == variance
    assert decision.noise.correction.centres == event.positions
    assert decision.noise.correction.weights == event.weights
    assert decision.noise.correction.widths == event.deviations
    assert test.replacement == event.replacement == replacement
    assert event.records == records
    # Δ* = (N₀/b) Σ r = Σ ρ / √b with ρ = r N₀ / √b
    assert decision.grid.scale == pytest.approx(tempered * records / math.sqrt(batch))


@given(clip=some.floats(1e-20, 10), tempered=some.floats(1e-6, 1))
@pytest.mark.parametrize("kind", [Barker, GaussianBarker])
def test_full_data_pays_for_its_clip(kind: Any, clip: float, tempered: float) -> None:
    method = kind(clip=clip, proposal=WALK, tempering=1000 * tempered)
    test, event = run_and_paid(method, 1000)
    assert isinstance(test, FullData)
    assert test.grid.clip == event.clip == clip
    assert event.records == 1000
    assert test.grid.scale == pytest.approx(tempered)
    assert (test.noise is None) == (kind is Barker)
    if test.noise is not None:
        assert test.noise.variance == event.variance
        assert test.noise.correction.centres == event.positions


@pytest.mark.parametrize("method", [Barker, GaussianBarker, MinibatchBarker])
def test_the_chain_runs_the_test_of_the_plan(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the boundary is handed is what the event was made of."""
    handed = []

    class Spy:
        def __init__(self, *arguments: Any, **_: Any) -> None:
            handed.append(arguments[3])
            raise KeyboardInterrupt

    monkeypatch.setattr("dpmcmc.sampling.chain.Chains", Spy)
    own = {"batch": 5} if method is MinibatchBarker else {"clip": 0.1}
    chosen = method(proposal=WALK, **own)
    with pytest.raises(KeyboardInterrupt):
        private(MODEL, np.zeros(10), steps=3, method=chosen)
    assert handed == [planned(chosen, 10, steps=3).stages[0].test]


def test_a_given_correction_is_used() -> None:
    fitted = linear_programme(1.8)
    method = MinibatchBarker(10, proposal=WALK, variance=1.8, correction=fitted)
    _, event = run_and_paid(method, 100)
    assert event.positions == fitted.centres


class Shifty:
    """Looks like a correction, and is another at every look."""

    variance, widths, weights = 2.0, (0.0,), (1.0,)

    @property
    def centres(self) -> tuple[float, ...]:
        return (float(np.random.default_rng().normal()),)


def test_a_correction_of_another_class_is_refused() -> None:
    with pytest.raises(dpmcmc.InputError, match="Shifty"):
        planned(MinibatchBarker(10, proposal=WALK, correction=Shifty()), 100)


@dataclass(frozen=True)
class Generous(Barker):
    """A method that is not ours, though it inherits: its plan says so."""


def test_a_method_of_another_class_is_noted() -> None:
    ours = planned(Barker(clip=0.01, proposal=WALK), 100)
    theirs = planned(Generous(clip=0.01, proposal=WALK), 100)
    assert ours.notes == ()
    (note,) = theirs.notes
    assert "Generous" in note


# What a statement says of the method.


def sentence(method: Any) -> str:
    (stage,) = planned(method, 1000).statement({}).stages
    return stage.sentence


def test_a_sentence_names_clip_batch_and_variance() -> None:
    assert "±0.25" in sentence(Barker(clip=0.25, proposal=WALK))
    assert "C = 2.5" in sentence(GaussianBarker(clip=0.25, proposal=WALK, variance=2.5))
    batch = MinibatchBarker(batch=100, tempering=250, proposal=WALK)
    assert "100 records drawn without replacement" in sentence(batch)
    assert "±0.04" in sentence(batch)  # √100 / 250
    again = replace(batch, replacement=True)
    assert "100 records drawn with replacement" in sentence(again)


# Clipping without bias costs what plain clipping costs.

WHOLE = dpmcmc.Model(
    lambda theta, record: -0.5 * (record["y"] - theta) ** 2,
    lambda theta: -0.5 * theta**2,
    0.0,
    simulate=lambda theta, key, _: {"y": theta + jax.random.normal(key)},
    responses={"y": (-1.0, 0.0, 1.0)},
)


@pytest.mark.parametrize(
    "clipping",
    [ModelCorrection(simulated=20), ConditionalCentring(), Shrinking()],
    ids=lambda clipping: type(clipping).__name__,
)
def test_another_clipping_costs_the_same_and_is_named(clipping: Any) -> None:
    problem = make_problem(
        WHOLE, {"y": Counted(50)}, start=None, precision=None, devices=None
    )
    plain, other = (
        plan_run(
            problem,
            Barker(clip=0.1, proposal=WALK, clipping=one),
            epsilon=None,
            delta=1e-5,
            steps=6,
        ).statement({})
        for one in (PlainClipping(), clipping)
    )
    assert plain.epsilon == other.epsilon
    (before,), (after,) = plain.stages, other.stages
    assert after.sentence.startswith(before.sentence.rstrip("."))
    assert clipping.describe() in after.sentence


# Sufficient statistics.


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_exact_statistics_spend_the_budget_on_their_sum(epsilon: float) -> None:
    problem = make_problem(
        dpmcmc.models.poisson(20.0),
        {"x": Counted(1000)},
        start=None,
        precision=None,
        devices=None,
    )
    plan = plan_run(problem, None, epsilon=epsilon, delta=1e-5)
    release, chain = plan.stages
    (event,) = release.events
    assert isinstance(event, GaussianRelease)
    assert release.noise == pytest.approx(2 / event.mu)
    assert chain.events == {}
    assert plan.certificate is not None
    assert 0.999 * epsilon < plan.certificate.epsilon <= epsilon
    assert zcdp_cost(plan.events) == pytest.approx(event.mu**2 / 2)
