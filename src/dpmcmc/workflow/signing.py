# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Signed statements: draws, statement and ledger belong together, as a steward says.

A steward signs with an Ed25519 key of their own, in a PEM file as OpenSSL makes it. The
signature covers the bytes of the draws, of the statement and of the report, and the
head of the ledger that was charged. Anyone with the public key can then find an edited,
relabelled or swapped file, by `verify`.
"""

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.serialization import (
    load_pem_private_key,
    load_pem_public_key,
)

from dpmcmc.errors import InputError
from dpmcmc.files import FileError, RunFolder
from dpmcmc.files.problems import not_readable
from dpmcmc.files.writing import write_safely
from dpmcmc.ledger import Ledger
from dpmcmc.ledger.codec import canonical
from dpmcmc.posterior import Posterior, Statement
from dpmcmc.workflow.job import job_of, open_ledger

__all__ = ["SIGNATURE", "Checked", "sign", "verify"]

SIGNATURE = "signature.json"
_DRAWS, _STATEMENT = "posterior.nc", "statement.json"
_FOR_READERS = ("statement.txt", "report.html")
"""They need not be given away; where they are, they are those that were signed."""

_FORMAT = 1


@dataclass(frozen=True)
class Checked:
    """What a verification of a signed result found.

    Attributes
    ----------
    problems
        One sentence each; none if all is as it was signed.
    notes
        What was not checked, and why.
    """

    problems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def __str__(self) -> str:
        head = "Draws, statement and signature belong together."
        if not self.ok:
            head = "NOT as it was signed:"
        return "\n".join([head, *(f"- {one}" for one in (*self.problems, *self.notes))])


def sign(out: str | Path, key: str | Path, *, ledger: str | None = None) -> Path:
    """Sign the result in the folder of a finished run.

    Parameters
    ----------
    out
        The folder of the run.
    key
        A PEM file with an Ed25519 private key, without a password.
    ledger
        Where the ledger is now, if it is not where it was.

    Returns
    -------
    Path
        The signature, in the folder.

    Raises
    ------
    InputError
        If there is no such key; if the draws, the statement and the ledger do not
        belong together; nothing was signed.
    """
    private = _private_key(Path(key))
    folder = RunFolder.open(out)
    statement = folder.posterior().statement
    problems = _problems_of_statement(folder.path, statement)
    with open_ledger(job_of(folder, ledger=ledger)) as (job, opened):
        charged = None
        if opened is not None:
            run = folder.facts.get("run", "")
            problems += _problems_of_run(opened, job.dataset, run, statement)
            head = opened.verify()
            problems += list(head.problems)
            charged = {"dataset": job.dataset, "run": run, "head": head.head}
    if problems:
        raise InputError(f"nothing was signed: {' '.join(problems)}")
    signed = {
        "format": _FORMAT,
        "files": {
            name: _digest(folder.path / name)
            for name in (_DRAWS, _STATEMENT, *_FOR_READERS)
            if (folder.path / name).is_file()
        },
        "label": statement.label,
        "ledger": charged,
        "public_key": _text(private.public_key().public_bytes_raw()),
    }
    signature = _text(private.sign(canonical(signed).encode()))
    text = json.dumps({"signed": signed, "signature": signature}, indent=2)
    write_safely(folder.path / SIGNATURE, f"{text}\n".encode())
    return folder.path / SIGNATURE


def verify(
    out: str | Path,
    *,
    public_key: str | Path | None = None,
    ledger: str | None = None,
) -> Checked:
    """Check that draws, statement and ledger are what a steward signed.

    Parameters
    ----------
    out
        A folder with ``posterior.nc``, ``statement.json`` and ``signature.json``; and,
        if they are given away, ``statement.txt`` and ``report.html``.
    public_key
        A PEM file with the steward's public key, from elsewhere.
    ledger
        The ledger, if it is to be checked, too.
    """
    folder, problems, notes = Path(out), list[str](), list[str]()
    try:
        content = json.loads((folder / SIGNATURE).read_text())
        signed, signature = content["signed"], base64.b64decode(content["signature"])
        own = Ed25519PublicKey.from_public_bytes(base64.b64decode(signed["public_key"]))
        files, charged = dict(signed["files"]), signed["ledger"]
    except (OSError, ValueError, KeyError, TypeError):
        return Checked((f"There is no signature that can be read in {folder}.",), ())
    try:
        own.verify(signature, canonical(signed).encode())
    except (InvalidSignature, ValueError):
        problems.append(f"{SIGNATURE} was edited: its signature is not valid.")
    if public_key is None:
        notes.append("No public key was given: whose signature it is was not checked.")
    elif _public_key(Path(public_key)) != own.public_bytes_raw():
        problems.append("It was signed with another key than the one that was given.")
    problems += _problems_of_files(folder, files)
    try:
        statement = Posterior.load(folder / _DRAWS).statement
    except InputError:
        return Checked((*problems, f"{_DRAWS} cannot be read."), tuple(notes))
    problems += _problems_of_statement(folder, statement)
    if not statement.is_private:
        notes.append("The result is NOT PRIVATE, as its statement says.")
    if charged is None:
        notes.append("No ledger was charged for it.")
    elif ledger is None:
        notes.append("No ledger was given: what was charged was not checked.")
    else:
        problems += _problems_of_ledger(ledger, charged, statement)
    return Checked(tuple(problems), tuple(notes))


def _problems_of_files(folder: Path, files: dict[str, str]) -> list[str]:
    """Whether all files are there, and those that were signed."""
    problems = []
    for name in (_DRAWS, _STATEMENT, *_FOR_READERS):
        path = folder / name
        if path.is_file() and files.get(name) != _digest(path):
            problems.append(f"{name} is not the file that was signed.")
        elif not path.is_file() and name not in _FOR_READERS:
            problems.append(f"{name} is missing.")
    return problems


def _problems_of_statement(folder: Path, statement: Statement) -> list[str]:
    """Whether the statement beside the draws is the one inside."""
    try:
        beside = Statement.from_json((folder / _STATEMENT).read_text())
    except (OSError, ValueError, KeyError, TypeError):
        return [f"{_STATEMENT} cannot be read."]
    if beside != statement:
        return [f"{_STATEMENT} is not the statement of the draws in {_DRAWS}."]
    return []


def _problems_of_ledger(
    place: str, charged: dict[str, Any], statement: Statement
) -> list[str]:
    """Whether the ledger is whole, goes on from the signed head, and has the run."""
    with Ledger.open(place, create=False) as ledger:
        problems = list(ledger.verify(charged["head"]).problems)
        run, dataset = charged["run"], charged["dataset"]
        return problems + _problems_of_run(ledger, dataset, run, statement)


def _problems_of_run(
    ledger: Ledger, dataset: str, run: str, statement: Statement
) -> list[str]:
    """Whether the ledger knows the run by the (ε, δ) of the statement."""
    if dataset not in ledger.datasets():
        return [f"The ledger has no data set {dataset!r}."]
    view = ledger.overview(dataset)
    found = [one for one in view.runs if one.run == run]
    if not found:
        return [f"The ledger has no run {run!r} on {dataset!r}."]
    problems = []
    claims = found[0].claims
    if claims is None or tuple(claims) != (statement.epsilon, statement.delta):
        problems.append("The ledger has another ε or δ for the run.")
    if view.unit != (statement.unit or ""):
        problems.append("The ledger has another unit than the statement.")
    return problems


def _private_key(path: Path) -> Ed25519PrivateKey:
    found = _key(path, lambda data: load_pem_private_key(data, None))
    if not isinstance(found, Ed25519PrivateKey):
        raise _no_key(path)
    return found


def _public_key(path: Path) -> bytes:
    found = _key(path, load_pem_public_key)
    if not isinstance(found, Ed25519PublicKey):
        raise _no_key(path)
    return found.public_bytes_raw()


def _key(path: Path, load: Any) -> Any:
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise not_readable(path, error) from None
    except Exception:  # what is no key, or has a password, says so in several ways
        raise _no_key(path) from None


def _no_key(path: Path) -> FileError:
    return FileError(
        f"{path} is no Ed25519 key in a PEM file without a password. Make a key by "
        "openssl genpkey -algorithm ed25519 -out steward.pem, and its public part by "
        "openssl pkey -in steward.pem -pubout -out steward.pub."
    )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
