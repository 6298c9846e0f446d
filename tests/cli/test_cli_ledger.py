# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The command ``dpmcmc ledger``."""

import getpass
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from small_jobs import RECORDS, entries

from dpmcmc.accounting import BarkerBit
from dpmcmc.ledger import Ledger

Command = Callable[..., Any]


def test_a_new_ledger(dpmcmc: Command, folder: Path) -> None:
    words = "ledger register new.db folk --records 500 --epsilon 2 --delta 1e-6"
    said = dpmcmc(words, "--note", "decision 12")
    assert said.code == 0
    assert said.out.startswith("folk: 500 records, ε = 2, δ = 1e-06\n")
    assert "Note: decision 12" in said.out
    with Ledger.open("new.db", create=False) as ledger:
        assert ledger.overview("folk").registrar == getpass.getuser()
    assert "is registered already" in dpmcmc(words).refusal
    bad = words.replace("folk", "bad").replace("--epsilon 2", "--epsilon -2")
    assert "epsilon is -2.0" in dpmcmc(bad).refusal
    assert "cannot be opened" in dpmcmc(words.replace("new.db", "a/b/c.db")).refusal


def test_what_is_spent_and_left(dpmcmc: Command, finished: Path) -> None:
    said = dpmcmc("ledger show study.db")
    assert said.code == 0
    assert "·] █ spent ▒ reserved · left\n" in said.out
    assert "a first look" in said.out
    assert max(map(len, said.out.splitlines())) <= 100
    (view,) = json.loads(dpmcmc("ledger show study.db people --json").out)
    assert view["dataset"] == "people"
    assert 0 < view["spent"] < 1
    assert dpmcmc("ledger show study.db people --plot b.png").code == 0
    assert (finished / "b.png").read_bytes().startswith(b"\x89PNG")
    assert "no such name" in dpmcmc("ledger show study.db folk").refusal
    assert "absent.db' does not exist" in dpmcmc("ledger show absent.db").refusal
    dpmcmc("ledger register study.db folk --records 9 --epsilon 1 --delta 1e-6")
    line = dpmcmc("ledger show study.db --plot b.png")
    assert "has 2 data sets, and a picture shows one" in line.err
    assert len(json.loads(dpmcmc("ledger show study.db --json").out)) == 2


def test_which_epsilon_still_fits(dpmcmc: Command, folder: Path) -> None:
    budget = f"--records {RECORDS} --epsilon 1 --delta 1e-6"
    dpmcmc(f"ledger register new.db folk {budget}")
    (found,) = json.loads(dpmcmc("ledger fits new.db --json").out)
    fits = {name: found[name] for name in ("fits", "fits_rho", "fits_mu")}
    assert found == {"dataset": "folk", "fits_delta": 1e-6, **fits}
    assert abs(2 * fits["fits_rho"] / fits["fits_mu"] ** 2 - 1) < 0.02
    assert 0.8 < found["fits"] < 1
    said = dpmcmc("ledger fits new.db folk --delta 1e-7")
    assert said.out.startswith("folk: ε = 1.")
    assert " at δ = 1e-07 (ρ = " in said.out
    shown = dpmcmc("ledger show new.db --delta 1e-7").out
    assert said.out.removeprefix("folk: ").strip() in shown
    (view,) = json.loads(dpmcmc("ledger show new.db --json").out)
    assert view["fits"] == found["fits"]
    assert "delta is 2.0" in dpmcmc("ledger fits new.db --delta 2").refusal
    with Ledger.open("new.db") as ledger:
        ledger.reserve("folk", {BarkerBit(0.01, RECORDS): 300})
    (after,) = json.loads(dpmcmc("ledger fits new.db --json").out)
    assert 0 < after["fits"] < found["fits"] / 1.5


def test_an_empty_ledger(dpmcmc: Command, folder: Path) -> None:
    Ledger.open("empty.db").close()
    assert dpmcmc("ledger show empty.db").out == "No data set is registered yet.\n"
    assert dpmcmc("ledger verify empty.db").code == 0


def test_an_edited_ledger_is_found(dpmcmc: Command, finished: Path) -> None:
    said = dpmcmc("ledger verify study.db")
    assert said.code == 0
    assert "all hashes, rules and sums are right" in said.out
    head = said.out.split()[-1]
    assert dpmcmc(f"ledger verify study.db --head {head}").code == 0
    assert dpmcmc(f"ledger verify study.db --head {'1' * 64}").code == 1
    assert json.loads(dpmcmc("ledger verify study.db --json").out) == {
        "head": head,
        "problems": [],
        "notes": [],
    }
    with sqlite3.connect("study.db") as rows:
        rows.execute("update dpmcmc_entries set analyst = 'bo' where number = 3")
    said = dpmcmc("ledger verify study.db")
    assert said.code == 1
    assert "Entry 3 was edited" in said.out
    found = json.loads(dpmcmc("ledger verify study.db --json").out)
    assert found["problems"]
    assert "edited" in dpmcmc("ledger show study.db").refusal


def test_a_dead_run_gives_back(dpmcmc: Command, folder: Path) -> None:
    budget = f"--records {RECORDS} --epsilon 1 --delta 1e-6"
    dpmcmc(f"ledger register study.db mine {budget}")
    total = {BarkerBit(0.01, RECORDS): 50}
    with Ledger.open("study.db") as ledger:
        run = ledger.reserve("mine", total).run
    assert "▒" in dpmcmc("ledger show study.db mine").out.splitlines()[3][3:53]
    assert "Give --yes" in dpmcmc(f"ledger release study.db {run}").refusal
    assert "release" not in entries(folder)
    said = dpmcmc(f"ledger release study.db {run} --yes")
    assert said.out == (
        f"Run {run} holds nothing any more; what it spent stays spent.\n"
    )
    assert "released already" in dpmcmc(f"ledger release study.db {run} --yes").refusal
    assert "no run of that id" in dpmcmc("ledger release study.db 12 --yes").refusal
    (view,) = json.loads(dpmcmc("ledger show study.db mine --json").out)
    assert view["reserved"] == 0
