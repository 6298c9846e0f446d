# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the kernels of examples start with: commands whose failure fails the page."""

import subprocess

from IPython.core.magic import register_cell_magic


@register_cell_magic
def bash(_line: str, cell: str) -> None:
    """Run commands, print what they say in one piece, and raise if one fails."""
    done = subprocess.run(
        ["bash", "-e", "-c", cell],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout, end="", flush=True)
    done.check_returncode()
