# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Plain Python functions run one record at a time, and tell nothing of a record."""

import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from refusals import assert_refused
from runs import assert_same_draws, private, seeded

from dpmcmc import MinibatchBarker, Model, Posterior, RandomWalk
from dpmcmc.model.preparation import Clamp, Preparation
from dpmcmc.model.python_function import PythonFunction

RECORDS = np.random.default_rng(1).normal(0.3, 1.0, size=30)


def log_prior(theta: dict) -> Any:
    return -0.5 * theta["mean"] ** 2


def stated(log_likelihood: Any, **changes: Any) -> Model:
    return Model(log_likelihood, log_prior, {"mean": 0.25}, **changes)


def normal(theta: dict, record: Any) -> Any:
    """The same operations in NumPy and in JAX."""
    return -0.5 * (record - theta["mean"]) ** 2


TESTS = {
    "full data": {},
    "minibatch": {
        "method": MinibatchBarker(batch=8, tempering=10, proposal=RandomWalk(0.2))
    },
}


@pytest.mark.parametrize(
    ("test", "precision"), [("full data", "float64"), ("minibatch", "float32")]
)
def test_the_draws_are_those_of_the_traced_function(test: str, precision: str) -> None:
    settings = {"precision": precision, "chains": 3, **TESTS[test]}
    traced = seeded(stated(normal), RECORDS, **settings)
    called = seeded(stated(PythonFunction(normal)), RECORDS, **settings)
    assert_same_draws(traced, called)
    assert called.accepted.any()


@dataclass
class Witness:
    """A log-likelihood that keeps what it is given, as no user's function may."""

    calls: list[tuple[Any, Any]] = field(default_factory=list)

    def __call__(self, theta: dict, record: Any) -> Any:
        self.calls.append((theta, record))
        return normal(theta, record["x"])


@pytest.mark.parametrize(
    ("test", "precision"), [("full data", "float32"), ("minibatch", "float64")]
)
def test_each_call_is_given_one_record(test: str, precision: str) -> None:
    witness = Witness()
    preparation = Preparation({"x": Clamp(-1, 1)})
    model = stated(PythonFunction(witness), preparation=preparation)
    records = {"x": RECORDS, "w": np.arange(30)[:, None] * np.ones(2)}
    seeded(model, records, steps=4, chains=2, precision=precision, **TESTS[test])
    known = {
        (float(x), i)
        for i, x in enumerate(np.clip(RECORDS.astype(precision), -1, 1).tolist())
    }
    evaluated = 4 * 2 * 8 if TESTS[test] else (4 + 1) * 30
    assert len(witness.calls) == 2 * evaluated
    for theta, record in witness.calls:
        assert theta["mean"].shape == record["x"].shape == ()
        assert theta["mean"].dtype == record["x"].dtype == precision
        assert record["w"].shape == (2,)
        assert (float(record["x"]), int(record["w"][0])) in known


def test_it_runs_privately() -> None:
    posterior = private(stated(PythonFunction(normal)), RECORDS, steps=10)
    assert posterior.statement.is_private
    assert posterior.accepted.size + posterior.warmup_accepted.size == 10


# What people have: a table, a simulator, a fitted scorer.


def look_up(theta: dict, record: dict) -> float:
    table = {0: -1.2, 1: -0.4, 2: -2.5}
    return float(theta["mean"]) * table[int(record["code"])]


def simulator(theta: dict, record: dict) -> float:
    """A synthetic likelihood: the same seed at every call makes it a function."""
    generator = np.random.default_rng(5)
    outcomes = generator.normal(float(theta["mean"]), 1.0, size=50) ** 2
    spread = outcomes.std()
    return float(
        -0.5 * ((record["x"] - outcomes.mean()) / spread) ** 2 - np.log(spread)
    )


class Scorer:
    """A fitted classifier of the kind that scores rows of a matrix."""

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights

    def predict_log_proba(self, rows: np.ndarray) -> np.ndarray:
        assert rows.ndim == 2
        scores = rows @ self.weights
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


SCORER = Scorer(np.array([[0.5, -0.5], [1.0, 0.2]]))


def scored(theta: dict, record: dict) -> np.ndarray:
    row = np.array([[record["x"], theta["mean"]]])
    return SCORER.predict_log_proba(row)[:, int(record["code"]) % 2]


