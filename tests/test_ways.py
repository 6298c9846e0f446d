# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Ways to run: control variates, other clippings, and what a budget then buys."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting import ComposedDpEvent, SelfComposedDpEvent
from refusals import assert_refused, run_openly, run_privately
from runs import assert_same_draws, private, seeded

from dpmcmc import (
    ControlVariates,
    MinibatchBarker,
    Model,
    Posterior,
    Variational,
    explicit,
    sample,
    sample_not_private,
)
from dpmcmc.accounting import BarkerBit, certify_epsilon, largest_clip
from dpmcmc.influence import Residual
from dpmcmc.influence.choices import (
    Clipping,
    ConditionalCentring,
    ModelCorrection,
    Shrinking,
)

START = Variational(epsilon=1.0, steps=100, batch=100)
CONTROL = ControlVariates(epsilon=1.0)


def log_likelihood(theta: Any, record: Any) -> Any:
    return -0.5 * (record - theta) ** 2


NORMAL = Model(log_likelihood, lambda theta: -0.5 * theta**2, 0.0)
RECORDS = np.random.default_rng(1).normal(0.4, 1.0, 3000)


@pytest.fixture(scope="module")
def controlled() -> Posterior:
    return sample(
        NORMAL,
        RECORDS,
        epsilon=3.0,
        delta=1e-5,
        start=START,
        control=CONTROL,
        steps=2000,
        progress=False,
    )


# Control variates


def test_every_release_is_in_the_statement(controlled: Posterior) -> None:
    statement = controlled.statement
    assert statement.clip is not None
    event = ComposedDpEvent(
        [
            START.plan(3000, 1e-5).event,
            CONTROL.plan(3000, 1, 1e-5).event,
            SelfComposedDpEvent(BarkerBit(statement.clip, 3000), 2000),
        ]
    )
    assert statement.epsilon == certify_epsilon(event, 1e-5).epsilon
    assert statement.epsilon <= 3.0
    text = statement.text
    assert text.index("100 noisy sums") < text.index("control variates: the gradient")
    assert "less what the control variates say of it" in text


def test_draws_know_of_the_noise(controlled: Posterior) -> None:
    """Summaries are of noise-aware draws, wider than the chain's; sizes the chain's."""
    aware = controlled.noise_aware
    assert aware is not None
    assert controlled.honest is aware
    assert aware["theta"].shape == controlled.draws["theta"].shape
    assert aware["theta"].std() > controlled.draws["theta"].std()
    row = controlled.summary().loc["theta"]
    assert row["sd"] == pytest.approx(aware["theta"].std(ddof=1))
    assert row["mean"] == pytest.approx(aware["theta"].mean())
    plain = Posterior(
        controlled.draws,
        controlled.accepted,
        controlled.warmup_draws,
        controlled.warmup_accepted,
        controlled.statement,
    )
    assert row["ess_bulk"] == plain.summary().loc["theta"]["ess_bulk"]


def test_the_posterior_of_all_records_is_found(controlled: Posterior) -> None:
    """The mean, within five of the deviations that the draws claim."""
    row = controlled.summary().loc["theta"]
    exact = RECORDS.sum() / (len(RECORDS) + 1)
    assert abs(row["mean"] - exact) < 5 * row["sd"]
    assert row["sd"] > 0.8 * len(RECORDS) ** -0.5


def test_both_kinds_of_draws_are_saved(controlled: Posterior, tmp_path: Path) -> None:
    controlled.save(tmp_path / "run.nc")
    loaded = Posterior.load(tmp_path / "run.nc")
    assert_same_draws(loaded, controlled)
    assert loaded.noise_aware is not None
    assert controlled.noise_aware is not None
    np.testing.assert_array_equal(
        loaded.noise_aware["theta"], controlled.noise_aware["theta"]
    )
    data = controlled.to_arviz()
    np.testing.assert_array_equal(
        data.posterior["theta"], controlled.noise_aware["theta"]
    )
    np.testing.assert_array_equal(data["chain"]["theta"], controlled.draws["theta"])
    assert "privacy_statement" in data["chain"].attrs


