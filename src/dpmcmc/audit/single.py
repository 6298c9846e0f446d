# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One attack in a process of its own: for a copy of the package with a bug in it."""

import argparse
import json
from collections.abc import Sequence

from dpmcmc.audit.attack import Size, attempt
from dpmcmc.audit.catalogue import GROUPS

__all__ = ["main"]

_OF = 100
"""An attack counts as one of so many, as in a whole audit with room to spare."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Make one attack, and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help='as in "group: name"')
    parser.add_argument("--runs", type=int, default=0)
    chosen = parser.parse_args(arguments)
    group, name = chosen.name.split(": ", 1)
    (trial,) = (one for one in GROUPS[group]() if one.name == name)
    runs = chosen.runs or trial.runs[Size.QUICK]
    print(json.dumps(attempt(trial, runs, _OF).to_dict()))


if __name__ == "__main__":
    main()
