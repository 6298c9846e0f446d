# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Labels: what they may be, what they must fit, and where they are shown."""

import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from posteriors import made_up
from refusals import assert_refused

import dpmcmc
from dpmcmc import InputError, Posterior
from dpmcmc.aligned import broken
from dpmcmc.model.labels import axes_of, titles_of, with_levels
from dpmcmc.model.model import Model, check_model
from dpmcmc.rehearsal.simulate import without_preparation

SHAPES: dict[str, tuple[int, ...]] = {"w": (3,), "mean": (), "group.scale": (2, 3)}
START = {
    "w": np.zeros(3, np.float32),
    "mean": np.float32(0),
    "group": {"scale": np.zeros((2, 3), np.float32)},
}
LABELS: dict[str, Any] = {
    "w": ("age", "income", "smoker"),
    "group.scale": (None, ("a", "b", "c")),
}
RECORD = jax.ShapeDtypeStruct((), np.float32)

GOOD = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=12
).filter(lambda text: bool(text.strip()))


def model(labels: Any, **changes: Any) -> Model:
    given = {
        "log_likelihood": lambda theta, x: -((x - theta["w"][0]) ** 2) / 2,
        "log_prior": lambda theta: -jnp.sum(theta["w"] ** 2) / 2,
        "initial": START,
        **changes,
    }
    return Model(**given, labels=labels)


def posterior(
    labels: Mapping[str, Any], noise_aware: bool = False, draws: int = 40
) -> Posterior:
    plain = made_up(shape=(2, draws))
    generator = np.random.default_rng(2)

    def drawn(count: int) -> dict[str, np.ndarray]:
        return {
            name: generator.normal(size=(2, count, *shape))
            for name, shape in SHAPES.items()
        }

    return replace(
        plain,
        draws=drawn(draws),
        warmup_draws=drawn(plain.warmup_accepted.shape[1]),
        noise_aware=drawn(draws) if noise_aware else None,
        labels=labels,
    )


# What labels may be.


@pytest.mark.parametrize(
    "given",
    [
        ("age", "income", "smoker"),
        ["age", "income", "smoker"],
        (("age", "income", "smoker"),),
        np.array(["age", "income", "smoker"]),
        pd.DataFrame(columns=["age", "income", "smoker"]).columns,
    ],
    ids=["tuple", "list", "nested", "array", "columns of a table"],
)
def test_names_of_one_axis_may_be_any_list(given: Any) -> None:
    found = model({"w": given})
    assert found.labels == {"w": ("age", "income", "smoker")}
    assert all(type(one) is str for one in found.labels["w"])
    check_model(found, START, RECORD)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (("age",), "labels is a tuple; labels must be names"),
        ({3: ("age",)}, "labels has a int; labels must be names"),
        ({"w": "age"}, "labels has a str for 'w'; labels must be names"),
        ({"w": ()}, "labels has a tuple for 'w'"),
        ({"w": {"a", "b"}}, "labels has a set for 'w'"),
        ({"w": (("a",), "b")}, "labels has a tuple for 'w'"),
        ({"w": (None, None)}, "labels names no place of 'w'. Leave it out"),
        ({"w": ("a", 3)}, "labels has a tuple for 'w'"),
        ({"w": (("a", 3),)}, "labels of 'w' hold int; each must be a text"),
        ({"w": ("a", "")}, "labels of 'w' hold an empty text; each must be a text"),
        ({"w": ("a", "  ")}, "labels of 'w' hold an empty text"),
        ({"w": ("a", "b\u202ec")}, "another control character"),
        ({"w": ("age", "age\u200b")}, "hold 'age' twice along one axis"),
        ({"w": ("\u00e9", "e\u0301")}, "hold '\u00e9' twice along one axis"),
        ({"w": ("a", "b\nc")}, "labels of 'w' hold 'b\\nc', which has a line break"),
        ({"w": ("a", "\ud800")}, "another control character"),
        ({"w": ("a", "b", "a")}, "labels of 'w' hold 'a' twice along one axis"),
        ({"w": (("a", "b"), ("c", "c"))}, "labels of 'w' hold 'c' twice"),
    ],
)
def test_what_is_no_label_is_refused_when_a_model_is_made(
    labels: Any, said: str
) -> None:
    assert_refused(lambda: model(labels), said)
    assert_refused(lambda: posterior(labels), said)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"W": ("a", "b", "c")}, "'W', which is no parameter that draws show; they "),
        ({"w": ("a", "b")}, "2 names for 'w', whose shape is (3,). Give 3 names."),
        ({"mean": ("a",)}, "1 names for 'mean', whose shape is (). Give none"),
        ({"group.scale": ("a", "b")}, "a tuple for each of its 2 axes, of 2, 3 names"),
        ({"group.scale": (("a",), None)}, "1 × any names for 'group.scale'"),
    ],
)
def test_labels_must_fit_what_is_shown(labels: Any, said: str) -> None:
    assert_refused(lambda: check_model(model(labels), START, RECORD), said)
    assert_refused(lambda: posterior(labels), said)


