# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A real terminal: the question, the progress bar, Ctrl-C, and going on."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from small_jobs import entries

from dpmcmc.files import RunFolder
from dpmcmc.ledger import Ledger

# Gives a command a terminal of its own: what is written to this process is typed.
TERMINAL = """
import fcntl, os, pty, struct, sys, termios
def read(terminal):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 90, 0, 0))
    return os.read(terminal, 65536)
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], read)))
"""

STEPS, CHUNK = 2000, 40


class Screen:
    """A command in a terminal: what it showed so far, and a keyboard."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self.shown = ""

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Read until something is shown."""
        assert self._process.stdout is not None
        while (found := re.search(pattern, self.shown)) is None:
            data = self._process.stdout.read1(4096)  # type: ignore[attr-defined]
            assert data, f"ended without {pattern}: {self.shown}"
            self.shown += data.decode(errors="replace")
        return found

    def type(self, keys: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(keys.encode())
        self._process.stdin.flush()

    def end(self) -> int:
        """Read the rest, and return the exit code."""
        assert self._process.stdout is not None
        self.shown += self._process.stdout.read().decode(errors="replace")
        return self._process.wait()


@contextmanager
def screen(words: str, environment: dict[str, str]) -> Iterator[Screen]:
    command = [sys.executable, "-c", TERMINAL, sys.executable, "-m", "dpmcmc.cli"]
    with subprocess.Popen(
        [*command, *words.split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
    ) as process:
        try:
            yield Screen(process)
        finally:
            process.kill()


def test_ctrl_c_keeps_the_draws_and_says_what_was_spent(
    folder: Path, environment: dict[str, str], dpmcmc: Callable[..., Any]
) -> None:
    words = (
        "sample model.py:model --data people.csv --delta 1e-6 --method barker "
        f"--clip 0.001 --scale 0.3 --steps {STEPS} --ledger study.db "
        "--data-set people --analyst ana --out run"
    )
    with screen(words, environment) as terminal:
        terminal.wait_for(r"Spend this\? \[y/N\] ")
        assert "chain  100%" in terminal.shown
        assert entries(folder) == ["register"]
        terminal.type("y\n")
        bar = terminal.wait_for(rf"Sampling: .*\| [1-9]\d\d+/{STEPS} \[[^\r]*\]")
        assert re.search(r"<\d\d:\d\d, .* steps/s\]", bar[0])  # time left, and speed
        terminal.type("\x03")
        assert terminal.end() == 130
    shown = terminal.shown
    assert "Traceback" not in shown
    assert "dpmcmc: interrupted." in shown
    assert re.search(r"Of the budget\s+of people", shown)
    assert "\r\n  dpmcmc sample --resume --out run\r\n" in shown
    assert max(map(len, re.split("[\r\n]+", shown))) <= 100
    chain = RunFolder.open("run").posterior().statement.stages[-1]
    charges = entries(folder).count("charge")
    assert 0 < chain.numbers["made"] <= CHUNK * charges < STEPS
    assert entries(folder)[-1] == "close"
    assert (folder / "run" / "report.html").exists()
    said = dpmcmc("sample --resume --out run")
    assert said.code == 0
    assert entries(folder).count("charge") == STEPS // CHUNK
    lost = CHUNK * charges - chain.numbers["made"]
    (whole,) = RunFolder.open("run").posterior().statement.stages
    assert whole.numbers["made"] == STEPS - lost
    with Ledger.open("study.db") as ledger:
        assert ledger.verify().ok
        assert ledger.overview("people").reserved == 0


def test_no_bar_is_written_to_a_file(dpmcmc: Callable[..., Any]) -> None:
    said = dpmcmc(
        "sample model.py:model --data people.csv --delta 1e-6 --method barker "
        "--clip 0.001 --scale 0.3 --steps 100 --out run --yes"
    )
    assert said.code == 0
    assert said.err == ""
