# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of the tests of the privacy boundary.

Each statistical test has fixed words and states its false-alarm rate: how often it
would fail, over keys of the tape, if the code were right.
"""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest


@pytest.fixture
def x64():
    """The precision in which the boundary computes."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def fresh_process():
    """Run a script of this folder in a new process with its own settings of JAX."""

    def run(script, *arguments, **environment):
        done = subprocess.run(
            [sys.executable, "-W", "error", script, *arguments],
            cwd=Path(__file__).parent,
            env={**os.environ, "JAX_PLATFORMS": "cpu", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    return run