@pytest.mark.parametrize("wrap", [lambda table: table, dict, lambda t: {"w": t}])
def test_a_table_that_is_given_by_mistake_is_not_shown(wrap: Any) -> None:
    table = pd.DataFrame({"w": [0.123, 0.456, 0.789]})
    with pytest.raises(InputError) as refused:
        model(wrap(table))
    assert not re.search(r"0\.\d", str(refused.value))


def test_labels_that_would_call_two_places_the_same_are_refused() -> None:
    twice = {"group.scale": (("a", "a, b"), ("b, c", "c", "d"))}
    said = "two places are both shown as 'group.scale[a, b, c]'"
    assert_refused(lambda: check_model(model(twice), START, RECORD), said)


def test_no_record_is_read_before_labels_are_refused() -> None:
    records = np.full(100, np.nan)
    wrong = model({"w": ("a", "b")})
    walk = dpmcmc.RandomWalk(0.1)
    said = "labels has 2 names for 'w'"
    for run in (
        lambda: dpmcmc.sample(wrong, records, epsilon=1.0, delta=1e-6),
        lambda: dpmcmc.sample(
            wrong, records, steps=10, delta=1e-6, clip=0.1, proposal=walk
        ),
        lambda: dpmcmc.sample_not_private(wrong, records, steps=10, proposal=walk),
    ):
        assert_refused(run, said)


# Labels go with what is shown.


def test_labels_name_what_the_transform_shows() -> None:
    shown = model({"twice": ("a", "b", "c")}, transform=lambda t: {"twice": 2 * t["w"]})
    check_model(shown, START, RECORD)
    hidden = model({"w": ("a", "b", "c")}, transform=lambda t: {"twice": 2 * t["w"]})
    said = "'w', which is no parameter that draws show; they show 'twice'"
    assert_refused(lambda: check_model(hidden, START, RECORD), said)


def test_a_failing_transform_is_still_named_by_its_line() -> None:
    def failing(theta: Any) -> Any:
        return theta["nothing"]

    bad = model({"w": ("a", "b", "c")}, transform=failing)
    place = f"{__file__}:{failing.__code__.co_firstlineno + 1}"
    assert_refused(
        lambda: check_model(bad, START, RECORD), f"KeyError at {place}: 'nothing'"
    )


def test_a_copy_keeps_labels_unless_it_is_given_others() -> None:
    named = model(LABELS)
    assert replace(named, initial=START).labels == named.labels == LABELS
    again = replace(named, labels={"w": ("x", "y", "z")})
    assert again.labels == {"w": ("x", "y", "z")}
    assert replace(named, labels={}).labels == {}


