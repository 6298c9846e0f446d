# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a choice is made of: covariates, names, tempering, and what counts as alike."""

import math
import warnings
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmcmc import ControlVariates, InputError, Preparation, models
from dpmcmc.certified import Settings, check_privately
from dpmcmc.model.preparation import Clamp, OneHot, Scale, Stack
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.private import Records
from dpmcmc.rehearsal import Choice, Chosen, Rehearsal, Trial, automatic
from dpmcmc.rehearsal.advice import advice_on, best_trial, chains_for
from dpmcmc.rehearsal.declared import covariates_for, within_bounds
from dpmcmc.rehearsal.screening import Task
from dpmcmc.rehearsal.shares import Split
from dpmcmc.rehearsal.ways import SHARES, way_of, with_shares
from dpmcmc.variational import Start

DELTA = 1e-6


PREPARED = Preparation(
    {
        "age": [Clamp(20, 80), Scale(20, 80)],
        "region": OneHot(3, drop_first=True),
        "x": Stack(["age", "region"]),
    }
)
SHAPES = {
    "age": jax.ShapeDtypeStruct((), np.float32),
    "region": jax.ShapeDtypeStruct((), np.float32),
    "y": jax.ShapeDtypeStruct((), np.float32),
}


def test_covariates_are_drawn_evenly_within_declared_bounds() -> None:
    model = models.logistic_regression(3, norm=3.0, before=PREPARED)
    make = within_bounds(model, SHAPES)
    assert make is not None
    drawn = jax.vmap(make)(jax.random.split(jax.random.key(0), 6000))
    age = np.asarray(drawn["x"][:, 0])
    # a mean of 6000 even numbers: five of its errors, 3.7e-3 each
    assert abs(age.mean() - 0.5) < 5 * math.sqrt(1 / 12 / 6000)
    assert age.min() >= 0
    assert age.max() <= 1
    shares = np.asarray(drawn["x"][:, 1:]).mean(axis=0)
    assert np.abs(shares - 1 / 3).max() < 5 * math.sqrt(2 / 9 / 6000)
    theta = model.initial
    given, said, unable = covariates_for(model, SHAPES, theta, None)
    assert callable(given)
    assert "even within their declared bounds" in said
    assert unable is None


def test_columns_without_declared_bounds_cannot_be_drawn() -> None:
    model = models.logistic_regression(3, norm=3.0)
    shapes = {"x": jax.ShapeDtypeStruct((3,), np.float32), "y": SHAPES["y"]}
    assert within_bounds(model, shapes) is None
    assert covariates_for(model, shapes, model.initial, None)[2] is not None


SPLIT = Split(share=0.95, part=0.15, bound=2.5)


def test_a_way_has_what_was_chosen_about_it() -> None:
    way = {"control": ControlVariates(share=0.9), "steps": 4000}
    ways = {"control variates": way}
    assert way_of(ways, "control variates", SPLIT) == {
        "control": ControlVariates(share=0.95, hessian_part=0.15, gradient_bound=2.5),
        "steps": 4000,
    }
    assert way_of(ways, "control variates", None) == ways["control variates"]


def test_what_was_chosen_is_said_in_words() -> None:
    chosen = Chosen("control variates in 3 rounds", SPLIT, 312.0, 4)
    choice = Choice(chosen, {}, ("a", "b"), "the best of 2 ways", None)
    assert choice.way == "control variates in 3 rounds"
    first, *rest = str(choice).splitlines()
    assert first == "Way: control variates in 3 rounds; the best of 2 ways."
    assert max(map(len, rest)) <= 88
    assert " ".join(rest) == (
        "Control variates may cost 95% of the ε that the start leaves, by themselves; "
        "bits have the rest. A record's gradient is shortened where it is longer than "
        "2.5 times the usual length: if the model is wrong about such records, means "
        "are off by more than intervals say. Of what a record adds to the released "
        "sum, 0.15 of the length is for its Hessian and 0.99 for its gradient: the "
        "less, the more noise is on it. The likelihood is tempered, to count for 312 "
        "records. 4 chains share its steps: by the rehearsal each has at least 100 "
        "effective draws, and r-hat compares them."
    )
    plain = Choice(Chosen("shrinking"), {}, ("a",), "it is there", None)
    assert str(plain) == "Way: shrinking; it is there."


NUMBERS = st.floats(1e-3, 1e6)


