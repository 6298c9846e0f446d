# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Models and proposals that cannot run are refused before a record is read."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from refusals import (
    assert_refused,
    log_likelihood,
    log_prior,
    returns,
    run_openly,
    run_privately,
)

from dpmcmc import InputError, Model, RandomWalk
from dpmcmc.proposals import Proposed
from dpmcmc.sampling.problem import Precision, Problem, make_problem

# Models.


def starts_at(value: Any, prior: Callable[[Any], Any] = lambda theta: 0.0) -> Model:
    return Model(lambda theta, record: 0.0 * record, prior, initial=value)


def fails(theta: dict, record: Any) -> Any:
    wide = jnp.ones(3)
    return jnp.sum(wide + jnp.ones(4))  # the line that the message must name


FAILING_LINE = fails.__code__.co_firstlineno + 2

MODEL_ROWS = [
    pytest.param(
        returns(lambda theta, record: jnp.stack([record, record])),
        ["log_likelihood(theta, record) returns float32[2]", "one real number"],
        id="a likelihood of two numbers",
    ),
    pytest.param(
        returns(lambda theta, record: jnp.reshape(record, (1,))),
        ["log_likelihood(theta, record) returns float32[1]", "one real number"],
        id="a likelihood of one number in an array",
    ),
    pytest.param(
        returns(lambda theta, record: None),
        ["log_likelihood(theta, record) returns None", "one real number"],
        id="a likelihood without a result",
    ),
    pytest.param(
        returns(lambda theta, record: (record, record)),
        ["log_likelihood(theta, record) returns (float32", "one real number"],
        id="a likelihood of a pair",
    ),
    pytest.param(
        returns(lambda theta, record: record + 1j),
        ["log_likelihood(theta, record) returns complex64", "one real number"],
        id="a complex likelihood",
    ),
    pytest.param(
        returns(fails),
        [
            "log_likelihood failed with",
            f"test_bad_models.py:{FAILING_LINE}",
            "float32[scalar]",
        ],
        id="a likelihood that fails",
    ),
    pytest.param(
        returns(lambda theta, record: record if record > 0 else 0.0),
        ["log_likelihood failed with", "JAX can trace"],
        id="a likelihood that branches",
    ),
    pytest.param(
        returns(lambda theta, record: record["x"]),
        ["log_likelihood failed with", "float32[scalar]"],
        id="a likelihood of other records",
    ),
    pytest.param(
        returns(lambda theta, record: theta["slope"] * record),
        ["log_likelihood failed with KeyError", "'slope'", "mean: float32[scalar]"],
        id="a likelihood of other parameters",
    ),
    pytest.param(
        returns(lambda theta: 0.0),
        ["log_likelihood failed with TypeError", "positional argument"],
        id="a likelihood of no record",
    ),
    pytest.param(
        starts_at(0.0, lambda theta: jnp.stack([theta, theta])),
        ["log_prior(theta) returns float32[2]", "one real number"],
        id="a prior of two numbers",
    ),
    pytest.param(
        starts_at(0.0, lambda theta: theta["mean"]),
        ["log_prior failed with"],
        id="a prior of other parameters",
    ),
    pytest.param(
        starts_at(-1.0, jnp.log),
        ["log_prior is nan at the starting point", "must be finite", "support"],
        id="a prior that is NaN at the start",
    ),
    pytest.param(
        starts_at(0.0, jnp.log),
        ["log_prior is -inf at the starting point", "must be finite", "support"],
        id="a prior that is zero at the start",
    ),
    pytest.param(
        starts_at(0.0, lambda theta: -jnp.log(theta)),
        ["log_prior is inf at the starting point", "must be finite"],
        id="a prior that is infinite at the start",
    ),
    pytest.param(
        starts_at({"a": 0.0, "b": np.array([1.0, math.nan])}),
        ["initial['b'] is not finite in float32", "place to start"],
        id="a start that is no number",
    ),
    pytest.param(
        starts_at(np.float64(1e300)),
        ["initial is not finite in float32", "place to start"],
        id="a start beyond the precision",
    ),
    pytest.param(
        starts_at({"w": np.zeros((0, 2))}),
        ["initial['w'] is empty in float32", "at least one"],
        id="an empty parameter",
    ),
    *(
        pytest.param(
            starts_at(start),
            [f"a parameter of θ is named {name!r}", "Rename it."],
            id=f"a parameter named {name}",
        )
        for name, start in [
            ("chain", {"chain": 0.0, "other": 0.0}),
            ("draw", {"draw": np.zeros(2)}),
            ("a/b", {"a/b": 0.0}),
            ("a.b", {"a": {"b": 0.0}, "a.b": 0.0}),
            ("w_dim_0", {"w": np.zeros(2), "w_dim_0": 0.0}),
        ]
    ),
    pytest.param(None, ["model is a NoneType", "dpmcmc.Model"], id="no model"),
    pytest.param(
        log_likelihood,
        ["a NumPyro model takes columns by name", "named like the arguments"],
        id="a bare function",
    ),
    pytest.param(Model, ["model is a type", "dpmcmc.Model"], id="a class"),
]


