# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""NumPyro models with a plate of persons, whose effects are integrated out."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro import distributions as dist

from dpmcmc import InputError, NumPyro, Records, models
from dpmcmc.model.preparation import Clamp, Preparation
from dpmcmc.model.units import Unit
from dpmcmc.sampling.problem import Problem, make_problem


def centred(person: Any, x: Any, y: Any = None, persons: int = 1) -> None:
    slope = numpyro.sample("slope", dist.Normal(0, 2.5))
    level = numpyro.sample("level", dist.Normal(0, 2.5))
    sd = numpyro.sample("sd", dist.LogNormal(0, 1))
    with numpyro.plate("persons", persons):
        effect = numpyro.sample("effect", dist.Normal(level, sd))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Bernoulli(logits=slope * x + effect[person]), obs=y)


def scaled(person: Any, x: Any, y: Any = None, persons: int = 1) -> None:
    slope = numpyro.sample("slope", dist.Normal(0, 2.5))
    level = numpyro.sample("level", dist.Normal(0, 2.5))
    sd = numpyro.sample("sd", dist.LogNormal(0, 1))
    with numpyro.plate("persons", persons):
        unit = numpyro.sample("unit", dist.Normal(0, 1))
    effect = numpyro.deterministic("effect", level + sd * unit)
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Bernoulli(logits=slope * x + effect[person]), obs=y)


RNG = np.random.default_rng(3)
TABLE = {
    "person": np.repeat(np.arange(20), 3),
    "x": RNG.normal(size=60).astype(np.float32),
    "y": (RNG.random(60) < 0.5).astype(np.float32),
}


def problem_of(model: Any, **table: Any) -> Problem:
    records = Records({**TABLE, **table}, unit="person", most=3)
    return make_problem(model, records, start=None, precision=None, devices=None)


@pytest.mark.parametrize("model", [centred, scaled])
def test_a_person_counts_as_in_a_panel(model: Callable[..., Any]) -> None:
    """The same likelihood as that of `logistic_panel`, which is written by hand."""
    found = problem_of(model).model
    assert found.per == "unit"
    assert set(found.initial) == {"slope", "level", "sd"}
    theta = {"slope": 0.7, "level": -0.4, "sd": 0.3}  # log sd, unconstrained
    panel = models.logistic_panel(1, norm=9.0)
    same = {
        "coefficients": jnp.array([0.7]),
        "intercept": jnp.asarray(-0.4),
        "log_effect_sd": jnp.asarray(0.3),
    }
    rows = {"x": TABLE["x"][:3], "y": TABLE["y"][:3]}
    present = np.array([True, True, False])
    own = found.log_likelihood(jax.tree.map(jnp.asarray, theta), Unit(rows, present))
    wide = {"x": rows["x"][:, None], "y": rows["y"]}
    expected = panel.log_likelihood(same, Unit(wide, present))
    assert float(own) == pytest.approx(float(expected), rel=1e-5)


def test_a_preparation_and_the_prior_are_kept() -> None:
    model = NumPyro(centred, preparation=Preparation({"x": Clamp(-1, 1)}))
    problem = problem_of(model)
    assert problem.prepared == ("x clamped to [-1, 1]",)
    shown = jax.eval_shape(problem.model.transform, problem.initial)
    assert set(shown) == {"slope", "level", "sd"}
    assert problem.model.draw_prior is not None


def test_a_model_that_takes_no_ids_is_one_of_records() -> None:
    def plain(x: Any, y: Any = None) -> None:
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        with numpyro.plate("records", x.shape[0]):
            numpyro.sample("y", dist.Bernoulli(logits=slope * x), obs=y)

    assert set(problem_of(plain).initial) == {"slope"}


def of_size(person: Any, x: Any, y: Any = None) -> None:
    with numpyro.plate("persons", 20):
        effect = numpyro.sample("effect", dist.Normal(0, 1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Bernoulli(logits=effect[person]), obs=y)


def heavy(person: Any, x: Any, y: Any = None, persons: int = 1) -> None:
    level = numpyro.sample("level", dist.Normal(0, 1))
    with numpyro.plate("persons", persons):
        effect = numpyro.sample("effect", dist.StudentT(3, level, 1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Bernoulli(logits=effect[person]), obs=y)


def two(person: Any, x: Any, y: Any = None, persons: int = 1) -> None:
    level = numpyro.sample("level", dist.Normal(0, 1))
    with numpyro.plate("persons", persons):
        effect = numpyro.sample("effect", dist.Normal(level, 1))
        slope = numpyro.sample("slope", dist.Normal(0, 1))
    with numpyro.plate("records", x.shape[0]):
        logits = effect[person] + slope[person] * x
        numpyro.sample("y", dist.Bernoulli(logits=logits), obs=y)


@pytest.mark.parametrize("model", [of_size, heavy, two])
def test_effects_that_cannot_be_told_are_refused(model: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="default 1"):
        problem_of(model)
