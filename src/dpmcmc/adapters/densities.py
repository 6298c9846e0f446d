# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Densities: the prior and the likelihood of a NumPyro model, one record at a time.

What does not depend on the records is computed from the model run on zeros in their
place, in their number; the layout has proven that the zeros do not matter. The
likelihood of a record is computed from the model run on that record alone. So each
function reads its arguments and public numbers, whatever the model does.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import ExpandedDistribution, Independent

from dpmcmc.adapters.arguments import Bound
from dpmcmc.adapters.layout import Layout, combinations
from dpmcmc.adapters.parts import Start, Theta
from dpmcmc.adapters.sites import Message, log_density, run, support_of, transform_of

__all__ = ["Densities"]


@dataclass(frozen=True, eq=False, repr=False)
class Densities:
    """What a `Model` needs, computed from a NumPyro model and its layout."""

    bound: Bound
    count: int
    layout: Layout

    def log_prior(self, theta: Theta) -> jax.Array:
        """The log-density of the prior of θ, with the Jacobian of its transform."""
        total = jnp.zeros(())
        for site in self._public_run(theta).values():
            if site["type"] == "sample" and not self._is_inside(site):
                total += jnp.sum(log_density(site))
                if site["name"] in theta:
                    total += _measure(site, theta[site["name"]])
        return total

    def constrain(self, theta: Theta) -> dict[str, Any]:
        """The values of the latent sites outside the plate, on their own scale."""
        trace = self._public_run(theta)
        return {name: trace[name]["value"] for name in self.layout.latents}

    @cached_property
    def constrained(self) -> Callable[[Theta], dict[str, Any]]:
        """`constrain`, compiled apart: what the zeros lead to is thrown away."""
        return jax.jit(self.constrain)

    def show(self, theta: Theta) -> dict[str, Any]:
        """What a draw is shown as: latent values, and deterministic ones."""
        trace = self._public_run(theta)
        names = (*self.layout.latents, *self.layout.shown)
        # A scope puts a slash into names, which no file of draws can hold.
        return {name.replace("/", "."): trace[name]["value"] for name in names}

    def start(self, given: Theta, key: jax.Array) -> Start:
        """A public place to start: the values given, else the centre of the prior.

        Discrete values that are not given are drawn.
        """

        def value_of(site: Message) -> Any:
            if self._is_inside(site):
                return _any_of(site)
            if site["name"] in given:
                return given[site["name"]]
            return None if site["fn"].is_discrete else _centre(site)

        trace = run(self.bound, self.bound.blanks(self.count), value_of, key)
        possible = {
            name: jnp.all(trace[name]["fn"].support(trace[name]["value"]))
            for name in given
        }
        theta = self._unconstrain(trace)
        return Start(theta, possible, self.log_prior(theta))

    def draw_prior(self, key: jax.Array) -> dict[str, Any]:
        """Draw θ from the prior."""

        def value_of(site: Message) -> Any:
            return _any_of(site) if self._is_inside(site) else None

        blanks = self.bound.blanks(self.count)
        return self._unconstrain(run(self.bound, blanks, value_of, key))

    def log_likelihood(self, theta: Theta, record: Mapping[str, Any]) -> jax.Array:
        """The log-likelihood of one record."""
        return self.log_likelihoods(theta, self.bound.of_one(record), 1)[0]

    def log_likelihoods(
        self, theta: Theta, columns: Mapping[str, Any], count: int
    ) -> jax.Array:
        """The log-likelihood of each of several records, from one run of the model.

        The discrete latents of a record are summed over: log Σ p(z) p(x | z).
        """
        latent = self.constrained(theta)

        def joint(choice: Mapping[str, Any]) -> jax.Array:
            def value_of(site: Message) -> Any:
                name = site["name"]
                if name in latent:
                    return latent[name]
                entry = jnp.broadcast_to(choice[name], site["fn"].batch_shape)
                return support_of(site)[entry]

            trace = run(self.bound, columns, value_of)
            terms = [
                _by_record(log_density(site), self._axis(site), count)
                for site in trace.values()
                if site["type"] == "sample" and self._is_inside(site)
            ]
            return sum(terms, jnp.zeros(count))

        if not self.layout.hidden:
            return joint({})
        return jax.nn.logsumexp(jax.vmap(joint)(self._choices()), axis=0)

    def simulate(
        self, theta: Theta, key: jax.Array, record: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Draw the observed columns of a record; the others are copied."""
        latent = self.constrained(theta)

        def draw(columns: Mapping[str, Any]) -> dict[str, Any]:
            trace = run(
                self.bound,
                columns,
                lambda site: latent.get(site["name"]),
                key,
                redraw=True,
            )
            return {name: trace[name]["value"] for name in observed}

        observed = self.layout.observed or {}
        return self.bound.redrawn(record, observed, draw)

    def _public_run(self, theta: Theta) -> dict[str, Message]:
        """Run the model at θ on zeros in the place of the records."""

        def value_of(site: Message) -> Any:
            if self._is_inside(site):
                return _any_of(site)
            value = theta[site["name"]]
            return value if site["fn"].is_discrete else transform_of(site)(value)

        return run(self.bound, self.bound.blanks(self.count), value_of)

    def _unconstrain(self, trace: Mapping[str, Message]) -> dict[str, Any]:
        sites = {name: trace[name] for name in self.layout.latents}
        return {
            name: site["value"]
            if site["fn"].is_discrete
            else transform_of(site).inv(site["value"])
            for name, site in sites.items()
        }

    def _choices(self) -> dict[str, np.ndarray]:
        """Which value each discrete latent of a record takes, in each combination."""
        sizes = combinations(self.layout.hidden)
        table = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
        shapes = [site.batch_shape for site in self.layout.hidden.values()]
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        parts = np.split(table, ends[:-1], axis=1)
        return {
            name: part.reshape(len(table), *shape)
            for name, part, shape in zip(self.layout.hidden, parts, shapes, strict=True)
        }

    def _is_inside(self, site: Message) -> bool:
        return any(
            frame.name == self.layout.plate for frame in site["cond_indep_stack"]
        )

    def _axis(self, site: Message) -> int:
        """The axis of the records, counted from the last of a batch."""
        (axis,) = [
            frame.dim
            for frame in site["cond_indep_stack"]
            if frame.name == self.layout.plate
        ]
        return int(axis)


def _any_of(site: Message) -> jax.Array:
    """Some value of a discrete site, where it does not matter which."""
    return jnp.broadcast_to(support_of(site)[0], site["fn"].shape())


def _centre(site: Message) -> jax.Array:
    """The median of a continuous site, else its mean, else the transform of zero.

    The mean of a wide prior on a scale is often beyond any scale that it is meant for.
    """
    distribution, transform = site["fn"], transform_of(site)
    shape = distribution.shape(site["kwargs"]["sample_shape"])
    zero = jnp.zeros(transform.inverse_shape(shape))
    try:
        middle = transform.inv(jnp.broadcast_to(_middle(distribution), shape))
    except NotImplementedError:
        return transform(zero)
    return transform(jnp.where(jnp.all(jnp.isfinite(middle)), middle, zero))


def _middle(distribution: Any) -> jax.Array:
    while isinstance(distribution, Independent | ExpandedDistribution):
        distribution = distribution.base_dist
    try:
        return distribution.icdf(jnp.full(distribution.shape(), 0.5))
    except (NotImplementedError, ImportError):  # quantiles that need another library
        return distribution.mean


def _measure(site: Message, value: Any) -> jax.Array:
    """The Jacobian of a continuous site; the support of a discrete one."""
    distribution = site["fn"]
    if distribution.is_discrete:
        # NumPyro gives finite densities outside a support, where a walk may step.
        return jnp.where(jnp.all(distribution.support(site["value"])), 0.0, -jnp.inf)
    return jnp.sum(transform_of(site).log_abs_det_jacobian(value, site["value"]))


def _by_record(density: jax.Array, axis: int, count: int) -> jax.Array:
    """Sum a log-density over all axes but that of the records."""
    return jnp.sum(jnp.moveaxis(density, axis, 0).reshape(count, -1), axis=1)
