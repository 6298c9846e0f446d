# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Padding: a public number of entries, so that how many records there are is protected.

Entries beyond the records are not present. To add a record is then to substitute one
that is not present, and to remove one is the reverse.
"""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from dpmcmc.private.sources import Source
from dpmcmc.private.tables import Kind
from dpmcmc.private.units import Grouped

__all__ = ["Padded"]


@dataclass(frozen=True, eq=False)
class Padded:
    """Records or units of a source, in a public number of entries: a source itself."""

    rows: Source | Grouped
    size: int
    is_kept = True

    @property
    def kinds(self) -> Any:
        """Of arrays of that many entries."""
        return jax.tree.map(
            lambda kind: Kind((self.size, *kind.shape[1:]), kind.dtype), self.rows.kinds
        )

    def read(self) -> tuple[Any, np.ndarray]:
        """Read the first records, and add entries that are not present.

        Guarantee
        ---------
        The entries are the first ``size`` records and, where there are fewer, entries
        that are not present, all alike. So to add, to remove or to substitute one
        record substitutes one entry at most, but for the order of the entries.
        """
        rows, present = self.rows.read()
        if present is None:
            present = np.ones(len(jax.tree.leaves(rows)[0]), bool)
        return jax.tree.map(self._padded, (rows, present))

    def _padded(self, leaf: np.ndarray) -> np.ndarray:
        found = np.zeros((self.size, *leaf.shape[1:]), leaf.dtype)
        found[: len(leaf)] = leaf[: self.size]
        return found
