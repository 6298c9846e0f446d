# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Layout of a PyMC model: what each of its variables is to the records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
from pymc.variational.minibatch_rv import MinibatchRandomVariable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.type import RandomType

from dpmcmc.adapters.arguments import Bound, listed, require_traceable
from dpmcmc.adapters.graphs import Graph, build
from dpmcmc.adapters.refusals import absent, require_public
from dpmcmc.adapters.tensors import copied
from dpmcmc.errors import InputError

__all__ = ["Parameter", "PyMCLayout", "lay_out_pymc"]


class Parameter(NamedTuple):
    """A free random variable, on its own scale."""

    shape: tuple[int, ...]
    is_discrete: bool


@dataclass(frozen=True)
class PyMCLayout:
    """The variables of a PyMC model, as its records see them.

    Attributes
    ----------
    latents
        The parameters: its free random variables.
    likelihood
        The observed variables and potentials that read the records.
    prior
        All other variables and potentials with a density.
    shown
        The deterministic variables that hold no value of a record.
    observed
        The column that each observed variable reads as it is; None if some reads
        something else, or a potential reads records, so that none can be drawn.
    has_prior_distribution
        Whether the prior is what the free random variables are drawn from.
    """

    latents: Mapping[str, Parameter]
    likelihood: tuple[str, ...]
    prior: tuple[str, ...]
    shown: tuple[str, ...]
    observed: Mapping[str, str] | None
    has_prior_distribution: bool


def lay_out_pymc(bound: Bound, whole: Graph, one: Graph) -> PyMCLayout:
    """Say what each variable is, and refuse a model that cannot be run by record.

    The model is built with the shapes of all records, of one, and of two: whatever has
    one entry for each record shows by its shape, and what depends on the records by
    its graph.

    Raises
    ------
    InputError
        If a variable does not fit.
    """
    two = build(bound, 2)
    _require_same_names(whole, one, two)
    if not whole.latents:
        raise InputError(
            "the model has no free random variable; there is no parameter to draw. "
            "Give at least one a prior, such as pm.Normal."
        )
    _require_no_minibatches(whole)
    latents = [_latents(bound, graph) for graph in (whole, one, two)]
    for name in whole.latents:
        _require_same_shape(name, [found[name] for found in latents])
    terms = whole.terms()
    _require_no_draws(terms)
    reading = {name: whole.origins([term]) for name, term in terms.items()}
    for name in whole.latents:
        require_public(name, reading.pop(name), "likelihood")
    likelihood = tuple(name for name, columns in reading.items() if columns)
    if not likelihood:
        raise InputError(_no_observed(bound))
    for graph in (whole, one, two):
        _require_one_term_for_each_record(bound, graph, likelihood)
    prior = tuple(name for name in terms if name not in likelihood)
    return PyMCLayout(
        latents=latents[0],
        likelihood=likelihood,
        prior=prior,
        shown=_shown(bound, whole, one, two),
        observed=_observed(whole, likelihood),
        has_prior_distribution=set(prior) == set(whole.latents),
    )


def _latents(bound: Bound, graph: Graph) -> dict[str, Parameter]:
    values = graph.values()
    shapes = _shapes(bound, graph, graph.shown(list(graph.latents.values())))
    return {
        name: Parameter(shape, value.dtype.startswith(("int", "uint", "bool")))
        for (name, value), shape in zip(values.items(), shapes, strict=True)
    }


def _shapes(bound: Bound, graph: Graph, outputs: list[Any]) -> list[tuple[int, ...]]:
    """Shapes of outputs, by tracing; unconstrained values have those of PyMC."""
    function = graph.function(outputs)
    theta = graph.theta
    columns = bound.shapes(graph.count)
    require_traceable(bound, function, theta, columns)
    return [leaf.shape for leaf in jax.eval_shape(function, theta, columns)]


