# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Help that teaches, and shells that complete."""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from dpmcmc.cli.common import Code

COMMANDS = [
    "demo",
    "plan",
    "rehearse",
    "sample",
    "report",
    "draws",
    "predict",
    "synthesize",
    "ledger",
    "completion",
]
ACTIONS = ["register", "show", "fits", "verify", "release"]


@pytest.mark.parametrize(
    "words", [*COMMANDS, *(f"ledger {action}" for action in ACTIONS)]
)
def test_help_teaches(dpmcmc: Callable[..., Any], words: str) -> None:
    said = dpmcmc(f"{words} --help")
    assert said.code == 0
    assert said.err == ""
    _, example, examples = said.out.partition("\nexample")
    assert example
    assert f"dpmcmc {words}" in examples
    assert max(map(len, said.out.splitlines())) <= 90


def test_the_first_help_names_all_commands_and_exit_codes(
    dpmcmc: Callable[..., Any],
) -> None:
    said = dpmcmc("--help")
    assert said.code == 0
    for word in (*COMMANDS, "--version", *(f"  {code:<3}  " for code in Code)):
        assert word in said.out
    assert max(map(len, said.out.splitlines())) <= 90


@pytest.mark.parametrize(
    "words", ["--help", "--version", *(f"{command} --help" for command in COMMANDS)]
)
def test_help_loads_nothing_slow(words: str) -> None:
    """From a cold start, measured in processor time: other programs may be running."""
    code = (
        "import contextlib, sys, time, dpmcmc.cli\n"
        "with contextlib.suppress(SystemExit):\n"
        f"    dpmcmc.cli.main({words.split()})\n"
        "print(time.process_time())\n"
        "print('LOADED', *{'jax', 'matplotlib', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    *_, seconds, loaded = done.stdout.splitlines()
    assert loaded == "LOADED"
    assert float(seconds) < 0.5


def test_the_version(dpmcmc: Callable[..., Any]) -> None:
    said = dpmcmc("--version")
    assert said == (0, f"dpmcmc {version('dpmcmc')}\n", "")


@pytest.mark.parametrize(
    "words",
    ["", "sing", "ledger", "sample", "plan --records x", "sample --method mala"],
)
def test_misuse_is_told_with_the_usage(dpmcmc: Callable[..., Any], words: str) -> None:
    said = dpmcmc(words)
    assert said.code == 2
    assert said.out == ""
    assert said.err.startswith("usage: dpmcmc")


def test_a_warning_is_words_and_no_code(
    dpmcmc: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def warns(*_: object, **__: object) -> str:
        warnings.warn("the budget is small", stacklevel=1)
        return "page.html"

    monkeypatch.setattr("dpmcmc.workflow.report", warns)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        said = dpmcmc("report run")
    assert (said.code, said.err) == (0, "dpmcmc: the budget is small\n")


def test_a_reader_who_has_seen_enough(folder: Path) -> None:
    command = f"{sys.executable} -m dpmcmc.cli ledger show study.db | true"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    )
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_commands_and_options(
    dpmcmc: Callable[..., Any], shell: str
) -> None:
    said = dpmcmc(f"completion {shell}")
    assert said.code == 0
    for word in (*COMMANDS, *ACTIONS, "resume"):
        assert word in said.out


def test_bash_completes(dpmcmc: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "script").write_text(dpmcmc("completion bash").out)
    code = (
        f"source {tmp_path}/script && complete -p dpmcmc && "
        "COMP_WORDS=(dpmcmc ledger ver) COMP_CWORD=2 && _shtab_dpmcmc && "
        'echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "verify"
