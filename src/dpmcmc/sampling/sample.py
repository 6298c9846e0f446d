# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The front door: draw a posterior, and know what it cost.

`sample` is private. `sample_not_private` runs the very same stages with no claim: for
simulated or public records, for reference chains, and for seeds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from typing import Any

import jax

from dpmcmc.accounting.currencies import cost_in, epsilon_of, one_currency
from dpmcmc.errors import (
    InputError,
    require_count,
    require_positive,
    require_probability,
)
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import is_double
from dpmcmc.posterior import Posterior
from dpmcmc.sampling.barker import Barker, GaussianBarker
from dpmcmc.sampling.checkpoint import Checkpoint, MemoryCheckpoint
from dpmcmc.sampling.control_variates import ControlVariates
from dpmcmc.sampling.loop import run
from dpmcmc.sampling.minibatch_barker import MinibatchBarker
from dpmcmc.sampling.on_host import on_host
from dpmcmc.sampling.passes import warn_of_passes
from dpmcmc.sampling.plan import Method, Plan, Request
from dpmcmc.sampling.problem import Precision, Problem, make_problem
from dpmcmc.sampling.stages import Context
from dpmcmc.sampling.sufficient_statistics import SufficientStatistics
from dpmcmc.sampling.together import agree_on, require_shared

__all__ = ["plan_run", "sample", "sample_not_private"]

METHODS = (
    ControlVariates,
    SufficientStatistics,
    Barker,
    GaussianBarker,
    MinibatchBarker,
)
"""The methods of which docs/proofs shows that they release what their events say."""

_FEW, _FEW_CELLS = 2, 16
"""Exact statistics are few if there are at most so many for each parameter, or so many
cells of a table."""

_TRIALS, _NEARLY = 8, 0.998
"""Plans that are tried until one spends nearly all of a budget of ρ or μ."""

_DELTA = 1e-6
"""The δ by which the noise of a run that is not private is measured."""


def sample(
    model: Model | Callable[..., Any],
    records: Any,
    *,
    delta: float,
    epsilon: float | None = None,
    rho: float | None = None,
    mu: float | None = None,
    method: Method | None = None,
    steps: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    start: Any = None,
    precision: Precision | None = None,
    devices: Sequence[jax.Device] | None = None,
    checkpoint: Checkpoint | None = None,
    progress: bool = True,
) -> Posterior:
    """Draw from a posterior under differential privacy.

    Parameters
    ----------
    model
        A `Model`: the log-likelihood of one record, the prior, and a place to start;
        or a NumPyro or PyMC model that takes the columns of the records by name (wrap
        it in `dpmcmc.NumPyro` or `dpmcmc.PyMC` to add a preparation).
    records
        A pytree of arrays with a common leading axis; a pandas, polars or Arrow
        table; or `Records` made of one.
    epsilon, delta
        The budget. δ should be well below one over the number of records. ε may be
        left out where the method has a clip and steps are given; then the statement
        says the ε that they cost.
    rho, mu
        The budget in place of ε: ρ of zero-concentrated, or μ of Gaussian differential
        privacy. The run is then also ρ-zCDP or μ-GDP, but for what rounding may add to
        δ; the statement says its ε at δ, and all three whatever was given.
    method
        How the posterior is drawn: `ControlVariates` unless given, or
        `SufficientStatistics` where the model states a few exact ones, or records have
        few values; `Barker`, `GaussianBarker` or `MinibatchBarker`.
    steps
        The number of steps of each chain, warm-up included. Unless given, as many as
        the method needs, or as the budget buys.
    chains
        How many chains to run; they share the budget. Four where that costs nothing
        more, else one, unless given.
    warmup
        How many first steps summaries leave out; a quarter of them unless given. They
        cost what the others cost.
    start
        Where to start: a point like θ (for a NumPyro or PyMC model, values of its
        parameters by name), or "prior" for draws from the prior. The model's own point
        unless given.
    precision
        Precision of θ and of the log-likelihood. Unless given, float64 if JAX is set
        to it, else float32. Decisions are made in int64 and float64 either way.
    devices
        Where the records are spread; all local devices unless given, or those of all
        processes if the records are in parts. A test on a batch runs on the first.
    checkpoint
        What is asked before records are read, and keeps what is released, such as a
        ledger with a run folder (`dpmcmc.workflow`). In memory unless given.
    progress
        Whether to show progress bars.

    Returns
    -------
    Posterior
        The draws with their privacy statement. A chain that is interrupted from the
        keyboard returns the draws made so far, and says so.

    Raises
    ------
    InputError
        If something given cannot be used; no record was read, no budget spent.
    NotUsableError
        If what was released says that the rest would be of no use; it is not spent.
    StoppedError
        If a stage failed after part of the budget was spent.

    Guarantee
    ---------
    All that is released is (ε, δ)-differentially private, with the ε and δ of the
    statement, for the substitution of one record, provided that the model, the method
    and all settings were chosen without looking at the records. It holds whether or
    not a chain has converged.
    """
    problem = make_problem(
        model, records, start=start, precision=precision, devices=devices
    )
    require_shared(problem, checkpoint)
    plan = plan_run(
        problem,
        method,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        mu=mu,
        steps=steps,
        chains=chains,
        warmup=warmup,
    )
    warn_of_passes(plan)
    context = agree_on(plan, Context(problem, None, progress))
    return run(plan, context, MemoryCheckpoint() if checkpoint is None else checkpoint)


