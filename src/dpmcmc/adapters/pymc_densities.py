# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Densities of a PyMC model: its prior, and its likelihood one record at a time.

The prior is computed from the model built for all records, on zeros in their place;
the layout has proven that the zeros do not matter. The likelihood of a record is that
of the model built for one record. So each function reads its arguments and public
numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.adapters.arguments import Bound
from dpmcmc.adapters.graphs import Graph, build
from dpmcmc.adapters.parts import Start, Theta
from dpmcmc.adapters.pymc_layout import PyMCLayout
from dpmcmc.adapters.tensors import in_precision, replaced, to_jax

__all__ = ["PyMCDensities"]


@dataclass(frozen=True, eq=False, repr=False)
class PyMCDensities:
    """What a `Model` needs, computed from a PyMC model and its layout."""

    bound: Bound
    whole: Graph
    one: Graph
    layout: PyMCLayout
    _by_count: dict[int, Any] = field(default_factory=dict)

    def log_prior(self, theta: Theta) -> jax.Array:
        """The log-density of the prior of θ, with the Jacobian of its transform."""
        terms = self._prior(theta, self._blanks)
        return sum(map(jnp.sum, terms), jnp.zeros(()))

    def show(self, theta: Theta) -> dict[str, Any]:
        """What a draw is shown as: parameters, and deterministic variables."""
        names = (*self.layout.latents, *self.layout.shown)
        return dict(zip(names, self._show(theta, self._blanks), strict=True))

    def start(self, given: Theta, key: jax.Array) -> Start:
        """A public place to start: the values given, else PyMC's initial point."""
        with in_precision():
            inputs = {name: self.whole.latents[name].type() for name in given}
        outputs = self.whole.initial_point(inputs)
        found = to_jax(list(inputs.values()), outputs)(*given.values(), key=key)
        theta = dict(zip(self.layout.latents, found, strict=True))
        terms = dict(
            zip(self.layout.prior, self._prior(theta, self._blanks), strict=True)
        )
        possible = {name: jnp.all(jnp.isfinite(terms[name])) for name in given}
        return Start(theta, possible, self.log_prior(theta))

    def draw_prior(self, key: jax.Array) -> dict[str, Any]:
        """Draw θ from the prior."""
        found = self._draw(*self._blanks.values(), key=key)
        return dict(zip(self.layout.latents, found, strict=True))

    def log_likelihood(self, theta: Theta, record: Mapping[str, Any]) -> jax.Array:
        """The log-likelihood of one record."""
        return self.log_likelihoods(theta, self.bound.of_one(record), 1)[0]

    def log_likelihoods(
        self, theta: Theta, columns: Mapping[str, Any], count: int
    ) -> jax.Array:
        """The log-likelihood of each of several records, from one run of the model."""
        if count not in self._by_count:
            graph = self.one if count == 1 else build(self.bound, count)
            terms = graph.terms()
            self._by_count[count] = graph.function(
                [terms[name] for name in self.layout.likelihood]
            )
        found = self._by_count[count](theta, columns)
        by_record = [jnp.sum(term.reshape(count, -1), axis=1) for term in found]
        return sum(by_record, jnp.zeros(count))

    def simulate(
        self, theta: Theta, key: jax.Array, record: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Draw the observed columns of a record; the others are copied."""
        observed = self.layout.observed or {}

        def draw(columns: Mapping[str, Any]) -> dict[str, Any]:
            return dict(zip(observed, self._simulate(theta, columns, key), strict=True))

        return self.bound.redrawn(record, observed, draw)

    def at_one(self, outputs: list[Any]) -> Any:
        """Outputs of the model of one record as a function of θ and columns."""
        return self.one.function(self._given_latents(outputs))

    def _given_latents(self, outputs: list[Any]) -> list[Any]:
        """Outputs with the parameters' values in the place of their draws."""
        free = self.one.model.free_RVs
        with in_precision():
            values = self.one.model.replace_rvs_by_values(free)
            known = dict(zip(free, values, strict=True))
            return self.one.swapped(replaced(outputs, known))

    @property
    def _blanks(self) -> dict[str, jax.Array]:
        return self.bound.blanks(self.whole.count)

    @cached_property
    def _prior(self) -> Any:
        terms = self.whole.terms()
        return self.whole.function([terms[name] for name in self.layout.prior])

    @cached_property
    def _show(self) -> Any:
        names = (*self.layout.latents, *self.layout.shown)
        model = self.whole.model
        return self.whole.function(self.whole.shown([model[name] for name in names]))

    @cached_property
    def _draw(self) -> Any:
        model = self.whole.model
        with in_precision():
            drawn = [
                one
                if model.rvs_to_transforms[one] is None
                else model.rvs_to_transforms[one].forward(one, *one.owner.inputs)
                for one in model.free_RVs
            ]
        return to_jax([*self.whole.columns.values()], self.whole.swapped(drawn))

    @cached_property
    def _simulate(self) -> Any:
        model = self.one.model
        return self.at_one([model[name] for name in self.layout.observed or {}])
