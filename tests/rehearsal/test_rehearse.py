# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rehearsals: simulated records, the same private run, and honest numbers about it."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpmcmc import InputError, Model, RandomWalk, models, rehearse
from dpmcmc.influence.choices import Shrinking
from dpmcmc.rehearsal import Rehearsal, Trial, simulate_records

NORMAL = Model(
    lambda theta, record: -0.5 * (record["x"] - theta) ** 2,
    lambda theta: -0.5 * theta**2,
    0.3,
    simulate=lambda theta, key, record: {"x": theta + jax.random.normal(key)},
)

WIDE = {"steps": 100, "clip": 0.4, "proposal": RandomWalk(0.1)}
NARROW = {"steps": 100, "clip": 0.005, "proposal": RandomWalk(0.1)}


@pytest.fixture(scope="module")
def rehearsal() -> Rehearsal:
    return rehearse(
        NORMAL,
        records=500,
        delta=1e-2,
        ways={"wide": WIDE, "narrow": NARROW},
        theta=1.0,
        reference_steps=2000,
        progress=False,
    )


def test_each_way_is_tried_on_the_same_records(rehearsal: Rehearsal) -> None:
    assert [trial.name for trial in rehearsal.trials] == ["wide", "narrow"]
    assert rehearsal.records == 500
    assert not rehearsal.reference.statement.is_private
    # the reference is the posterior of the simulated records: mean within 5 errors
    table = simulate_records(NORMAL, 1.0, 500, None, 0)
    centre = table["x"].sum() / 501
    off = (rehearsal.reference.draws["theta"].mean() - centre) * 501**0.5
    assert abs(off) < 5 / 100**0.5


def test_a_trial_says_what_a_real_run_may_not(rehearsal: Rehearsal) -> None:
    wide, narrow = rehearsal.trials
    assert wide.clipped is not None
    assert narrow.clipped is not None
    assert wide.clipped < 0.01
    assert narrow.clipped > 0.5
    assert wide.epsilon > narrow.epsilon
    assert wide.steps == narrow.steps == 100
    assert 0 < wide.accepted < 1
    assert wide.off.shape == wide.sd_ratio.shape == (1,)


def test_the_table_lines_up(rehearsal: Rehearsal) -> None:
    lines = str(rehearsal).splitlines()
    assert "500 simulated records; no privacy was spent" in lines[0]
    rows = lines[2:5]
    assert len({len(row) for row in rows}) == 1
    assert rows[0].split() == [
        "steps",
        "ε",
        "off",
        "sd",
        "ratio",
        "ess",
        "accepted",
        "clipped",
    ]


WILD = st.floats(0, 1e300) | st.sampled_from([math.nan, math.inf])


@given(
    st.lists(
        st.builds(
            Trial,
            name=st.text(max_size=200),
            steps=st.integers(1, 10**12),
            epsilon=st.floats(0, 1e300),
            off=st.lists(WILD, min_size=1, max_size=3).map(np.array),
            sd_ratio=st.lists(WILD, min_size=1, max_size=3).map(np.array),
            ess=st.floats(0, 1e12) | st.just(math.nan),
            accepted=st.floats(0, 1),
            clipped=st.none() | st.floats(0, 1),
        ),
        min_size=1,
        max_size=4,
    ),
    st.none() | st.floats(1, 1e12),
)
def test_no_line_is_too_wide(trials: list[Trial], tempering: float | None) -> None:
    """Whatever ways are called, and whatever came of them."""
    nothing: Any = None
    text = str(Rehearsal(10**12, tuple(trials), nothing, tempering))
    lines = text.split("\n")
    assert max(map(len, lines)) <= 88
    shown = "".join("".join(lines).split())
    for trial in trials:
        assert f"{trial.accepted:.0%}" in shown


