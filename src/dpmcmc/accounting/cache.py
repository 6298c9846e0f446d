# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Profiles kept on disk, so that the same one is not computed twice.

A file holds the parameters, the profile and a digest of both. It is used only if all
of them agree with what is asked for; anything else is computed afresh. The digest
finds damage, not malice: the folder must be one that only its user can write.
"""

import functools
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import scipy

from dpmcmc.accounting.profiles import Profile

__all__ = ["cache_folder", "cached_profile"]

_MAKERS = (
    "../arithmetic.py",
    "bit_profile.py",
    "gaussian_barker.py",
    "minibatch.py",
    "mixture.py",
    "noise.py",
    "profiles.py",
)
"""The files whose code makes profiles; a change of any of them makes new ones."""


def cache_folder() -> Path:
    """Return where profiles are kept.

    ``DPMCMC_CACHE`` names the folder. Without it, it is ``dpmcmc`` inside
    ``XDG_CACHE_HOME`` or the platform's own folder for caches.
    """
    if named := os.environ.get("DPMCMC_CACHE"):
        return Path(named)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "dpmcmc"
    places = {"darwin": "Library/Caches", "win32": "AppData/Local"}
    return Path.home() / places.get(sys.platform, ".cache") / "dpmcmc"


def cached_profile(
    parameters: Mapping[str, object], compute: Callable[[], Profile]
) -> Profile:
    """Return the profile for these parameters, from disk or computed and kept.

    Parameters
    ----------
    parameters
        Everything the profile depends on, as JSON values.
    compute
        Called if no intact file holds exactly these parameters.

    Guarantee
    ---------
    The numbers are bit for bit those that ``compute`` returned for equal parameters
    under the same code. A folder that cannot be written costs time and nothing else.
    """
    key = json.dumps({"code": _code(), **parameters}, sort_keys=True)
    path = cache_folder() / f"profile-{_digest(key)}.json"
    profile = _read(path, key)
    if profile is None:
        profile = compute()
        _write(path, key, profile)
    return profile


def _read(path: Path, key: str) -> Profile | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        body = content["body"]
        intact = content["digest"] == _digest(json.dumps(body)) and body["key"] == key
        epsilons = np.array(body["epsilons"], dtype=np.float64)
        deltas = np.array(body["deltas"], dtype=np.float64)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Profile(epsilons, deltas) if intact else None


def _write(path: Path, key: str, profile: Profile) -> None:
    body = {
        "key": key,
        "epsilons": profile.epsilons.tolist(),
        "deltas": profile.deltas.tolist(),
    }
    content = json.dumps({"digest": _digest(json.dumps(body)), "body": body})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and moved into place, so that a reader never sees a part.
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, delete=False
        ) as file:
            file.write(content)
        os.replace(file.name, path)
    except OSError:
        return


@functools.cache
def _code() -> str:
    here = Path(__file__).parent
    texts = [(here / name).read_text(encoding="utf-8") for name in _MAKERS]
    return _digest("".join([*texts, np.__version__, scipy.__version__]))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
