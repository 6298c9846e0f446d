# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The private fit: histograms and noisy Newton rounds that find the quadratic part."""
