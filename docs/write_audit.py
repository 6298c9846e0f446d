# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Run the audit and plant every bug, and write the tables of the page on it.

``python docs/write_audit.py attacks --quick`` takes minutes, without ``--quick`` an
hour; ``python docs/write_audit.py bugs`` some minutes.
"""

import argparse
from pathlib import Path

from dpmcmc.audit import Audit, Size, audit, plot_audit
from dpmcmc.audit.planted import bugs, caught, table

DOCS = Path(__file__).parent
PAGE = DOCS / "audit.md"


def main() -> None:
    """Write the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("attacks", "bugs"))
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    if chosen.part == "bugs":
        write("bugs", table([caught(bug) for bug in bugs()]))
        return
    found = audit(Size.QUICK if chosen.quick else Size.WHOLE)
    plot_audit(found, DOCS / "_static" / "audit.png")
    write("attacks", attacks_of(found))


def attacks_of(found: Audit) -> str:
    """All findings as tables."""
    lines = [
        f"From a {found.size} audit.",
        "",
        "| attack | δ | certified ε | ε at least | of it | runs | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one.name} | {one.delta:g} | {one.certified:.4g} | {one.bound:.4g} | "
        f"{one.tightness or 0:.0%} | {one.runs:,} | {one.seconds:.0f} |"
        for one in found.findings
        if one.certified is not None
    ]
    lines += ["", "| check of the randomness | p-value |", "| --- | --- |"]
    lines += [
        f"| {one.name} | {one.p_value:.2g} |"
        for one in found.findings
        if one.p_value is not None
    ]
    lines += [
        "",
        "| one record is another: measured | time | p-value | bytes |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one.name} | {one.hostile / one.usual - 1:+.1%} | {one.p_value:.2g} | "
        f"{one.memory:+,} |"
        for one in found.timings
    ]
    return "\n".join(lines)


def write(name: str, text: str) -> None:
    """Put a text between its two marks on the page."""
    page = PAGE.read_text("utf-8")
    first, last = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
    before, _, rest = page.partition(first)
    _, _, after = rest.partition(last)
    PAGE.write_text(f"{before}{first}\n{text}\n{last}{after}", "utf-8")


if __name__ == "__main__":
    main()
