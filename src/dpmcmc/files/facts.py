# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""run.json: the facts of a run, with the version of the layout and a checksum."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpmcmc.errors import InputError
from dpmcmc.files.problems import FileError, not_readable

__all__ = ["FORMAT", "plain_json", "read_facts", "text_of_facts"]

FORMAT = 1
"""The version of the layout that is written here, and the newest that is read.

``format`` and ``sha256`` stay in every version, so that an older dpmcmc can tell a
newer file from a damaged one.
"""


def text_of_facts(run: str, facts: Mapping[str, Any]) -> str:
    """The text of run.json, from the id of the run and its facts."""
    content = {"format": FORMAT, "run": run, "facts": facts}
    return json.dumps({**content, "sha256": _digest(content)}, indent=2) + "\n"


def read_facts(folder: Path) -> tuple[str, dict[str, Any]]:
    """Read run.json: the id of the run, and its facts.

    Raises
    ------
    FileError
        If it is missing, damaged, or of a newer version.
    """
    file = folder / "run.json"
    if not file.is_file():
        raise FileError(
            f"there is no {file}: the folder does not hold a run, or its facts are "
            "lost. Give the folder of a run, or restore a copy of the file."
        )
    try:
        content = json.loads(file.read_bytes())
        is_whole = content.pop("sha256") == _digest(content)
        version = content["format"]
    except OSError as error:
        raise not_readable(file, error) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise FileError(
            f"{file} is damaged, or was edited by hand. Restore a whole copy of it."
        )
    if version > FORMAT:
        raise FileError(
            f"{file} has format {version}, and this dpmcmc reads up to {FORMAT}: a "
            "newer version wrote it. Install that version."
        )
    return content["run"], content["facts"]


def plain_json(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts as JSON gives them back.

    Raises
    ------
    InputError
        If they are not JSON.
    """
    try:
        return json.loads(json.dumps(dict(facts), allow_nan=False))
    except (TypeError, ValueError):
        raise InputError(
            f"facts are {facts!r}; they must be a mapping of plain JSON: text, finite "
            "numbers, booleans, None, lists and mappings."
        ) from None


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
