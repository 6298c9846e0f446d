# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Progress bars of whatever takes long: shown where asked for, with what is done."""

import re
import subprocess
import sys

import pytest
from terminals import Terminal

from dpmcmc.progress import steps_bar


def test_a_bar_says_what_is_counted(terminal: Terminal) -> None:
    with steps_bar(2, "Trying", shown=True, unit="run") as bar:
        bar.say("Trying to find out")
        for name in ("one", "other"):
            bar.say(f"Trying {name}")
            bar(1)
    assert "Trying to find out:   0%" in terminal.shown
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


_NOTEBOOK = """
import io, sys, types, warnings
warnings.simplefilter("error")
ipython = types.ModuleType("IPython")
ipython.get_ipython = lambda: types.SimpleNamespace(config={"IPKernelApp": {}})
display = types.ModuleType("IPython.display")
display.display = lambda one: print("displayed", type(one).__name__)
sys.modules |= {"IPython": ipython, "IPython.display": display}
sys.modules["ipykernel.zmqshell"] = types.ModuleType("zmqshell")
class Widget:
    def __init__(self, *given, **named):
        self.__dict__.update({"value": 0, "bar_style": "", **named})
        self.layout = self.style = types.SimpleNamespace()
        shown.append(self)
    def close(self): pass
shown = []
widgets = types.ModuleType("ipywidgets")
widgets.__version__ = "8.1"
for name in ("HBox", "HTML", "FloatProgress"):
    setattr(widgets, name, type(name, (Widget,), {}))
class Stream(io.StringIO):
    __module__ = "ipykernel.iostream"
sys.stderr = Stream()
sys.modules["ipywidgets"] = widgets if sys.argv[1] == "widgets" else None
from dpmcmc.progress import steps_bar
with steps_bar(2, "Trying", shown=True) as bar:
    bar(2)
print([(one.value, one.max) for one in shown if hasattr(one, "max")])
print("text" if "Trying: 100%" in sys.stderr.getvalue() else "no text")
"""
"""A stand-in for a notebook with widgets, or without."""


@pytest.mark.parametrize("has_widgets", [True, False])
def test_a_notebook_has_widgets_where_they_are(has_widgets: bool) -> None:
    """And bars of text, with no warning, where they are not."""
    ran = subprocess.run(
        [sys.executable, "-c", _NOTEBOOK, "widgets" if has_widgets else "text"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ("displayed" in ran.stdout) == has_widgets
    assert ("[(2, 2)]" in ran.stdout) == has_widgets
    assert ("no text" in ran.stdout) == has_widgets
    assert ran.stderr == ""


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
    with steps_bar(2, "Trying", shown=True) as bar:
        bar.say("Trying hard")
        for number in range(2):
            bar(1)
            moved.append(number)
    assert moved == [0, 1]
    assert gone.left < 0, "something was written after it had gone"
