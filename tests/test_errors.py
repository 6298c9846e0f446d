# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Errors reach other processes with all that they hold."""

import pickle

from dpmcmc.errors import NotUsableError, StoppedError


def test_a_refusal_reaches_another_process() -> None:
    error = NotUsableError("fit", "of no use", {"epsilon": 1.0})
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.stage, again.reason) == ("fit", "of no use")
    assert again.statement == {"epsilon": 1.0}


def test_a_run_that_failed_reaches_another_process() -> None:
    """A pool of processes waits for ever for an error that cannot be made again."""
    error = StoppedError("chain", ["what was released"])
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.stage, again.checkpoint) == ("chain", ["what was released"])
