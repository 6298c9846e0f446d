# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Published private samplers, one file each, on their own experiments.

Each is written from its paper, plainly, and priced by the accountants of this package
for the substitution of one record. `python -m benchmarks.peers` runs the experiments.
"""
