# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Where numbers are computed with: on devices of this process, or of several."""

from typing import Any

import jax
import numpy as np
from jax.sharding import (
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
)

from dpmcmc.private.opening import Opened

__all__ = ["everywhere", "placed", "placement", "spread_batches"]


def placement(resident: Opened | None, devices: list[jax.Device]) -> Sharding:
    """Where points are: by all the records, or where a batch is computed.

    A batch is computed on the first device of each process.
    """
    if resident is not None:
        return NamedSharding(resident.present.sharding.mesh, PartitionSpec())
    first = {device.process_index: device for device in reversed(devices)}
    if len(first) == 1:
        return SingleDeviceSharding(devices[0])
    mesh = Mesh(np.asarray([first[process] for process in sorted(first)]), ("records",))
    return NamedSharding(mesh, PartitionSpec())


def everywhere(devices: list[jax.Device]) -> Sharding:
    """On each of the devices, over which records are spread."""
    return NamedSharding(Mesh(np.asarray(devices), ("records",)), PartitionSpec())


def placed(tree: Any, where: Sharding) -> Any:
    """Put the same numbers on all devices; other processes are not asked for theirs."""
    if where.is_fully_addressable:
        return jax.device_put(tree, where)

    def place(leaf: Any) -> jax.Array:
        if isinstance(leaf, jax.Array) and not leaf.is_fully_addressable:
            return jax.device_put(leaf, where)
        host = np.asarray(leaf)
        return jax.make_array_from_callback(host.shape, where, lambda at: host[at])

    return jax.tree.map(place, tree)


def spread_batches(batch: Opened | None, where: Sharding) -> Opened | None:
    """Put batches where points are, each process's own records of them side by side."""
    if batch is None or not isinstance(where, NamedSharding):
        return placed(batch, where)
    spread = NamedSharding(where.mesh, PartitionSpec(None, None, "records"))

    def place(leaf: np.ndarray) -> jax.Array:
        steps, chains, size, *rest = leaf.shape
        whole = (steps, chains, size * where.mesh.size, *rest)
        return jax.make_array_from_process_local_data(spread, leaf, whole)

    return jax.tree.map(place, batch)