@given(
    name=st.text(max_size=60),
    split=st.none() | st.builds(Split, NUMBERS, st.floats(0.001, 0.999), NUMBERS),
    tempering=st.none() | st.floats(1, 1e12),
)
def test_what_was_chosen_is_kept_as_arrays(
    name: str, split: Split | None, tempering: float | None
) -> None:
    name = name.rstrip("\0")  # arrays of text end there
    chosen = Chosen(name, split, tempering)
    again = Chosen.of_arrays(chosen.as_arrays())
    assert again == chosen
    assert type(again.split) is type(split)
    assert again.words == chosen.words


def test_a_choice_that_another_version_kept_is_refused() -> None:
    old = {
        "way": np.array("control variates, share 0.95, Hessian part 0.15, c_g = 5√d"),
        "blind": np.array(False),
    }
    with pytest.raises(InputError, match="begun with another version of dpmcmc"):
        Chosen.of_arrays(old)


def test_every_share_of_control_variates_is_listed() -> None:
    """What is set aside before a record is read must hold whatever is chosen."""
    ways: dict[str, Any] = {
        "control variates": {"control": ControlVariates(share=0.9)},
        "plain clipping": {"steps": 10},
    }
    listed: dict[Any, Any] = with_shares(ways)
    assert listed.pop(("plain clipping", None)) == ways["plain clipping"]
    assert [way["control"].share for way in listed.values()] == list(SHARES)
    assert list(listed) == [("control variates", share) for share in SHARES]


def trial(off: float) -> Trial:
    return Trial("control variates", 10, 1.0, np.array([off]), np.ones(1), 9, 0.5, None)


@pytest.mark.parametrize(
    ("cooler", "tempered"),
    [(0.2, 312.0), (3.0, None)],
)
def test_it_tempers_only_if_needed_and_says_so(
    monkeypatch: pytest.MonkeyPatch, cooler: float, tempered: float | None
) -> None:
    """Four deviations off ask for a 64th of the records; half of it, to be safe."""
    model = models.two_component_mixture((-100.0, 100.0))
    ways = {"control variates": {"control": ControlVariates(share=0.9)}}
    records = Records({"x": np.zeros(40_000)})
    nothing: Any = None
    task = Task(nothing, model, records, "float32", DELTA, 1.0, nothing, ways, {})
    told: list[float | None] = []

    def rehearsed(*_: Any) -> Rehearsal:
        tempering = _[6] if len(_) > 6 else None
        told.append(tempering)
        off = 4.0 if tempering is None else cooler
        reference: Posterior = nothing
        return Rehearsal(40_000, (trial(off),), reference)

    monkeypatch.setattr(automatic, "_rehearsed", rehearsed)
    monkeypatch.setattr(
        automatic, "screened", lambda *_: ({"control variates": SPLIT}, nothing)
    )
    start = Start(model.initial, np.eye(2), 0.1, 1e-7, "a start")
    with pytest.warns(UserWarning, match="does not buy a usable posterior"):
        choice = automatic._choose(task, start, None, may_split=True)
    assert told == [None, 312.0]
    assert choice.way == "control variates"
    assert choice.chosen == Chosen("control variates", SPLIT, tempered)
    assert choice.settings.get("tempering") == tempered
    assert choice.settings["control"].gradient_bound == SPLIT.bound
    said = " ".join(str(choice).split())
    words = "So it runs control variates, tempered to 312 of 40,000 records"
    assert (words in said) == (tempered is not None)
    assert ("tempered, to count for 312 records" in said) == (tempered is not None)
    kept = Chosen.of_arrays(choice.chosen.as_arrays())
    assert automatic._told(task, kept, start) == choice.settings


@pytest.mark.parametrize(
    ("errors", "best"),
    [
        ((0.5, 0.4, 0.3), 0),
        ((0.9, 0.4, 0.3), 1),
        ((9.0, 2.0, 0.3), 2),
        ((math.nan, 2.0, 0.3), 2),
        ((math.nan, math.inf), 0),
    ],
)
def test_errors_of_one_rehearsal_count_by_a_factor(
    errors: tuple[float, ...], best: int
) -> None:
    """The order of ways is that of preference, unless one did clearly better."""
    trials = tuple(trial(error) for error in errors)
    nothing: Any = None
    assert best_trial(Rehearsal(10, trials, nothing)) is trials[best]


