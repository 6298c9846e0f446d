# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Progress bars of whatever takes long: shown where asked for, with what is done."""

import re
import sys

import pytest
from terminals import Terminal

from dpmcmc.progress import steps_bar


def test_a_bar_says_what_is_counted(terminal: Terminal) -> None:
    with steps_bar(None, "Trying", shown=True, unit="run") as bar:
        bar.say("Trying to find out")
        bar.expect(2)
        for name in ("one", "other"):
            bar.say(f"Trying {name}")
            bar(1)
    assert "Trying to find out: 0run" in terminal.shown
    assert "Trying other:  50%" in terminal.shown
    last = re.split(r"[\r\n]+", terminal.shown.strip())[-1]
    assert last.startswith("Trying: 100%")
    assert "2/2" in last
    assert last.rstrip().endswith(("run/s]", "s/run]"))


def test_a_bar_that_is_not_asked_for_is_not_shown(terminal: Terminal) -> None:
    with steps_bar(2, "Trying", shown=False) as bar:
        bar.say("Trying one")
        bar(2)
    assert terminal.shown == ""


@pytest.mark.parametrize("broken_at", range(6))
def test_a_terminal_that_goes_away_ends_no_run(
    monkeypatch: pytest.MonkeyPatch, broken_at: int
) -> None:
    """What it is shown for may be paid for already."""

    class Gone(Terminal):
        left = broken_at

        def write(self, text: str) -> int:
            self.left -= 1
            if self.left < 0:
                raise BrokenPipeError
            return len(text)

    gone = Gone()
    monkeypatch.setattr(sys, "stderr", gone)
    moved = []
    with steps_bar(3, "Trying", shown=True) as bar:
        bar.say("Trying hard")
        bar.expect(2)
        for number in range(2):
            bar(1)
            moved.append(number)
    assert moved == [0, 1]
    assert gone.left < 0, "something was written after it had gone"