@pytest.mark.parametrize("run", [run_privately, run_openly])
@pytest.mark.parametrize(("model", "parts"), MODEL_ROWS)
def test_models(run: Callable[..., object], model: Any, parts: list[str]) -> None:
    message = assert_refused(lambda: run(model=model), *parts)
    assert "Traced<" not in message


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((None, log_prior, 0.0), ["log_likelihood is a NoneType", "function"]),
        ((log_likelihood, 1.0, 0.0), ["log_prior is a float", "not its result"]),
        ((log_likelihood, log_prior, None), ["initial holds no parameter"]),
        ((log_likelihood, log_prior, {}), ["initial holds no parameter"]),
        ((log_likelihood, log_prior, "0"), ["initial holds '0'", "real number"]),
        ((log_likelihood, log_prior, {"a": 1j}), ["initial holds 1j", "real number"]),
    ],
)
def test_making_a_model(arguments: tuple, parts: list[str]) -> None:
    assert_refused(lambda: Model(*arguments), *parts)


# Proposals.


@dataclass(frozen=True)
class Suggests:
    """A user's own proposal, which suggests whatever it was told to."""

    what: Callable[[Any], Any]

    def fit(self, theta: Any) -> "Suggests":
        return self

    def propose(self, theta: Any, noise: Any) -> Any:
        return self.what(theta)


PROPOSAL_ROWS = [
    pytest.param(None, ["no proposal", "dpmcmc.RandomWalk(scale="], id="none at all"),
    *(
        pytest.param(
            value, [f"proposal is a {name};", "dpmcmc.RandomWalk(scale="], id=name
        )
        for name, value in [
            ("float", 0.1),
            ("str", "walk"),
            ("ndarray", np.eye(2)),
            ("type", RandomWalk),
        ]
    ),
    *(
        pytest.param(
            RandomWalk(scale),
            [f"scale is {scale!r};", "finite number above 0"],
            id=name,
        )
        for name, scale in [
            ("zero", 0.0),
            ("negative", -1.0),
            ("NaN", math.nan),
            ("infinite", math.inf),
            ("one is zero", {"mean": 0}),
        ]
    ),
    *(
        pytest.param(
            RandomWalk(scale),
            [
                "scale is",
                "but θ is {mean: float32[scalar]}",
                "structure of θ",
                "(1, 1)",
            ],
            id=f"scale {name}",
        )
        for name, scale in [
            ("text", "wide"),
            ("nothing", None),
            ("complex", 1j),
            ("text inside", {"mean": "wide"}),
            ("of other names", {"slope": 0.1}),
            ("of more names", {"mean": 0.1, "slope": 0.1}),
            ("a list", [0.1, 0.1]),
            ("a vector", np.ones(2)),
            ("a matrix too large", np.eye(2)),
        ]
    ),
    *(
        pytest.param(
            RandomWalk(np.array([[value]])),
            ["1 × 1 matrix", "symmetric and positive definite"],
            id=f"covariance {value}",
        )
        for value in (0.0, -1.0, math.nan, math.inf)
    ),
    *(
        pytest.param(
            Suggests(what),
            ["proposal suggests", "but θ is {mean: float32[scalar]}", "structure"],
            id=f"suggests {name}",
        )
        for name, what in [
            ("a bare number", lambda theta: Proposed(theta["mean"], 0.0)),
            ("another name", lambda theta: Proposed({"m": theta["mean"]}, 0.0)),
            ("another shape", lambda theta: Proposed({"mean": jnp.zeros(2)}, 0.0)),
            ("two log-ratios", lambda theta: Proposed(theta, jnp.zeros(2))),
        ]
    ),
    *(
        pytest.param(
            Suggests(what), ["proposal failed with", error], id=f"suggests {name}"
        )
        for name, what, error in [
            ("nothing", lambda theta: None, "TypeError"),
            ("no log-ratio", lambda theta: (theta,), "ValueError"),
            ("what is not there", lambda theta: theta["slope"], "KeyError"),
        ]
    ),
]


@pytest.mark.parametrize("run", [run_privately, run_openly])
@pytest.mark.parametrize(("proposal", "parts"), PROPOSAL_ROWS)
def test_proposals(run: Callable[..., object], proposal: Any, parts: list[str]) -> None:
    assert_refused(lambda: run(proposal=proposal), *parts)


def test_what_cannot_be_compiled_is_refused_before_anything_is_spent() -> None:
    """JAX keeps a NumPy constant as it first saw it: float64 fails after float32."""
    weights = np.array([1.0, 2.0])
    records = {"x": np.zeros((50, 2)), "y": np.zeros(50)}
    model = Model(
        log_likelihood=lambda t, r: -0.5 * (r["y"] - t @ (weights * r["x"])) ** 2,
        log_prior=lambda t: -0.5 * jnp.sum(t**2),
        initial=np.zeros(2),
    )

    def problem(precision: Precision) -> Problem:
        return make_problem(
            model, records, start=None, precision=precision, devices=None
        )

    assert problem("float32").dtype == "float32"
    with pytest.raises(InputError, match="float64"):
        problem("float64")