def test_a_seeded_run_can_be_made_again_noise_and_all() -> None:
    def run() -> Posterior:
        return sample_not_private(
            NORMAL,
            RECORDS,
            steps=50,
            start=START,
            control=CONTROL,
            seed=4,
            progress=False,
        )

    one, two = run(), run()
    assert_same_draws(one, two)
    assert one.noise_aware is not None
    assert two.noise_aware is not None
    np.testing.assert_array_equal(one.noise_aware["theta"], two.noise_aware["theta"])
    assert not one.statement.is_private


def test_a_run_without_control_variates_has_no_such_noise(
    model: Model, records: np.ndarray
) -> None:
    posterior = seeded(model, records)
    assert posterior.noise_aware is None
    assert posterior.honest is posterior.draws


# What a budget buys


def test_steps_and_a_budget_give_the_widest_clip(
    model: Model, records: np.ndarray
) -> None:
    posterior = private(model, records, clip=None, epsilon=2.0, steps=20, chains=2)
    clip = posterior.statement.clip
    expected = largest_clip(lambda width: BarkerBit(width, 100), 40, 2.0, 1e-5)
    assert clip == expected
    assert 1.99 < posterior.statement.epsilon <= 2.0


# Clipping


def test_another_clipping_costs_the_same_and_is_named(
    model: Model, records: np.ndarray
) -> None:
    import jax

    from dpmcmc.influence.choices import PlainClipping

    whole = Model(
        model.log_likelihood,
        model.log_prior,
        model.initial,
        simulate=lambda theta, key, record: theta["mean"] + jax.random.normal(key),
    )
    plain = private(whole, records, steps=10, clipping=PlainClipping())
    other = private(whole, records, steps=10, clipping=ModelCorrection(simulated=100))
    assert plain.statement.epsilon == other.statement.epsilon
    assert other.statement.decided.startswith(plain.statement.decided)
    assert "what the model expects the clip to take is added" in other.statement.text


def regression(values: Any) -> Model:
    """A regression whose responses are listed, or drawn."""

    def line(theta: Any, record: Any) -> Any:
        return -0.5 * (record["y"] - theta * record["x"]) ** 2

    def simulate(theta: Any, key: Any, record: Any) -> Any:
        import jax

        return {**record, "y": theta * record["x"] + jax.random.normal(key)}

    return Model(
        line,
        lambda theta: -0.5 * theta**2,
        0.0,
        simulate=simulate,
        responses={"y": values},
    )


def whole() -> Model:
    """The normal model with a simulator of whole records."""

    def simulate(theta: Any, key: Any, record: Any) -> Any:
        import jax

        return {**record, "y": theta + jax.random.normal(key)}

    return Model(
        lambda theta, record: log_likelihood(theta, record["y"]),
        lambda theta: -0.5 * theta**2,
        0.0,
        simulate=simulate,
    )


TABLE = {"x": np.ones(3000), "y": RECORDS.round().clip(-2, 2)}
RESIDUALS: dict[str, tuple[Model, Clipping, str]] = {
    "shrinking": (regression((-2, -1, 0, 1, 2)), Shrinking(), "shrunk towards"),
    "centring": (
        regression((-2, -1, 0, 1, 2)),
        ConditionalCentring(),
        "clipped about its mean",
    ),
    "drawn": (
        regression(None),
        ConditionalCentring(simulated=2),
        "clipped about its mean",
    ),
    "correction": (whole(), ModelCorrection(simulated=64), "from simulated records"),
}


ON_RESIDUALS: dict[str, Any] = {
    "start": START,
    "control": CONTROL,
    "clip": 0.01,
    "steps": 20,
    "progress": False,
}