def test_a_long_name_is_broken_and_none_is_lost() -> None:
    long = "a walk whose clip was chosen by what the survey of the year before had said"
    one = np.ones(1)
    trials = tuple(
        Trial(name, 1000, 1.0, one, one, 9.0, 0.2, None) for name in ("short", long)
    )
    lines = str(Rehearsal(10, trials, None)).splitlines()[2:-2]  # type: ignore[arg-type]
    assert len(lines) > 3
    assert " ".join(line.partition("  ")[0] for line in lines[2:]) == long
    assert {len(line) for line in lines[:3]} == {max(map(len, lines))}


def test_the_best_way_has_the_smallest_median_error() -> None:
    def trial(name: str, off: float) -> Trial:
        one = np.ones(1)
        return Trial(name, 1, 1.0, off * one, one, 100.0, 0.2, None)

    trials = (trial("a", 0.1), trial("a", 9.0), trial("a", 8.0), trial("b", 2.0))
    assert Rehearsal(10, trials, None).best == "b"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("off", "ratio", "is_usable"),
    [(0.4, 1.1, True), (0.6, 1.0, False), (0.1, 1.3, False), (0.1, 0.7, False)],
)
def test_what_is_usable(off: float, ratio: float, is_usable: bool) -> None:
    trial = Trial("a", 1, 1.0, np.array([off]), np.array([ratio]), 100.0, 0.2, None)
    assert trial.is_usable == is_usable


def test_a_way_may_be_made_of_the_start() -> None:
    seen = []

    def way(start: Any) -> dict[str, Any]:
        seen.append(float(start))
        return WIDE

    rehearse(
        NORMAL,
        records=100,
        delta=1e-2,
        ways={"way": way},
        theta=0.7,
        repeats=2,
        reference_steps=200,
        progress=False,
    )
    assert seen == [0.7, 0.7]


# Simulated records


def test_simulated_records_have_the_law_of_the_model() -> None:
    """False-alarm rate 10⁻⁶, at a fixed seed."""
    table = simulate_records(NORMAL, 2.0, 20_000, None, 3)
    assert stats.kstest(table["x"] - 2.0, "norm").pvalue > 1e-6
    again = simulate_records(NORMAL, 2.0, 20_000, None, 3)
    np.testing.assert_array_equal(table["x"], again["x"])
    other = simulate_records(NORMAL, 2.0, 20_000, None, 4)
    assert not np.array_equal(table["x"], other["x"])


def test_covariates_come_from_a_public_sample_or_a_function() -> None:
    model = models.logistic_regression(2, norm=5.0)
    theta = model.initial
    public = {"x": np.array([[1.0, 2.0], [3.0, 4.0]]), "y": np.zeros(2)}
    table = simulate_records(model, theta, 500, public, 0)
    assert set(map(tuple, table["x"].tolist())) == {(1.0, 2.0), (3.0, 4.0)}
    assert set(table["y"].tolist()) == {0.0, 1.0}

    def draw(key: jax.Array) -> dict[str, Any]:
        return {"x": jax.random.normal(key, (2,)), "y": jnp.zeros(())}

    table = simulate_records(model, theta, 500, draw, 0)
    assert len(np.unique(table["x"])) > 900


# Refusals


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": Model(NORMAL.log_likelihood, NORMAL.log_prior, 0.0)}, "simulator"),
        ({"ways": {}}, "no way to rehearse"),
        ({"records": 0}, "records is 0"),
        ({"repeats": 0}, "repeats is 0"),
        (
            {"model": models.logistic_regression(2, norm=5.0), "theta": None},
            "the simulator failed",
        ),
        ({"ways": {"a": {**WIDE, "clipping": Shrinking()}}}, "responses"),
    ],
)
def test_what_cannot_be_rehearsed(change: dict[str, Any], words: str) -> None:
    settings = {
        "model": NORMAL,
        "records": 50,
        "delta": 1e-2,
        "ways": {"wide": WIDE},
        "reference_steps": 50,
        "progress": False,
        **change,
    }
    with pytest.raises(InputError, match=words):
        rehearse(settings.pop("model"), **settings)
