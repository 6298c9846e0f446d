# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that race, charge and are killed. Run by the tests, without JAX.

This process imports the ledger once; every child is a fork of it, with a ledger of its
own. What the parent learns is printed as JSON.
"""

import json
import os
import random
import signal
import sys
import time

import psycopg
from ledger_cases import bits, opened

import dpmcmc.ledger.store
from dpmcmc.ledger import Ledger, LedgerError, OverBudgetError


def race(place: str, racers: int, steps: int) -> dict[str, object]:
    """Let many processes reserve, charge and close at once; say how each fared."""
    begin, go = os.pipe()
    pipes, children = [], []
    for _ in range(racers):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(go)
            os.read(begin, 1)  # ends when the parent closes its end
            os.write(writer, _one_racer(place, steps).encode())
            os._exit(0)
        os.close(writer)
        pipes.append(reader)
        children.append(child)
    os.close(go)
    fates = []
    for reader, child in zip(pipes, children, strict=True):
        with os.fdopen(reader) as lines:
            fates.append(lines.read())
        os.waitpid(child, 0)
    return {"fates": fates}


def _one_racer(place: str, steps: int) -> str:
    try:
        with Ledger.open(place, create=False, timeout=60.0) as ledger:
            run = ledger.reserve("people", bits(steps), analyst="ana")
            run.charge(bits(steps // 2))
            run.charge(bits(steps - steps // 2))
            run.close()
    except OverBudgetError:
        return "refused"
    except LedgerError as error:
        return str(error)
    return "ran"


def create(place: str, racers: int) -> dict[str, object]:
    """Let many processes begin the same ledger at once."""
    children = []
    for number in range(racers):
        child = os.fork()
        if child == 0:
            with Ledger.open(place, timeout=60.0) as ledger:
                ledger.register(f"set-{number}", records=5, epsilon=1, delta=1e-6)
            os._exit(0)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return {"codes": codes}


def kill(place: str, kills: int, seed: int) -> dict[str, object]:
    """Kill a charging process again and again; count what was acknowledged."""
    moments = random.Random(seed)
    with opened(place, epsilon=100.0) as ledger:
        run = ledger.reserve("people", bits(10**5)).run
    acknowledged, findings = 0, []
    for _ in range(kills):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _charge_for_ever(place, run, writer)
        os.close(writer)
        os.read(reader, 1)  # it has resumed, and charges
        time.sleep(moments.uniform(0.0, 0.08))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(reader, "rb") as heard:
            acknowledged += len(heard.read())
        with Ledger.open(place, create=False) as ledger:
            stored = sum(entry.kind == "charge" for entry in ledger.entries())
            findings.append([acknowledged, stored, list(ledger.verify().problems)])
            # What was stored and not acknowledged was charged all the same.
            acknowledged = stored
    return {"findings": findings}


def _charge_for_ever(place: str, run: str, writer: int) -> None:
    with Ledger.open(place, create=False, timeout=60.0) as ledger:
        reservation = ledger.resume(run, "ana")
        os.write(writer, b"r")
        while True:
            reservation.charge(bits(1))
            os.write(writer, b"c")


IMPORTED_BEFORE_FORKING = (psycopg, dpmcmc.ledger.store)

if __name__ == "__main__":
    deed, place, *numbers = sys.argv[1:]
    deeds = {"race": race, "create": create, "kill": kill}
    found = deeds[deed](place, *map(int, numbers))  # type: ignore[operator]
    print(json.dumps({**found, "jax": "jax" in sys.modules}))
