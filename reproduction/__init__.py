# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of the paper, made with dpmcmc: ``make reproduce``.

This folder runs on the package and is not part of it. All records are simulated.
"""
