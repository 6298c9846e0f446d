# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Run the audit and plant every bug, and write the tables of the page on it.

``python docs/write_audit.py attacks --quick`` takes minutes, without ``--quick`` a
quarter of an hour; ``python docs/write_audit.py bugs`` some minutes. ``python
docs/write_audit.py again --times 20`` repeats the quick audit, and says how often it
raised an alarm.
"""

import argparse
import math
from pathlib import Path

from dpmcmc.audit import Audit, Size, audit, plot_audit
from dpmcmc.audit.attack import FALSE_ALARMS
from dpmcmc.audit.planted import bugs, caught, table

DOCS = Path(__file__).parent
PAGE = DOCS / "audit.md"


def main() -> None:
    """Write the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("attacks", "bugs", "again"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--times", type=int, default=20)
    chosen = parser.parse_args()
    if chosen.part == "bugs":
        write("bugs", table([caught(bug) for bug in bugs()]))
        return
    if chosen.part == "again":
        write("again", again(chosen.times))
        return
    found = audit(Size.QUICK if chosen.quick else Size.WHOLE)
    plot_audit(found, DOCS / "_static" / "audit.png")
    write("attacks", attacks_of(found))


def again(times: int) -> str:
    """How often a number of quick audits raised an alarm."""
    tried, alarms = 0, []
    for _ in range(times):
        findings = audit(Size.QUICK).findings
        tried += len(findings)
        alarms += [one.name for one in findings if not one.passed]
        print(f"{tried} attacks and checks, {len(alarms)} alarms: {alarms}", flush=True)
    most = -math.expm1(times * math.log1p(-FALSE_ALARMS))
    names = f" ({', '.join(alarms)})" if alarms else ""
    return (
        f"{times} quick audits, one after another: {len(alarms)} alarms{names} in "
        f"{tried} attacks and checks. Programs without fault raise any in at most "
        f"{most:.1%} of such series."
    )


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
    first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, between, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not between or not end:
        raise SystemExit(f"{PAGE} has lost its marks of {name}: put them back.")
    PAGE.write_text(f"{before}{first}\n{text}\n\n{last}{after}", "utf-8")


if __name__ == "__main__":
    main()
