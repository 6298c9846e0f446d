# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Drawing posteriors: the front door, methods, stages, and the loop that runs them."""
