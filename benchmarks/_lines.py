# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs kept as lines of JSON, and medians over them.

A line is one run. So a table can be made of runs in many processes, each of which adds
its lines to one file or to files of its own.
"""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np


def keep(line: dict[str, Any], path: Path) -> None:
    """Add one run to a file of lines; they are short enough to be written at once."""
    text = json.dumps(line) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def lines(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """All runs of all files; a folder stands for the files of lines in it."""
    files = [
        file
        for path in paths
        for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])
    ]
    return [json.loads(text) for file in files for text in file.open() if text.strip()]


def grouped(
    runs: list[dict[str, Any]], order: Callable[[dict[str, Any]], Any]
) -> list[list[dict[str, Any]]]:
    """Runs of the same row of a table together, rows in order."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for run in sorted(runs, key=order):
        groups.setdefault(order(run), []).append(run)
    return list(groups.values())


def middle(runs: list[dict[str, Any]], name: str) -> float:
    """The median of a number over runs."""
    return float(np.median([run[name] for run in runs]))


def span(runs: list[dict[str, Any]], name: str) -> str:
    """The smallest and largest median over runs, of the coordinates."""
    ratios = np.median([run[name] for run in runs], axis=0)
    return f"{ratios.min():.2f}–{ratios.max():.2f}"