@pytest.fixture(scope="module")
def clipped_plainly() -> Posterior:
    return sample(regression(None), TABLE, delta=1e-5, **ON_RESIDUALS)


@pytest.mark.parametrize("way", RESIDUALS)
def test_residuals_are_clipped_without_bias(
    way: str, clipped_plainly: Posterior, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It costs what plain clipping of residuals costs, and the statement names it.

    What a chain is given is that way, made of the released residual.
    """
    given = []
    run_chains = explicit.run_chains

    def spy(run: Any, mechanism: Any, *others: Any, **named: Any) -> Posterior:
        given.append(mechanism.influence)
        return run_chains(run, mechanism, *others, **named)

    monkeypatch.setattr(explicit, "run_chains", spy)
    model, clipping, words = RESIDUALS[way]
    ours = sample(model, TABLE, delta=1e-5, clipping=clipping, **ON_RESIDUALS)
    assert ours.statement.epsilon == clipped_plainly.statement.epsilon
    begins = f"{clipped_plainly.statement.decided}; that number is "
    assert ours.statement.decided.startswith(begins)
    assert words in ours.statement.decided
    assert ours.noise_aware is not None
    (influence,) = given
    assert type(influence) is not Residual
    assert type(influence.base) is Residual


def test_a_seeded_run_on_clipped_residuals_can_be_made_again() -> None:
    model, clipping, _ = RESIDUALS["shrinking"]
    one, two = (
        sample_not_private(model, TABLE, seed=4, clipping=clipping, **ON_RESIDUALS)
        for _ in range(2)
    )
    assert_same_draws(one, two)


# Refusals, before any record is read

CHEAP_START = Variational(epsilon=0.2, steps=100, batch=100)
CHEAP = ControlVariates(epsilon=0.2)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (
            {"control": 0.5, "start": CHEAP_START},
            ["control is a float", "ControlVariates"],
        ),
        ({"control": CHEAP}, ["need a start", "'variational'"]),
        (
            {
                "control": CHEAP,
                "start": CHEAP_START,
                "test": MinibatchBarker(10),
                "clip": None,
            },
            ["tests on all records", "dpmcmc.Barker()"],
        ),
        (
            {"control": CHEAP, "start": CHEAP_START, "clipping": Shrinking()},
            ["Model.responses is None"],
        ),
        ({"clipping": Shrinking()}, ["Model.responses is None"]),
        (
            {"clipping": 0.1},
            ["clipping is a float", "dpmcmc.clipping.Shrinking"],
        ),
        (
            {"clipping": Shrinking(), "test": MinibatchBarker(10), "clip": None},
            ["clipping is for tests on all records"],
        ),
    ],
)
@pytest.mark.parametrize("run", [run_privately, run_openly])
def test_ways_that_cannot_be(run: Any, changes: dict[str, Any], parts: Any) -> None:
    assert_refused(lambda: run(**changes), *parts)


def test_control_variates_without_a_budget_are_refused() -> None:
    assert_refused(
        lambda: run_privately(
            control=ControlVariates(), start=CHEAP_START, epsilon=None, steps=10
        ),
        "share of 0.75",
    )


@pytest.mark.parametrize(
    ("values", "clipping", "count"),
    [
        (tuple(range(17)), Shrinking(), 17),
        (None, ConditionalCentring(simulated=20), 20),
    ],
)
def test_surrogates_are_kept_of_few_responses(
    values: Any, clipping: Clipping, count: int
) -> None:
    assert_refused(
        lambda: sample(
            regression(values),
            TABLE,
            epsilon=1.0,
            delta=1e-5,
            start=CHEAP_START,
            control=CHEAP,
            clipping=clipping,
            progress=False,
        ),
        f"looks at {count} responses",
        "at most 16",
    )


def test_too_many_of_clip_steps_and_epsilon_are_refused() -> None:
    assert_refused(
        lambda: run_privately(clip=0.01, steps=10, epsilon=1.0),
        "give one of the two",
    )
