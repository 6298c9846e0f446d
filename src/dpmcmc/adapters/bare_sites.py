# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Bare sites: a NumPyro model that observes its records outside any plate.

Many models are written so: the distribution has one entry for each record, and no
plate says that they are independent. Entries along the batch of a distribution are, so
such sites are put into a plate whose axis is the first of their log-density.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpyro.primitives import CondIndepStackFrame, Messenger

from dpmcmc.adapters.arguments import Bound
from dpmcmc.adapters.sites import Message, log_density_shape, outline

__all__ = ["with_plate"]

PLATE = "the records"
"""The plate of sites that stand in none, as messages name it."""


def with_plate(bound: Bound, count: int) -> Bound:
    """A model whose observed sites stand in a plate; as it is, if some do already.

    Only sites whose density depends on the records are put into it, and only if their
    log-density has one entry for each record along its first axis.
    """
    observed = {
        name: site
        for name, site in outline(bound, count).sites.items()
        if site.is_observed and site.density.names
    }
    if any(site.plates for site in observed.values()):
        return bound
    if any(site.terms[:1] != (count,) for site in observed.values()):
        return bound
    return _Placed(bound.model, bound.one, bound.left_out, frozenset(observed))


@dataclass(frozen=True, eq=False, repr=False)
class _Placed(Bound):
    """A model with some of its sites in a plate that it does not have."""

    names: frozenset[str]

    def __call__(self, columns: Mapping[str, Any]) -> Any:
        """Call the model with the columns."""
        count = len(next(iter(columns.values())))
        with _Plate(self.names, count):
            return super().__call__(columns)


class _Plate(Messenger):  # type: ignore[misc]
    """What puts sites into the plate, while the model runs."""

    def __init__(self, names: frozenset[str], count: int) -> None:
        super().__init__()
        self._names = names
        self._count = count

    def process_message(self, site: Message) -> None:
        """Add the plate to a site, if it has an entry for each record."""
        if site["type"] != "sample" or site["name"] not in self._names:
            return
        shape = log_density_shape(site)
        if shape[:1] == (self._count,):
            frame = CondIndepStackFrame(PLATE, -len(shape), self._count)
            site["cond_indep_stack"] = [*site["cond_indep_stack"], frame]
