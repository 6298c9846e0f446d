# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A public part of Δ beside the number of a record: what a clip is expected to take.

The number is clipped as it is, and what that takes is made up for in the sum: by a
function that is handed no record, such as the mean over simulated ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from dpmcmc.model.model import Model
from dpmcmc.private import PLAIN, Influence

__all__ = ["Shifted"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Shifted:
    """The number of another influence, with a part of Δ that no record enters.

    Parameters
    ----------
    part
        A function of the model and the two points, which is a pytree.
    base
        The other influence: the log-likelihood ratio as it is, unless given.
    """

    part: Callable[[Model, Any, Any], jax.Array]
    base: Influence = PLAIN

    def extras(self, model: Model, record: Any) -> Any:
        """What the other influence works out."""
        return self.base.extras(model, record)

    def look(
        self, model: Model, theta: Any, record: Any, extras: Any, dtype: str
    ) -> Any:
        """What the other influence sees."""
        return self.base.look(model, theta, record, extras, dtype)

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """The number of the other influence."""
        return self.base.ratio(current, proposed, record, extras)

    def public(self, model: Model, current: Any, proposed: Any) -> Any:
        """What the function says, and the other influence.

        Guarantee
        ---------
        A function of the model, of the two points and of numbers that were public
        before the chain began: it is handed no record.
        """
        base = self.base.public(model, current, proposed)
        return self.part(model, current, proposed) + base
