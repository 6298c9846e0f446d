# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Seconds and memory of a piece of work, in a process of its own (Linux)."""

import json
import subprocess
import sys
from typing import NamedTuple

_CHILD = """
import json, re, sys, time
def status(field):
    text = open("/proc/self/status").read()
    return 1024 * int(re.search(field + r":\\s+(\\d+) kB", text)[1])
{before}
open("/proc/self/clear_refs", "w").write("5")  # the peak so far is forgotten
before, start = status("VmRSS"), time.perf_counter()
{work}
seconds = time.perf_counter() - start
print(json.dumps([seconds, status("VmHWM") - before]))
"""


class Cost(NamedTuple):
    """Seconds, and how many bytes the peak was above what was held before."""

    seconds: float
    peak: int


def cost_of(before: str, work: str, *arguments: str) -> Cost:
    """Run Python code in a new process, once another piece has run before it.

    ``sys.argv[1:]`` are the arguments.
    """
    code = _CHILD.format(before=before, work=work)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Cost(*json.loads(done.stdout.splitlines()[-1]))
