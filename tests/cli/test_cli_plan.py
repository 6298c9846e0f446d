# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The command ``dpmcmc plan``."""

import json
import subprocess
import sys

import pytest

from dpmcmc import cli


@pytest.fixture(autouse=True)
def profile_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DPMCMC_CACHE", str(tmp_path / "profiles"))


def run(*words):
    return cli.main(["plan", *words])


def test_the_table(capsys):
    assert (
        run("--records", "1000", "--clip", "0.01", "--steps", "100", "--delta", "1e-6")
        == 0
    )
    shown = capsys.readouterr()
    assert shown.out.startswith("100 steps of barker on all 1,000 records")
    assert "certified" in shown.out
    assert shown.err == ""


def test_json(capsys):
    words = "--records 10000 --batch 100 --epsilon 0.02 --delta 1e-5 --json"
    assert run(*words.split()) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["method"] == "minibatch-barker"
    assert content["clip"] == 0.001  # √b/N
    assert content["epsilon"] <= 0.02
    assert content["steps"] > 0
    assert content["accountants"][0]["name"] == "paper"


def test_bad_input_is_one_line_and_no_traceback(capsys):
    words = "--records 1000 --batch 2000 --steps 10 --delta 1e-6"
    assert run(*words.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2000" in shown.err
    assert len(shown.err.splitlines()) == 1


@pytest.mark.parametrize("words", [[], ["plan"], ["plan", "--records", "ten"]])
def test_misuse_shows_the_usage(words, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(words)
    assert stop.value.code == 2
    assert "usage: dpmcmc" in capsys.readouterr().err


def test_help_teaches(capsys):
    with pytest.raises(SystemExit) as stop:
        run("--help")
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    for word in ("--records", "--epsilon", "--method", "examples:", "How many steps"):
        assert word in shown


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("--records 1000000 --batch 1000 --steps 20000 --delta 1e-6", 3),
        ("--records 1000000 --clip 0.006 --epsilon 1 --delta 1e-6", 3),
        ("--records 1000000 --clip 0.001 --steps 1000000 --delta 1e-6", 20),
    ],
)
def test_an_answer_comes_soon(words, limit):
    """From a cold start, measured in processor time: other programs may be running."""
    code = (
        "import sys, time; from dpmcmc.cli import main;"
        "main(sys.argv[1:]); print(time.process_time(), 'jax' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "plan", *words.split()],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, jax = done.stdout.split()[-2:]
    assert float(seconds) < limit
    assert jax == "False"