def sample_not_private(
    model: Model | Callable[..., Any],
    records: Any,
    *,
    method: Method | None = None,
    epsilon: float | None = None,
    delta: float = _DELTA,
    rho: float | None = None,
    mu: float | None = None,
    steps: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    start: Any = None,
    seed: int | None = None,
    precision: Precision | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: bool = True,
) -> Posterior:
    """Draw from a posterior with no privacy: for simulated or public records.

    The stages are those of `sample`, the same code on the same arithmetic; but a seed
    makes them repeatable. What it returns says that it is not private wherever it is
    shown.

    Parameters
    ----------
    epsilon, delta, rho, mu
        The budget by which clip, steps and noise are chosen, as in `sample`. Unless one
        is given, nothing is clipped but by a method's own clip, and there is hardly
        any noise.
    seed
        Makes the run repeatable; fresh randomness is used if it is None.
    model, records, method, steps, chains, warmup, start, precision, devices, progress
        As in `sample`.
    """
    problem = make_problem(
        model, records, start=start, precision=precision, devices=devices
    )
    reasons = ["it was drawn by sample_not_private, outside any budget"]
    if seed is not None:
        seed = require_count("seed", seed, "Give None for fresh randomness.", least=0)
        reasons.append("the randomness can be made again from a seed")
    plan = plan_run(
        problem,
        method,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        mu=mu,
        steps=steps,
        chains=chains,
        warmup=warmup,
        not_private_because=tuple(reasons),
    )
    context = agree_on(plan, Context(problem, seed, progress))
    return run(plan, context, MemoryCheckpoint())


@on_host()
def plan_run(
    problem: Problem,
    method: Method | None,
    *,
    epsilon: float | None,
    delta: float,
    rho: float | None = None,
    mu: float | None = None,
    steps: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    not_private_because: tuple[str, ...] = (),
) -> Plan:
    """Settle and certify a run; no record is read.

    A budget of ρ or μ is spent by the plan of an ε that costs no more, and nearly as
    much.

    Raises
    ------
    InputError
        If something given cannot be used, or the budget does not suffice.
    """
    request = _checked(
        Request(epsilon, delta, steps, chains, warmup, not_private_because)
    )
    chosen = _default(problem) if method is None else method
    if isinstance(chosen, type) or not callable(getattr(chosen, "plan", None)):
        names = ", ".join(f"dpmcmc.{one.__name__}" for one in METHODS)
        raise InputError(
            f"method is a {type(chosen).__name__}; it must be a method, such as one of "
            f"{names}."
        )
    budget = one_currency(epsilon=epsilon, rho=rho, mu=mu)
    if budget is None or budget[0] == "epsilon":
        plan = chosen.plan(problem, request)
    else:
        plan = _within(chosen, problem, request, *budget)
    return plan if type(chosen) in METHODS else _with_caveat(plan, chosen)


def _within(
    method: Method, problem: Problem, request: Request, currency: str, amount: float
) -> Plan:
    """The plan of a budget of ρ or μ.

    Guarantee
    ---------
    The events of the plan cost at most the amount, in its currency.
    """
    found, aim = None, amount
    for _ in range(_TRIALS):
        epsilon = epsilon_of(currency, aim, request.delta)
        plan = method.plan(problem, replace(request, epsilon=epsilon))
        cost = cost_in(currency, plan.events)
        if not math.isfinite(cost):
            raise InputError(
                f"the budget is {currency} = {amount:g}, but what {type(method)!r} "
                "releases has no known cost in that currency. Give epsilon."
            )
        if cost <= amount:
            found = plan
            if cost >= _NEARLY * amount:
                break
        aim *= amount / cost * (1 - (1 - _NEARLY) / 4)
    if found is None:
        raise InputError(
            f"the run costs {currency} = {cost:.6g}, above the {amount:g} that was "
            "given. Choose a smaller clip or fewer steps, or give a larger budget."
        )
    return found


def _checked(request: Request) -> Request:
    """The request, with numbers in place of what was given; refuse other things."""
    epsilon, delta, steps, chains, warmup, reasons = astuple(request)
    if epsilon is not None:
        epsilon = require_positive("epsilon", epsilon, "Common budgets: 0.1 to 10.")
    if steps is not None:
        steps = require_count("steps", steps, "Give the number of steps of each chain.")
    if chains is not None:
        chains = require_count("chains", chains, "Four let chains be compared.")
    if warmup is not None:
        warmup = require_count("warmup", warmup, "Give 0 to keep every step.", least=0)
    delta = require_probability("delta", delta, "Choose it well below 1/N.")
    return Request(epsilon, delta, steps, chains, warmup, reasons)


def _default(problem: Problem) -> Method:
    """The method that fits a model, by what it states.

    The sum of exact statistics is best where they are few: they serve at any number of
    records. Those of a linear regression are many more than its parameters, and the
    noise on all of them costs more than that of a gradient. With K cells the noise adds
    about 2K/(μ²N) to the variance, in units of that of the posterior; releases of
    gradients whose bound is 2.5√d to 3√d, some 32d/(μ²N).
    """
    statistics = problem.model.statistics
    if statistics is None or not statistics.is_exact:
        return ControlVariates()
    with jax.enable_x64(is_double(problem.dtype)):
        numbers = jax.eval_shape(statistics.coefficients, problem.initial).size
    few = _FEW if statistics.cells is None else _FEW_CELLS
    is_few = numbers <= few * problem.coordinates
    return SufficientStatistics() if is_few else ControlVariates()


def _with_caveat(plan: Plan, method: Method) -> Plan:
    """The plan of a method that is not one of ours, and says so.

    That its stages release what their events say rests on its author.
    """
    caveat = (
        f"the method {type(method).__name__} is not part of dpmcmc: that its stages "
        "release no more than their events say rests on its author."
    )
    return replace(plan, notes=(caveat, *plan.notes))
