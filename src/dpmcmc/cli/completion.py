# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc completion``: let the shell complete commands and options."""

import argparse
from collections.abc import Callable

from dpmcmc.cli.common import Code, Commands, add_command
from dpmcmc.errors import InputError

__all__ = ["add"]

_EXAMPLES = """\
examples:
  dpmcmc completion bash > ~/.local/share/bash-completion/completions/dpmcmc
  dpmcmc completion zsh > ~/.zfunc/_dpmcmc
"""


def add(commands: Commands, parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the command."""
    completion = add_command(
        commands,
        "completion",
        summary="let the shell complete commands and options",
        description="Print a script for the shell. It needs the package shtab.",
        examples=_EXAMPLES,
    )
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    completion.set_defaults(run=lambda chosen: _completion(chosen.shell, parser()))


def _completion(shell: str, parser: argparse.ArgumentParser) -> int:
    try:
        import shtab  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise InputError(
            "completion needs shtab, which is not installed. Install it with: pip "
            "install 'dpmcmc[completion]'."
        ) from None
    print(shtab.complete(parser, shell=shell))
    return Code.DONE
