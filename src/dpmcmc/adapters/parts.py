# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Parts: what an adapter works out of a model of another library."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import jax

from dpmcmc.adapters.arguments import Bound

__all__ = ["Latent", "Parts", "Roles", "Start", "Theta"]

Theta = Mapping[str, Any]
"""Unconstrained values of the parameters, by name; discrete ones as they are."""


class Start(NamedTuple):
    """Where chains start, unconstrained.

    Attributes
    ----------
    theta
        The point.
    is_possible
        Whether each value given by the user is in the support of its prior.
    log_prior
        The log-density of the prior there.
    """

    theta: dict[str, Any]
    is_possible: dict[str, Any]
    log_prior: Any


class Latent(Protocol):
    """A parameter, as it is on its own scale."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""

    @property
    def is_discrete(self) -> bool:
        """Whether it is a whole number."""


class Roles(Protocol):
    """What the variables of a model are to its records.

    Its ``repr`` says all of it, so that two translations can be compared.
    """

    @property
    def latents(self) -> Mapping[str, Latent]:
        """The parameters."""

    @property
    def observed(self) -> Mapping[str, str] | None:
        """The column that each observed variable reads as it is; None if not so."""

    @property
    def has_prior_distribution(self) -> bool:
        """Whether the prior is what the parameters are drawn from."""


class Parts(Protocol):
    """The functions of a `Model`, computed from a model of another library."""

    @property
    def bound(self) -> Bound:
        """The model and its columns."""

    @property
    def layout(self) -> Roles:
        """What its variables are to the records."""

    def start(self, given: Theta, key: jax.Array) -> Start:
        """A public place to start: the values given, else those of the prior."""

    def log_prior(self, theta: Theta) -> jax.Array:
        """The log-density of the prior of θ, with the Jacobian of its transform."""

    def show(self, theta: Theta) -> dict[str, Any]:
        """What a draw is shown as, on its own scale."""

    def draw_prior(self, key: jax.Array) -> dict[str, Any]:
        """Draw θ from the prior."""

    def log_likelihood(self, theta: Theta, record: Mapping[str, Any]) -> jax.Array:
        """The log-likelihood of one record."""

    def log_likelihoods(
        self, theta: Theta, columns: Mapping[str, Any], count: int
    ) -> jax.Array:
        """The log-likelihood of each of several records, from one run of the model."""

    def simulate(
        self, theta: Theta, key: jax.Array, record: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Draw the observed columns of a record; the others are copied."""
