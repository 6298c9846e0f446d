# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Influence: which one number of a record enters the decision on a move.

Whatever number it is, it is clipped and rounded before it is added to others, so that
the privacy of a bit does not rest on it; the accuracy of the chain does.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import jax

from dpmcmc.model.model import Model
from dpmcmc.model.tracing import as_float

__all__ = ["PLAIN", "Influence", "Plain"]


class Influence(Protocol):
    """How one record speaks on a move: a frozen dataclass that is a pytree.

    Its numbers are arguments of compiled code, so that one program serves all. Every
    method but `public` sees one record, under vmap with no named axis.
    """

    def extras(self, model: Model, record: Any) -> Any:
        """Work out of a record, once, what later steps need; () if nothing."""
        ...

    def look(
        self, model: Model, theta: Any, record: Any, extras: Any, dtype: str
    ) -> Any:
        """Work out of a record what a point needs; kept while a chain is there."""
        ...

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """One number from what was seen at the two points; it is clipped later."""
        ...

    def public(self, model: Model, current: Any, proposed: Any) -> jax.Array | float:
        """The part of Δ that no record enters, beside priors and proposals."""
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Plain:
    """The log-likelihood ratio as it is."""

    def extras(self, model: Model, record: Any) -> tuple[()]:
        """Nothing."""
        del model, record
        return ()

    def look(
        self, model: Model, theta: Any, record: Any, extras: Any, dtype: str
    ) -> jax.Array:
        """The log-likelihood."""
        del extras
        return as_float(model.record_log_likelihood(theta, record), dtype)

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """The difference of the log-likelihoods."""
        del record, extras
        return proposed - current

    def public(self, model: Model, current: Any, proposed: Any) -> float:
        """Nothing."""
        del model, current, proposed
        return 0.0


PLAIN = Plain()
