# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc sign`` and ``dpmcmc verify``: a result that a steward stands for."""

import argparse

from dpmcmc.cli.common import Code, Commands, add_command, show_json

__all__ = ["add"]

_SIGN = """\
examples:
  openssl genpkey -algorithm ed25519 -out steward.pem
  openssl pkey -in steward.pem -pubout -out steward.pub
  dpmcmc sign run --key steward.pem
"""
_VERIFY = """\
examples:
  dpmcmc verify run --public-key steward.pub
  dpmcmc verify run --public-key steward.pub --ledger study.db
"""


def add(commands: Commands) -> None:
    """Add both commands."""
    sign = add_command(
        commands,
        "sign",
        summary="sign the result of a run with a steward's key",
        description="Write signature.json into the folder of a run. It says, with an "
        "Ed25519 key, that its draws, its statement and the head of its ledger belong "
        "together.",
        examples=_SIGN,
    )
    sign.add_argument("--key", required=True, metavar="FILE", help="a private key, PEM")
    sign.set_defaults(run=_sign)
    verify = add_command(
        commands,
        "verify",
        summary="check that a result is what was signed",
        description="Check the signature of a result: whether its draws and its "
        "statement are those that were signed and belong together; and with a ledger, "
        "whether that is whole and was charged for them. The exit code is 1 if "
        "something is wrong.",
        examples=_VERIFY,
    )
    verify.add_argument("--public-key", metavar="FILE", help="the steward's, PEM")
    verify.add_argument("--json", action="store_true", help="print it as JSON")
    verify.set_defaults(run=_verify)
    for command in (sign, verify):
        command.add_argument("folder", metavar="DIR", help="the folder of the run")
        command.add_argument("--ledger", metavar="FILE|URL", help="where the ledger is")


def _sign(chosen: argparse.Namespace) -> int:
    from dpmcmc.workflow.signing import sign  # noqa: PLC0415 - slow to import

    print(f"Signed: {sign(chosen.folder, chosen.key, ledger=chosen.ledger)}")
    return Code.DONE


def _verify(chosen: argparse.Namespace) -> int:
    from dpmcmc.workflow.signing import verify  # noqa: PLC0415 - slow to import

    found = verify(chosen.folder, public_key=chosen.public_key, ledger=chosen.ledger)
    if chosen.json:
        show_json({"ok": found.ok, "problems": found.problems, "notes": found.notes})
    else:
        print(found)
    return Code.DONE if found.ok else Code.FAILED
