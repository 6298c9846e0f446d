# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One call: what is chosen, what it costs, and what it says when it cannot."""

import re
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dp_accounting import ComposedDpEvent, SelfComposedDpEvent

from dpmcmc import (
    ControlVariates,
    InputError,
    Model,
    PythonFunction,
    RandomWalk,
    Variational,
    choose,
    sample,
)
from dpmcmc.accounting import BarkerBit, certify_epsilon
from dpmcmc.influence.choices import Shrinking
from dpmcmc.rehearsal import automatic
from dpmcmc.rehearsal.screening import screened
from dpmcmc.rehearsal.starting import plan_fit
from dpmcmc.rehearsal.ways import SHARES, is_control, open_ways
from dpmcmc.variational import Start

COUNT = 20_000


def make_model(**changes: Any) -> Model:
    parts = {
        "log_likelihood": lambda theta, r: -0.5 * (r["x"] - theta["mean"]) ** 2,
        "log_prior": lambda theta: -0.5 * (theta["mean"] / 3) ** 2,
        "initial": {"mean": 0.0},
        "simulate": lambda theta, key, record: {
            "x": theta["mean"] + jax.random.normal(key)
        },
    }
    return Model(**{**parts, **changes})


MODEL, SILENT = make_model(), make_model(simulate=None)
"""One of each for all tests, so that what was compiled for one serves the next; and so
do costs that were certified, as all have one budget."""

RECORDS = {"x": np.random.default_rng(2).normal(0.5, 1.0, COUNT)}


class Shut:
    """A column whose shape may be looked at, and nothing else."""

    shape, dtype = (COUNT,), np.dtype(float)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("a record was read")


SHUT = Shut()


def choice_of(posterior: Any) -> str:
    """What is said of the choice, on one line."""
    return " ".join(posterior.settings["choice"].split())


@pytest.fixture(scope="module")
def posterior() -> Any:
    return sample(MODEL, RECORDS, epsilon=2.0, delta=1e-6, progress=False)


def test_nothing_else_given_finds_the_posterior(posterior: Any) -> None:
    """A normal mean: within a deviation of the truth, and not too narrow.

    The noise of the control variates is about 0.3 deviations here, so that five of
    them leave a false-alarm rate below 10⁻⁵.
    """
    summary = posterior.summary().loc["mean"]
    exact_sd = COUNT**-0.5
    assert abs(summary["mean"] - RECORDS["x"].mean()) < 2 * exact_sd
    assert 0.8 < summary["sd"] / exact_sd < 2
    assert summary["ess_bulk"] > 100


def test_chains_that_have_draws_enough_share_the_steps(posterior: Any) -> None:
    """A normal mean mixes fast: in any rehearsal one chain has over 400 draws."""
    statement = posterior.statement
    assert (statement.chains, statement.steps) == (4, 1000)
    assert posterior.draws["mean"].shape == (4, 750)
    assert "4 chains share its steps" in choice_of(posterior)


def test_the_whole_call_stays_within_the_budget(posterior: Any) -> None:
    statement = posterior.statement
    assert statement.epsilon <= 2.0
    assert statement.epsilon > 1.9
    assert statement.delta == 1e-6
    start = plan_fit(COUNT, 1, 1e-6, 2.0)
    used = certify_epsilon(start.event, start.delta).epsilon
    assert used <= start.epsilon
    left = np.nextafter(2.0 - start.epsilon, 0)
    left_delta = np.nextafter(1e-6 - start.delta, 0)
    said = choice_of(posterior)
    rounds = 3 if said.startswith("Way: control variates in 3 rounds") else 1
    found = re.search(r"Control variates may cost (\d+)% of the ε", said)
    assert found is not None
    share = int(found[1]) / 100
    assert share in SHARES
    settings = ControlVariates(share=share, rounds=rounds)
    control = settings.plan(COUNT, 1, left_delta, left).event
    bits = SelfComposedDpEvent(
        BarkerBit(statement.clip, COUNT), statement.chains * statement.steps
    )
    rest = certify_epsilon(ComposedDpEvent([control, bits]), left_delta).epsilon
    assert statement.epsilon == pytest.approx(rest + start.epsilon, rel=1e-12)
    assert statement.epsilon >= rest + start.epsilon
    assert len(statement.released_first) == 2
    assert "so the costs of both are added" in statement.text


