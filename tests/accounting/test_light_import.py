# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Costs are known without slow imports: a plan needs NumPy and special functions."""

import subprocess
import sys

SLOW = ("dp_accounting", "jax", "scipy.optimize", "scipy.signal", "scipy.stats")
CODE = f"""
import sys
import dpmcmc.planning
dpmcmc.planning.plan(1000, clip=0.01, steps=100, epsilon=1.0, delta=1e-6)
print([name for name in {SLOW!r} if name in sys.modules])
"""


def test_a_plan_imports_nothing_slow():
    done = subprocess.run(
        [sys.executable, "-c", CODE], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"
