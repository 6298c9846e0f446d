# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How long a run will take, said before anybody agrees to it.

The log-likelihood and its derivatives are timed on made-up records, all zeros, of the
same columns. Everything else is public: how many records and decisions there are. So
nothing is read, and a wrong estimate costs nothing but patience.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.influence.derivatives import Frame, derivatives, prepared
from dpmcmc.model.tracing import is_double
from dpmcmc.posterior import Statement
from dpmcmc.private import Records
from dpmcmc.processes import together
from dpmcmc.sampling.compiled import kept_programs
from dpmcmc.sampling.problem import Problem, make_problem
from dpmcmc.workflow.job import Job
from dpmcmc.workflow.study import Study

__all__ = ["expected_seconds"]

_TIMED = 2**15
"""Made-up records; of the best of three passes over them."""

_SHORT = 10**8
"""Log-likelihoods of a run that is not worth a timing: seconds."""

_DECISION = 0.7
"""A decision over one pass of log-likelihoods: 0.55 to 0.81 in six runs of formulas
with 300,000 and a million records."""

_FIT = 110.0
"""A fit over one pass of derivatives: 92 to 137 in the same runs."""

_COMPILING = 10.0
"""What no record adds to: 5 to 10 seconds in the same runs, where nothing was compiled
before."""


def expected_seconds(job: Job, study: Study, statement: Statement) -> float | None:
    """About how many seconds a run will take on this machine.

    Parameters
    ----------
    job, study
        What is run.
    statement
        What it will release, stage by stage.

    Returns
    -------
    float or None
        Within about a factor of two, on a machine that does nothing else. None for a
        run of seconds, and for one of several processes.
    """
    stages = {stage.name: stage.numbers for stage in statement.stages}
    lengths = stages.get("chain", {})
    decisions = int(lengths.get("chains", 0) * lengths.get("steps", 0))
    read = statement.records if job.batch is None else min(job.batch, statement.records)
    if together() > 1 or decisions * read < _SHORT:
        return None
    problem = _made_up(job, study)
    with jax.enable_x64(is_double(problem.dtype)):
        seconds = _COMPILING + _DECISION * decisions * read * _value_time(problem)
        if "fit" in stages:
            seconds += _FIT * statement.records * _derivative_time(problem)
    return seconds


def _made_up(job: Job, study: Study) -> Problem:
    """The model of a job, with records of zeros in place of those of its file."""
    file = study.open(job.data or "")
    table: dict[str, Any] = {
        name: np.zeros(_TIMED, kind) for name, kind in file.dtypes.items()
    }
    schema = study.schema
    if schema.unit is None:
        records = Records(table)
    else:
        table[schema.unit] = np.arange(_TIMED)
        records = Records(table, unit=schema.unit, most=schema.most)
    return make_problem(
        study.prepared_model(),
        records,
        start=job.start,
        precision=job.settings()["precision"],
        devices=None,
    )


@kept_programs()
def _value_time(problem: Problem) -> float:
    """Seconds for the log-likelihood of one record, among many."""
    likelihood = problem.model.record_log_likelihood

    def total(theta: Any, records: Any) -> Any:
        return jax.vmap(likelihood, (None, 0))(theta, records).sum()

    return _timed(jax.jit(total), problem.initial, _zeros(problem))


@kept_programs()
def _derivative_time(problem: Problem) -> float:
    """Seconds for gradient and Hessian of one record, among many."""
    flat, unravel = ravel_pytree(problem.initial)

    def of_one(record: Any, flat: Any) -> Any:
        ready = prepared(problem.model, record)
        return derivatives(
            problem.model, ready, Frame(flat, jnp.eye(len(flat))), unravel
        )

    def total(flat: Any, records: Any) -> Any:
        made = jax.vmap(of_one, (0, None))(records, flat)
        return jax.tree.map(lambda leaf: leaf.sum(axis=0), made)

    return _timed(jax.jit(total), flat, _zeros(problem))


def _zeros(problem: Problem) -> Any:
    return jax.tree.map(
        lambda leaf: jnp.zeros((_TIMED, *leaf.shape), leaf.dtype), problem.one_record
    )


def _timed(function: Callable[..., Any], *given: Any) -> float:
    jax.block_until_ready(function(*given))  # compiles it
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        jax.block_until_ready(function(*given))
        seconds.append(time.perf_counter() - began)
    return min(seconds) / _TIMED