@pytest.mark.parametrize(
    "change",
    [{"warmup": 10**9}, {"chains": 0}, {"devices": []}, {"chunk": -1}],
)
def test_what_cannot_run_is_refused_before_a_start_is_spent(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    monkeypatch.setattr(automatic, "find_start", None)  # calling it would fail
    with pytest.raises(InputError):
        sample(MODEL, RECORDS, epsilon=2.0, delta=1e-6, progress=False, **change)


@pytest.mark.parametrize(
    ("told", "chains", "may_split"),
    [
        ({}, 1, True),
        ({"chains": 1}, 1, False),
        ({"chains": 2}, 2, False),
        ({"warmup": 2000}, 1, False),
        ({"chunk": 7}, 1, True),
    ],
)
def test_chains_and_a_warmup_that_are_given_are_kept_to(
    monkeypatch: pytest.MonkeyPatch,
    told: dict[str, Any],
    chains: int,
    may_split: bool,
) -> None:
    """A warm-up longer than a split chain would be refused when the start is spent."""
    seen = []

    def automatically(settings: Any, **given: Any) -> None:
        seen.append((settings.chains, given["may_split"]))

    monkeypatch.setattr("dpmcmc.sampler.sample_automatically", automatically)
    sample(MODEL, RECORDS, epsilon=2.0, delta=1e-6, progress=False, **told)
    assert seen == [(chains, may_split)]


def test_shares_are_chosen_without_a_record() -> None:
    """A start is fitted there once more, uncharged: on simulated records alone."""
    settings = automatic.Settings(MODEL, {"x": SHUT}, progress=False)
    task, _ = automatic._task(settings, 1e-6, 2.0)
    mean = {"mean": np.float32(0.5)}
    found = Start(mean, np.eye(1) / COUNT, task.fit.epsilon, task.fit.delta, "a start")
    splits, fitted = screened(task, found, mean, None)
    assert set(splits) == {name for name in task.ways if is_control(name)}
    assert isinstance(fitted, Start)


def test_a_rehearsal_that_fails_does_not_lose_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(automatic, "rehearse", fail)
    posterior = sample(MODEL, RECORDS, epsilon=2.0, delta=1e-6, progress=False)
    assert "the rehearsal failed with RuntimeError" in choice_of(posterior)


def test_the_choice_is_kept_with_the_draws(posterior: Any) -> None:
    said = choice_of(posterior)
    assert said.startswith("Way: control variates")
    assert "; the best of 4 ways on simulated records" in said
    assert re.search(r"shortened where it is longer than [\d.]+ times the usual", said)
    assert re.search(r" 0\.\d+ of the length is for its Hessian and 0\.9", said)
    assert "control variates in 3 rounds 4,000 2 " in said
    assert max(map(len, posterior.settings["choice"].splitlines())) <= 88
    assert "model correction" in said
    assert "plain clipping" in said


def test_a_choice_can_be_made_without_a_record() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        choice = choose(MODEL, {"x": SHUT}, epsilon=2.0, delta=1e-6, progress=False)
    assert choice.way in choice.tried
    assert choice.rehearsal is not None
    assert {trial.name for trial in choice.rehearsal.trials} == set(choice.tried)


def test_without_a_simulator_it_says_that_it_did_not_rehearse(
    capsys: pytest.CaptureFixture[str],
) -> None:
    posterior = sample(SILENT, RECORDS, epsilon=2.0, delta=1e-6)
    said = choice_of(posterior)
    assert said.startswith(
        "Way: control variates in 3 rounds; not rehearsed: the model has no simulator. "
        "So nobody knows"
    )
    assert "chosen without a rehearsal. Way: " in posterior.statement.text
    assert " ".join(capsys.readouterr().out.split()) == said


def test_a_budget_that_buys_nothing_usable_is_said_with_what_would() -> None:
    few = {"x": RECORDS["x"][:300]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")  # there may be others beside it
        sample(MODEL, few, epsilon=0.1, delta=1e-6, progress=False)
    said = [str(one.message) for one in caught]
    (warning,) = [one for one in said if "does not buy a usable posterior" in one]
    for word in ("ε = ", "N = "):
        assert word in warning


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (make_model(initial={"mean": 0}), "discrete"),
        (
            make_model(log_likelihood=PythonFunction(lambda theta, record: 0.0)),
            "PythonFunction",
        ),
    ],
)
def test_what_cannot_be_chosen_for_is_refused(model: Model, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        sample(model, RECORDS, epsilon=1.0, delta=1e-6, progress=False)
    assert "Give proposal and clip" in str(caught.value)


def test_covariates_are_only_for_a_run_that_chooses() -> None:
    with pytest.raises(InputError, match="told how to go"):
        sample(
            MODEL,
            RECORDS,
            epsilon=1.0,
            delta=1e-6,
            clip=0.01,
            proposal=RandomWalk(0.1),
            covariates=RECORDS,
        )


def test_ways_are_those_that_the_model_is_fit_for() -> None:
    model = Model(
        lambda theta, r: r["y"] * theta * r["x"] - jax.nn.softplus(theta * r["x"]),
        lambda theta: -0.5 * theta**2,
        0.0,
        responses={"y": (0.0, 1.0)},
        simulate=lambda theta, key, r: {
            **r,
            "y": jnp.asarray(
                jax.random.bernoulli(key, jax.nn.sigmoid(theta * r["x"])), float
            ),
        },
    )
    records = automatic.Records({"x": np.zeros(1000), "y": np.zeros(1000)})
    fit = Variational(share=0.1).plan(1000, 1e-6, 1.0)
    ways = open_ways(model, records, fit, 1e-6, 1.0, "float32")
    assert list(ways) == [
        "control variates",
        "shrinking",
        "conditional centring",
        "plain clipping",
    ]
    assert Shrinking().describe()