def test_advice_where_nothing_was_finite() -> None:
    """Noise may drown a run so that its draws are no numbers; that is said, too."""
    said = advice_on(trial(math.nan), 300, 0.1)
    assert "no way gave draws that can be judged" in said
    assert "does not buy a usable posterior" in said
    assert "inf" not in said
    assert "nan" not in said


def test_advice_tempers_to_no_fewer_records_than_say_something() -> None:
    said = advice_on(trial(200.0), 60_000, 0.02)
    assert said.endswith("ε = 8, or N = 9,600,000,000 records")


@pytest.mark.parametrize(
    ("off", "ratio", "factor"),
    [(2.0, 1.0, 4.0), (0.2, 1.25**3, 3.0), (0.1, 1.25**-2, 2.0)],
)
def test_advice_asks_for_more_than_was_given(
    off: float, ratio: float, factor: float
) -> None:
    """Also where means are right and only deviations are not."""
    tried = replace(trial(off), sd_ratio=np.array([1.0, ratio]))
    said = advice_on(tried, 40_000, 1.5)
    assert f"ε = {1.5 * factor:.2g}, or N = {40_000 * factor**2:,.0f} records" in said
    assert said.endswith(f"tempering={float(f'{40_000 / factor**2:.2g}'):.0f}")


@pytest.mark.parametrize(
    ("ess", "steps", "chains"),
    [
        (math.nan, 4000, 1),
        (9.0, 4000, 1),
        (199.9, 4000, 1),
        (200.0, 4000, 2),
        (400.0, 4000, 4),
        (1e6, 4000, 4),
        (1e6, 3002, 2),
        (1e6, 3001, 1),
    ],
)
def test_as_many_chains_as_have_enough_draws(
    ess: float, steps: int, chains: int
) -> None:
    tried = replace(trial(0.1), ess=ess, steps=steps)
    assert chains_for(tried) == chains
    assert steps % chains == 0


@pytest.mark.parametrize(("may_split", "chains"), [(True, 4), (False, 1)])
@pytest.mark.parametrize("cooler", [None, 312.0])
def test_chains_share_the_steps_of_what_was_rehearsed_last(
    monkeypatch: pytest.MonkeyPatch,
    may_split: bool,
    chains: int,
    cooler: float | None,
) -> None:
    """Where it is tempered, the tempered chain says how many; the other stood still."""
    model = models.two_component_mixture((-100.0, 100.0))
    control = ControlVariates(share=0.9)
    ways = {"control variates": {"control": control, "steps": 4000}}
    nothing: Any = None
    records = Records({"x": np.zeros(40_000)})
    task = Task(nothing, model, records, "float32", DELTA, 1.0, nothing, ways, {})

    def rehearsed(*_: Any) -> Rehearsal:
        is_last = cooler is None or len(_) > 6
        tried = replace(
            trial(0.1 if is_last else 4.0), steps=4000, ess=500.0 if is_last else 9.0
        )
        return Rehearsal(40_000, (tried,), nothing)

    monkeypatch.setattr(automatic, "_rehearsed", rehearsed)
    monkeypatch.setattr(automatic, "screened", lambda *_: ({}, nothing))
    start = Start(model.initial, np.eye(2), 0.1, 1e-7, "a start")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        choice = automatic._choose(task, start, None, may_split)
    assert choice.chosen == Chosen("control variates", None, cooler, chains)
    assert choice.settings.get("chains", 1) == chains
    assert choice.settings["steps"] == 4000 // chains
    kept = Chosen.of_arrays(choice.chosen.as_arrays())
    assert kept == choice.chosen
    assert automatic._told(task, kept, start) == choice.settings


def test_chains_together_cost_what_one_would() -> None:
    """The same bits: so the same clip, and the event that was set aside."""
    model = models.bernoulli()
    records = Records({"x": np.zeros(1000)})
    start = Start(model.initial, np.eye(1), 0.1, 1e-7, "a start")
    found = {
        chains: check_privately(
            Settings(
                model,
                records,
                start=start,
                control=ControlVariates(share=0.9),
                steps=4000 // chains,
                chains=chains,
            ),
            delta=DELTA,
            epsilon=1.0,
        )
        for chains in (1, 2, 4)
    }
    assert len({one.statement.clip for one in found.values()}) == 1
    assert len({one.statement.epsilon for one in found.values()}) == 1
    assert len({repr(one.total) for one in found.values()}) == 1