def test_a_rehearsal_compares_places_without_names() -> None:
    assert without_preparation(model(LABELS)).labels == {}
    assert without_preparation(model(LABELS)).transform is None


@pytest.mark.parametrize("is_shown", [False, True], ids=["θ", "a transform"])
def test_a_model_with_labels_can_be_rehearsed(is_shown: bool) -> None:
    named = Model(
        lambda theta, x: -jnp.sum((x - theta) ** 2) / 2,
        lambda theta: -jnp.sum(theta**2) / 200,
        np.zeros(2),
        transform=(lambda theta: {"shown": theta}) if is_shown else None,
        simulate=lambda theta, key, _: theta + jax.random.normal(key, (2,)),
        labels={"shown" if is_shown else "theta": ("a", "b")},
    )
    found = dpmcmc.rehearse(
        named,
        records=300,
        theta=np.zeros(2),
        delta=1e-6,
        ways={"plain": {"clip": 0.1, "steps": 60, "proposal": dpmcmc.RandomWalk(0.1)}},
        reference_steps=200,
        progress=False,
    )
    (trial,) = found.trials
    assert trial.off.shape == (2,)
    assert np.all(np.isfinite(trial.off))


@pytest.mark.parametrize("labels", [{}, {"theta": ("a", "b")}], ids=["none", "some"])
def test_labels_change_no_draw(labels: Any) -> None:
    """A seed gives the same chain, whatever its places are called."""
    records = np.random.default_rng(3).normal(size=(50, 2)).astype(np.float32)

    def run(names: Any) -> Posterior:
        return dpmcmc.sample_not_private(
            Model(
                lambda theta, x: -jnp.sum((x - theta) ** 2) / 2,
                lambda theta: -jnp.sum(theta**2) / 2,
                np.zeros(2),
                labels=names,
            ),
            records,
            steps=20,
            proposal=dpmcmc.RandomWalk(0.2),
            seed=5,
            progress=False,
        )

    found = run(labels)
    assert found.labels == labels
    np.testing.assert_array_equal(found.draws["theta"], run({}).draws["theta"])


# Where they are shown.


def test_titles_name_every_place_in_order() -> None:
    assert titles_of(SHAPES, LABELS) == [
        "w[age]",
        "w[income]",
        "w[smoker]",
        "mean",
        *(f"group.scale[{i}, {name}]" for i in range(2) for name in "abc"),
    ]
    assert titles_of(SHAPES, {})[:4] == ["w[0]", "w[1]", "w[2]", "mean"]


@pytest.mark.parametrize("noise_aware", [False, True])
def test_summaries_are_those_of_the_places_they_name(noise_aware: bool) -> None:
    named, plain = posterior(LABELS, noise_aware), posterior({}, noise_aware)
    assert list(named.summary().index) == titles_of(SHAPES, LABELS)
    np.testing.assert_array_equal(named.summary(), plain.summary())
    assert named.summary().loc["w[smoker]", "mean"] == pytest.approx(
        named.honest["w"][..., 2].mean()
    )
    assert "w[smoker] " in str(named)
    assert "w[2]" not in str(named)


@pytest.mark.parametrize("noise_aware", [False, True])
def test_arviz_shows_the_names(noise_aware: bool) -> None:
    data = posterior(LABELS, noise_aware).to_arviz()
    shown = az.summary(data, kind="stats").index
    assert sorted(shown) == sorted(titles_of(SHAPES, LABELS))
    groups = ["posterior", "warmup_posterior", *(["chain"] if noise_aware else [])]
    for group in groups:
        assert list(data[group]["w_dim_0"].values) == list(LABELS["w"])
        assert list(data[group]["group.scale_dim_0"].values) == [0, 1]
    chosen = data.posterior["w"].sel(w_dim_0="smoker")
    np.testing.assert_array_equal(
        chosen, posterior(LABELS, noise_aware).honest["w"][..., 2]
    )


