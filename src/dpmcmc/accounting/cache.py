# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Profiles kept on disk, so that the same one is not computed twice.

A file holds the parameters and the profile, with checksums. It is used only if they
agree with what is asked for; anything else is computed afresh. Checksums find damage,
not malice: so folder and file are used only if they belong to the user and nobody else
may write them. Where the platform cannot tell, nothing is kept.
"""

import functools
import hashlib
import json
import os
import stat
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import scipy

from dpmcmc.accounting.profiles import Profile

__all__ = ["cache_folder", "cached_profile", "is_ours"]

_MAKERS = (
    "../arithmetic.py",
    "bit_profile.py",
    "gaussian_barker_bit.py",
    "minibatch_bit.py",
    "noise_mixture.py",
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
    under the same code, unless the user's own account, or root, wrote others. A folder
    that cannot be used costs time and nothing else.
    """
    key = json.dumps({"code": _code(), **parameters}, sort_keys=True)
    path = cache_folder() / f"profile-{_digest(key)}.npz"
    profile = _read(path, key)
    if profile is None:
        profile = compute()
        _write(path, key, profile)
    return profile


def _read(path: Path, key: str) -> Profile | None:
    try:
        with path.open("rb") as file:
            if is_ours(path.parent.stat()) and is_ours(os.fstat(file.fileno())):
                with np.load(file, allow_pickle=False) as content:
                    if str(content["key"]) == key:
                        return Profile(content["epsilons"], content["deltas"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        pass
    return None


def _write(path: Path, key: str, profile: Profile) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_ours(path.parent.stat()):
            return
        # Written beside and moved into place, so that a reader never sees a part; for
        # its owner alone, as temporary files are.
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            np.savez(file, key=key, epsilons=profile.epsilons, deltas=profile.deltas)
        os.replace(file.name, path)
    except OSError:
        return


def is_ours(status: os.stat_result) -> bool:
    """Say whether this user owns it and nobody else may write it."""
    if not hasattr(os, "getuid"):
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    return status.st_uid == os.getuid() and not status.st_mode & others


@functools.cache
def _code() -> str:
    here = Path(__file__).parent
    texts = [(here / name).read_text(encoding="utf-8") for name in _MAKERS]
    return _digest("".join([*texts, np.__version__, scipy.__version__]))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
