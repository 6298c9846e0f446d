# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""All experiments, by name."""

from benchmarks.peers.experiments.adult import ALL_COLUMNS, FEW_COLUMNS
from benchmarks.peers.experiments.base import Experiment
from benchmarks.peers.experiments.binary import BINARY
from benchmarks.peers.experiments.components import COMPONENTS
from benchmarks.peers.experiments.conjugate import ONE_PARAMETER
from benchmarks.peers.experiments.large_linear import LARGE_LINEAR
from benchmarks.peers.experiments.linear import LINEAR
from benchmarks.peers.experiments.mixture import MIXTURE
from benchmarks.peers.experiments.shapes import SHAPES

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        LINEAR,
        ALL_COLUMNS,
        *ONE_PARAMETER,
        BINARY,
        FEW_COLUMNS,
        LARGE_LINEAR,
        *SHAPES,
        MIXTURE,
        COMPONENTS,
    )
}