def test_names_of_axes_never_meet_those_of_parameters() -> None:
    """A parameter that is named like an axis is refused, with labels as without."""
    theta = {"w": np.zeros(2), "w_dim_0": 0.0}
    bad = Model(
        lambda theta, x: -((x - theta["w"][0]) ** 2),
        lambda theta: 0.0,
        theta,
        labels={"w": ("a", "b")},
    )
    walk = dpmcmc.RandomWalk(0.1)
    assert_refused(
        lambda: dpmcmc.sample_not_private(bad, np.zeros(9), steps=9, proposal=walk),
        "a parameter of θ is named 'w_dim_0'",
    )


def names(count: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(GOOD, min_size=count, max_size=count, unique=True).map(tuple)


def distinct(labels: Mapping[str, Any]) -> bool:
    titles = titles_of(SHAPES, labels)
    return len(set(titles)) == len(titles)


@settings(max_examples=25, deadline=None)
@given(
    labels=st.fixed_dictionaries(
        {},
        optional={
            "w": names(3),
            "group.scale": st.tuples(
                st.one_of(st.none(), names(2)), st.one_of(st.none(), names(3))
            ).filter(lambda axes: axes != (None, None)),
        },
    ).filter(distinct)
)
def test_a_file_gives_labels_back(labels: dict[str, Any]) -> None:
    saved = posterior(labels, noise_aware=True, draws=3)
    with tempfile.TemporaryDirectory() as folder:
        saved.save(Path(folder) / "run.nc")
        again = Posterior.load(Path(folder) / "run.nc")
    assert again.labels == labels
    assert list(again.summary().index) == titles_of(SHAPES, labels)
    assert json.loads(json.dumps(again.labels)) == json.loads(json.dumps(labels))


def test_a_file_from_before_labels_has_none(tmp_path: Path) -> None:
    """Its axes are numbered, as those of a posterior without labels still are."""
    posterior({}).save(tmp_path / "run.nc")
    data = az.from_netcdf(str(tmp_path / "run.nc"), engine="h5netcdf")
    assert data.posterior["w_dim_0"].dtype.kind == "i"
    assert Posterior.load(tmp_path / "run.nc").labels == {}


def test_labels_of_a_posterior_may_be_changed_at_no_cost(tmp_path: Path) -> None:
    before = posterior({})
    after = replace(before, labels=LABELS)
    assert after.statement == before.statement
    after.save(tmp_path / "run.nc")
    assert Posterior.load(tmp_path / "run.nc").labels == LABELS


@given(GOOD.map(lambda text: f"coefficients[{text * 9}]"), st.integers(8, 40))
def test_long_names_are_broken_and_nothing_is_lost(name: str, widest: int) -> None:
    lines = broken(name, widest, "  ")
    assert "".join("".join(lines).split()) == "".join(name.split())
    assert not name.isascii() or max(map(len, lines)) <= widest


def test_the_table_stays_narrow_and_aligned() -> None:
    long = (
        "a_very_long_name_" * 9,
        "of so many words that they fit in no line",
        "短い",
    )
    shown = str(posterior({"w": long})).splitlines()[2:20]
    assert max(map(len, shown)) <= 88
    ends = {len(line) + line.count("短") + line.count("い") for line in shown[:1]}
    rows = [line for line in shown if line.rstrip()[-6:-3].endswith(".")]
    assert {len(row) + row.count("短") + row.count("い") for row in rows} == ends


def test_levels_stand_by_their_texts() -> None:
    levels = {"region": ("north", "south", "west")}
    labels: dict[str, Any] = {"w": ("age", "region=1", "region=2"), "v": (None, ("a",))}
    assert with_levels(labels, levels) == {
        **labels,
        "w": ("age", "region=south", "region=west"),
    }
    odd = {"region": ("north", "so\nuth", "west")}
    assert with_levels(labels, odd) == labels
    assert axes_of(("a", "b")) == (("a", "b"),)
