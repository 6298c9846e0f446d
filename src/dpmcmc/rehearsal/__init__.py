# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Before anything is spent: what a budget buys, and methods on simulated records."""