def _require_same_names(*graphs: Graph) -> None:
    names = [
        {*graph.latents, *(one.name for one in graph.model.observed_RVs)}
        | {one.name for one in (*graph.model.potentials, *graph.model.deterministics)}
        for graph in graphs
    ]
    unlike = set.union(*names) - set.intersection(*names)
    if unlike:
        raise InputError(
            f"the model has other variables ({listed(sorted(unlike))}) when it is "
            "given few records; they must not depend on how many there are, since the "
            "likelihood is computed from one record at a time."
        )


def _require_no_minibatches(graph: Graph) -> None:
    for one in graph.model.observed_RVs:
        if isinstance(one.owner.op, MinibatchRandomVariable):
            raise InputError(
                f"the observed variable {one.name!r} is of a minibatch (total_size). "
                "Leave it out: for a step on few records, choose "
                "dpmcmc.MinibatchBarker."
            )


def _require_no_draws(terms: Mapping[str, Any]) -> None:
    for name, term in terms.items():
        if any(isinstance(one.type, RandomType) for one in ancestors([term])):
            raise InputError(
                f"the log-density of {name!r} holds a random draw that is no variable "
                "of the model, such as pm.Normal.dist or pm.Minibatch, so that it "
                "would change at each evaluation. Name it as a variable."
            )


def _require_same_shape(name: str, traced: list[Parameter]) -> None:
    if len({one.shape for one in traced}) == 1:
        return
    if traced[0].is_discrete:
        advice = (
            "Sum over it: observe a pm.Mixture, or another distribution of the "
            "records from which it is summed out."
        )
    else:
        advice = (
            "Marginalise it: observe a distribution from which it is integrated out, "
            "such as pm.StudentT for a normal of latent scale, or "
            "pm.NegativeBinomial for a Poisson of latent rate; or give it a public "
            "size."
        )
    raise InputError(
        f"the variable {name!r} has shape {traced[0].shape}, which changes with the "
        "number of records: one value for each record, which each step would have to "
        f"release. {advice} If it is meant to be observed, pass a column as observed=."
    )


def _no_observed(bound: Bound) -> str:
    return (
        f"the model has no observed variable that reads the records.{absent(bound)} "
        "Pass a column as observed= to a variable, with one entry for each record."
    )


def _require_one_term_for_each_record(
    bound: Bound, graph: Graph, likelihood: tuple[str, ...]
) -> None:
    terms = graph.terms()
    shapes = _shapes(bound, graph, [terms[name] for name in likelihood])
    potentials = {one.name for one in graph.model.potentials}
    for name, shape in zip(likelihood, shapes, strict=True):
        if shape[:1] != (graph.count,):
            kind = "potential" if name in potentials else "observed variable"
            raise InputError(
                f"the {kind} {name!r} has log-densities of shape {shape} when the "
                f"model is given {graph.count} record{'s' * (graph.count > 1)}; its "
                "first axis must be that of the records, so that each record has its "
                "own term. Give data their names: columns are arguments of the "
                "function, or data containers of the model."
            )


def _shown(bound: Bound, *graphs: Graph) -> tuple[str, ...]:
    """Deterministic variables that read no column, of a shape that stays."""
    found = {}
    whole = graphs[0]
    names = [one.name for one in whole.model.deterministics]
    for graph in graphs:
        outputs = graph.shown([graph.model[name] for name in names])
        if graph is whole:
            free = [not graph.origins([one]) for one in outputs]
        found[graph.count] = _shapes(bound, graph, outputs)
    stays = [len(set(shapes)) == 1 for shapes in zip(*found.values(), strict=True)]
    return tuple(
        name
        for name, is_free, same in zip(names, free, stays, strict=True)
        if is_free and same
    )


def _observed(graph: Graph, likelihood: tuple[str, ...]) -> dict[str, str] | None:
    names = {id(column): name for name, column in graph.columns.items()}
    model = graph.model
    found = {}
    for name in likelihood:
        if model[name] not in model.observed_RVs:
            return None
        (value,) = graph.swapped([model.rvs_to_values[model[name]]])
        column = names.get(id(copied(value)))
        if column is None:
            return None
        found[name] = column
    return found
