# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A plan tried on simulated records: what a budget would buy if the model were right.

No record is read and no privacy spent. Real records are never quite like the model, so
that a rehearsal says what can be hoped for, not what will be.
"""

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from dpmcmc.aligned import aligned, filled, in_html
from dpmcmc.errors import InputError, NotUsableError, require_count
from dpmcmc.model.model import Model
from dpmcmc.posterior import Posterior
from dpmcmc.progress import steps_bar
from dpmcmc.rehearsal.declared import covariates_for, shapes_declared
from dpmcmc.rehearsal.simulate import Covariates, simulate_records, without_preparation
from dpmcmc.sampling.plan import Method
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run, sample_not_private

__all__ = ["Rehearsal", "Trial", "rehearse"]

_RUNS = 5
_REFERENCE_STEPS = 2500
_LARGE = 1000.0

_HEADER = ["", "error of the mean", "width", "ess", "accepted", "usable"]
_NUMBERS = range(1, len(_HEADER))
_FOOT = (
    "error of the mean: in posterior sd without privacy, rms over coordinates; "
    "width: posterior sd over that without privacy. Medians, and ranges over "
    "runs with fresh noise. Real records are never quite like the model."
)


@dataclass(frozen=True)
class Trial:
    """One run of a method on simulated records, with fresh noise.

    Attributes
    ----------
    method
        What the method is called.
    error
        Error of the posterior means, in posterior sd of the reference, one for each
        coordinate of θ; infinite where the run stopped as not usable.
    width
        Posterior sd over those of the reference.
    ess
        The smallest effective sample size of a coordinate.
    accepted
        The fraction of accepted steps.
    verdict
        What the run said of itself.
    """

    method: str
    error: np.ndarray
    width: np.ndarray
    ess: float
    accepted: float
    verdict: str

    @property
    def rms_error(self) -> float:
        """Root mean square over coordinates."""
        return math.hypot(*self.error) / math.sqrt(self.error.size)


@dataclass(frozen=True)
class Rehearsal:
    """Runs of one or more methods on the same simulated records.

    Attributes
    ----------
    records
        How many records were simulated.
    epsilon, delta
        The budget that was tried.
    trials
        The runs, method by method.
    reference
        The posterior of the simulated records without privacy.
    caveat
        What is known to differ from real records.
    """

    records: int
    epsilon: float
    delta: float
    trials: tuple[Trial, ...]
    reference: Posterior
    caveat: str = ""

    def of(self, method: str) -> tuple[Trial, ...]:
        """The runs of one method."""
        return tuple(trial for trial in self.trials if trial.method == method)

    @property
    def _title(self) -> str:
        return (
            f"Rehearsal on {self.records:,} simulated records at ε = {self.epsilon:g}, "
            f"δ = {self.delta:g}; no privacy was spent.{self.caveat}"
        )

    @property
    def _rows(self) -> list[list[str]]:
        methods = list(dict.fromkeys(trial.method for trial in self.trials))
        return [_HEADER, *(_cells(one, self.of(one)) for one in methods)]

    def __str__(self) -> str:
        lines = aligned(self._rows, right=_NUMBERS, broken_at=(0,))
        return "\n".join([filled(self._title), "", *lines, "", filled(_FOOT)])

    def _repr_html_(self) -> str:
        title, foot = html.escape(self._title), html.escape(_FOOT)
        return f"<p>{title}</p>{in_html(self._rows, right=_NUMBERS)}<p>{foot}</p>"


def rehearse(
    model: Any,
    records: Any,
    *,
    epsilon: float,
    delta: float,
    methods: Mapping[str, Method | None] | None = None,
    at: Any = None,
    covariates: Covariates = None,
    runs: int = _RUNS,
    steps: int | None = None,
    chains: int | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Rehearsal:
    """Try methods on simulated records, several times each; no privacy is spent.

    Parameters
    ----------
    model
        As in `sample`; it must simulate.
    records
        How many records there are; or the records themselves, of which only the
        number and the shapes are looked at (a NumPyro model needs them).
    epsilon, delta
        The budget to try.
    methods
        Methods by the names that the table gives them; the default method unless
        given.
    at
        Where to simulate: a point like θ; the model's initial point unless given.
    covariates
        What the simulator copies covariates from: a public sample of records as the
        model reads them, or a function that makes one from a JAX random key. Unless
        given, they are drawn evenly within the bounds that the model declares.
    runs
        How many runs of each method, each with fresh noise.
    steps, chains
        As in `sample`.
    seed
        Makes the rehearsal repeatable.
    progress
        Whether to show a bar.

    Raises
    ------
    InputError
        If the model cannot simulate, or a method cannot be run.
    """
    runs = require_count("runs", runs, "Five show a range.")
    tried = {"default": None} if methods is None else dict(methods)
    if not tried:
        raise InputError(
            "methods is empty. Give methods by name, or leave it out for the default."
        )
    made, count, simulated, caveat = _simulated(model, records, at, covariates, seed)
    budget: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "steps": steps,
        "chains": chains,
    }
    problem = make_problem(made, simulated, start=None, precision=None, devices=None)
    for method in tried.values():  # refuse what cannot be run before anything is
        plan_run(problem, method, **budget)
    with steps_bar(1 + runs * len(tried), "Rehearsing", progress, " runs") as done:
        reference = sample_not_private(
            made, simulated, steps=_REFERENCE_STEPS, seed=seed, progress=False
        )
        done(1)
        trials = []
        for name, method in tried.items():
            for number in range(runs):
                trials.append(
                    _trial(
                        name,
                        made,
                        simulated,
                        reference,
                        method=method,
                        seed=seed + 1 + number,
                        progress=False,
                        **budget,
                    )
                )
                done(1)
    return Rehearsal(count, epsilon, delta, tuple(trials), reference, caveat)


def _simulated(
    model: Any, records: Any, at: Any, covariates: Covariates, seed: int
) -> tuple[Model, int, Any, str]:
    """The model of prepared records; how many, simulated; what differs from real."""
    if isinstance(records, Integral) and not isinstance(records, bool):
        if not isinstance(model, Model):
            raise InputError(
                "records is a number, but this model needs the shape of its records. "
                "Give the records themselves; only their number and shapes are read."
            )
        count, made, one_record = int(records), model, shapes_declared(model)
    else:
        problem = make_problem(model, records, start=None, precision=None, devices=None)
        count, made, one_record = problem.size, problem.model, problem.one_record
    theta = made.initial if at is None else at
    found, caveat, missing = covariates_for(made, one_record, theta, covariates)
    if missing is not None:
        raise InputError(f"nothing can be rehearsed: {missing}.")
    simulated = simulate_records(made, theta, count, found, seed)
    return without_preparation(made), count, simulated, caveat


def _trial(
    name: str, model: Model, simulated: Any, reference: Posterior, **settings: Any
) -> Trial:
    """One run of a method, compared with the reference."""
    means, sds = _moments(reference)
    try:
        found = sample_not_private(model, simulated, **settings)
    except NotUsableError as stopped:
        missing = np.full(len(means), np.inf)
        return Trial(name, missing, missing, 0.0, 0.0, f"not usable: {stopped.reason}")
    own_means, own_sds = _moments(found)
    ess = float(found.summary()["ess_bulk"].min())
    verdict = found.statement.verdict
    return Trial(
        name,
        (own_means - means) / sds,
        own_sds / sds,
        0.0 if np.isnan(ess) else ess,
        float(found.accepted.mean()),
        "" if verdict is None else str(verdict),
    )


def _moments(posterior: Posterior) -> tuple[np.ndarray, np.ndarray]:
    """Means and sds of all coordinates."""
    flat = [
        values.reshape(values.shape[0] * values.shape[1], -1)
        for values in posterior.draws.values()
    ]
    together = np.concatenate(flat, axis=1).astype(np.float64)
    return together.mean(axis=0), together.std(axis=0)


def _cells(name: str, trials: tuple[Trial, ...]) -> list[str]:
    errors = [trial.rms_error for trial in trials]
    widths = [float(np.median(trial.width)) for trial in trials]
    usable = [not trial.verdict.lower().startswith("not usable") for trial in trials]
    return [
        name,
        _range(errors),
        _range(widths),
        f"{np.median([trial.ess for trial in trials]):.0f}",
        f"{np.median([trial.accepted for trial in trials]):.0%}",
        f"{sum(usable)} of {len(trials)}",
    ]


def _range(values: list[float]) -> str:
    low, middle, high = map(_short, (min(values), np.median(values), max(values)))
    return f"{middle} ({low}–{high})"


def _short(value: float) -> str:
    return f"{value:.2f}" if value < _LARGE else f"{value:.1e}"
