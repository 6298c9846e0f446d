# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Signed results: what was edited, laundered or swapped is found, and said."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from small_jobs import make_study, run_in

from dpmcmc import InputError, Posterior
from dpmcmc.cli import main
from dpmcmc.ledger import Ledger
from dpmcmc.posterior.netcdf import to_netcdf
from dpmcmc.workflow import sign, verify


def write_key(folder: Path, name: str, kind: type = Ed25519PrivateKey) -> None:
    key = kind.generate()
    pem = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / f"{name}.pem").write_bytes(key.private_bytes(*pem))
    public = key.public_key().public_bytes(
        Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
    )
    (folder / f"{name}.pub").write_bytes(public)


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a signed run, another run, and two keys."""
    folder = tmp_path_factory.mktemp("signed")
    make_study(folder)
    run_in(folder, steps=30)
    shutil.move(folder / "run", folder / "other")
    run_in(folder)
    write_key(folder, "steward")
    write_key(folder, "forger")
    for name in ("run", "other"):
        sign(folder / name, folder / "steward.pem")
    return folder


@pytest.fixture
def study(signed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(signed, tmp_path / "copy"))


def check(study: Path) -> tuple[str, ...]:
    ledger, key = study / "study.db", study / "steward.pub"
    return verify(study / "run", public_key=key, ledger=str(ledger)).problems


def test_what_was_signed_is_verified(study: Path) -> None:
    found = verify(
        study / "run",
        public_key=study / "steward.pub",
        ledger=str(study / "study.db"),
    )
    assert found.ok
    assert not found.notes
    assert len(verify(study / "run").notes) == 2  # neither key nor ledger


def _relabelled(study: Path) -> None:
    """A result that says of itself that it is more private than it is."""
    posterior = Posterior.load(study / "run/posterior.nc")
    statement = replace(posterior.statement, epsilon=posterior.statement.epsilon / 10)
    (study / "run/posterior.nc").write_bytes(
        to_netcdf(replace(posterior, statement=statement))
    )
    (study / "run/statement.json").write_text(statement.to_json() + "\n")


def _laundered(study: Path) -> None:
    """Draws without privacy, under the statement of a private run."""
    posterior = Posterior.load(study / "run/posterior.nc")
    draws = {name: 0 * values for name, values in posterior.draws.items()}
    (study / "run/posterior.nc").write_bytes(to_netcdf(replace(posterior, draws=draws)))


def _swapped(name: str) -> Callable[[Path], None]:
    return lambda study: shutil.copy(study / "other" / name, study / "run" / name)


def _edited(change: Callable[[dict], None]) -> Callable[[Path], None]:
    def edit(study: Path) -> None:
        content = json.loads((study / "run/signature.json").read_text())
        change(content)
        (study / "run/signature.json").write_text(json.dumps(content))

    return edit


def _forged(study: Path) -> None:
    sign(study / "run", study / "forger.pem")


def _cut_ledger(study: Path) -> None:
    """A ledger of the same data set that never heard of the run."""
    (study / "study.db").unlink()
    with Ledger.open(study / "study.db") as ledger:
        ledger.register("people", records=200, epsilon=3.0, delta=1e-5)


@pytest.mark.parametrize(
    "damage",
    [
        _relabelled,
        _laundered,
        _swapped("posterior.nc"),
        _swapped("statement.json"),
        _swapped("signature.json"),
        _edited(lambda content: content["signed"].update(label="better")),
        _edited(lambda content: content["signed"]["ledger"].update(run="00000000")),
        _edited(lambda content: content.update(signature="AAAA")),
        _edited(lambda content: content.pop("signature")),
        lambda study: (study / "run/signature.json").unlink(),
        lambda study: (study / "run/posterior.nc").unlink(),
        lambda study: (study / "run/statement.json").write_text("{}"),
        lambda study: (study / "run/statement.txt").write_text("ε = 0.1"),
        lambda study: (study / "run/report.html").write_text("<p>ε = 0.1</p>"),
        lambda study: (study / "run/signature.json").write_text("no JSON"),
        _forged,
        _cut_ledger,
    ],
)
def test_what_was_changed_is_refused(
    study: Path, damage: Callable[[Path], object]
) -> None:
    damage(study)
    assert check(study)


def test_what_is_for_readers_need_not_be_given_away(study: Path) -> None:
    for name in ("statement.txt", "report.html"):
        (study / "run" / name).unlink()
    assert not check(study)


@pytest.mark.parametrize("damage", [_relabelled, _swapped("statement.json")])
def test_what_does_not_belong_together_is_not_signed(
    study: Path, damage: Callable[[Path], object]
) -> None:
    """The ledger knows another ε, or the draws another statement."""
    damage(study)
    with pytest.raises(InputError, match="nothing was signed"):
        sign(study / "run", study / "steward.pem")


def test_another_key_is_found_and_a_bad_one_refused(study: Path) -> None:
    assert verify(study / "run", public_key=study / "forger.pub").problems
    write_key(study, "other-kind", X25519PrivateKey)
    (study / "no-key.pem").write_text("nothing")
    for name in ("other-kind.pem", "no-key.pem", "none.pem", "steward.pub"):
        with pytest.raises(InputError):
            sign(study / "run", study / name)
    for name in ("other-kind.pub", "no-key.pem", "none.pub"):
        with pytest.raises(InputError):
            verify(study / "run", public_key=study / name)


def test_the_commands_sign_and_verify(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, key = str(study / "run"), str(study / "steward")
    ledger = ["--ledger", str(study / "study.db")]
    assert main(["sign", run, "--key", f"{key}.pem", *ledger]) == 0
    assert main(["verify", run, "--public-key", f"{key}.pub", *ledger, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.split("\n", 1)[1])["ok"]
    _swapped("posterior.nc")(study)
    assert main(["verify", run, "--public-key", f"{key}.pub"]) == 1
    assert "NOT as it was signed" in capsys.readouterr().out