@pytest.mark.parametrize("function", [look_up, simulator, scored])
def test_what_people_have_runs(function: Any) -> None:
    """The ratios of the run are those of the function, called by hand."""
    codes = np.random.default_rng(2).integers(3, size=30)
    records = {"x": RECORDS, "code": codes}
    model = stated(PythonFunction(function))
    posterior = seeded(model, records, precision="float64")
    assert np.unique(posterior.draws["mean"]).size > 3

    with jax.enable_x64(True):
        theta = {"mean": jnp.asarray(0.7)}
        evaluate = jax.jit(jax.vmap(model.log_likelihood, in_axes=(None, 0)))
        found = np.asarray(evaluate(theta, jax.tree.map(jnp.asarray, records)))
    by_hand = [
        np.squeeze(function({"mean": np.array(0.7)}, {"x": x, "code": code}))
        for x, code in zip(RECORDS, codes, strict=True)
    ]
    np.testing.assert_array_equal(found, by_hand)


# Nothing is told of a record.


def fails_on_some(theta: dict, record: Any) -> Any:
    if record > 0.5:
        raise ValueError(f"the record is {record}")
    return normal(theta, record)


def exits_on_some(theta: dict, record: Any) -> Any:
    if record > 0.5:
        sys.exit(f"the record is {record}")
    return normal(theta, record)


def warns_on_some(theta: dict, record: Any) -> Any:
    if record > 0.5:
        warnings.warn(f"the record is {record}", stacklevel=1)
        np.log(np.zeros(1) * record)
    return normal(theta, record)


def writes_on_some(theta: dict, record: Any) -> Any:
    result = normal(theta, record) if record <= 0.5 else None
    record[...] = 99.0
    theta["mean"][...] = 99.0
    return result


BAD = {
    "raises": fails_on_some,
    "exits": exits_on_some,
    "writes": writes_on_some,
}


@pytest.fixture(scope="module")
def without_some() -> Posterior:
    """The draws where records above 0.5 count for nothing."""

    def traced(theta: dict, record: Any) -> Any:
        return jnp.where(record > 0.5, jnp.nan, normal(theta, record))

    return seeded(stated(traced), RECORDS, chains=2)


@pytest.mark.parametrize("function", BAD.values(), ids=BAD)
def test_a_record_it_fails_on_counts_for_nothing(
    function: Any, without_some: Posterior, capfd: pytest.CaptureFixture[str]
) -> None:
    """The draws are those without the record's ratio; no word comes out."""
    filters = list(warnings.filters)
    found = seeded(stated(PythonFunction(function)), RECORDS, chains=2)
    assert_same_draws(without_some, found)
    assert capfd.readouterr() == ("", "")
    assert warnings.filters == filters


def test_its_warnings_are_silent(capfd: pytest.CaptureFixture[str]) -> None:
    """Here a warning that were heard would be raised, and count the record out."""
    found = seeded(stated(PythonFunction(warns_on_some)), RECORDS)
    assert_same_draws(seeded(stated(normal), RECORDS), found)
    with warnings.catch_warnings(record=True, action="always") as heard:
        seeded(stated(PythonFunction(warns_on_some)), RECORDS, steps=2)
    assert heard == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "value",
    ["3.5", 1 + 2j, None, np.zeros(2), np.zeros(0), object(), 10**400, [1, [2]]],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_one_real_number_is_none(value: Any) -> None:
    assert np.isnan(jax.jit(PythonFunction(lambda theta, record: value))(0.0, 0.0))


@pytest.mark.parametrize(
    "value", [-1.5, np.float32(-1.5), np.array([-1.5]), jnp.float32(-1.5), [[-1.5]]]
)
def test_one_real_number_may_come_in_any_form(value: Any) -> None:
    called = PythonFunction(lambda theta, record: value)
    assert jax.jit(called)(0.0, 0.0) == -1.5


def test_a_whole_number_or_a_truth_value_is_a_number() -> None:
    assert jax.jit(PythonFunction(lambda theta, record: -3))(0.0, 0.0) == -3.0
    assert jax.jit(PythonFunction(lambda theta, record: True))(0.0, 0.0) == 1.0
    assert np.isinf(jax.jit(PythonFunction(lambda theta, record: 1e300))(0.0, 0.0))


INTERRUPTED = """
import numpy as np
import dpmcmc
from dpmcmc.model.python_function import PythonFunction

def function(theta, record):
    raise KeyboardInterrupt("the record is secret")

model = dpmcmc.Model(PythonFunction(function), lambda theta: 0.0, 0.0)
walk = dpmcmc.RandomWalk(0.1)
method = dpmcmc.Barker(proposal=walk)
dpmcmc.sample_not_private(model, np.zeros(3), steps=3, method=method, progress=False)
"""


def test_an_interrupt_ends_the_run_without_a_word_of_the_record() -> None:
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode != 0
    assert "KeyboardInterrupt" in run.stderr
    assert "secret" not in run.stderr + run.stdout
    assert "in function" not in run.stderr


def test_what_is_no_function_is_refused() -> None:
    assert_refused(lambda: PythonFunction(3.0), "function is a float", "one record")
