# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Bayesian posteriors from sensitive records, with a proven privacy cost."""
