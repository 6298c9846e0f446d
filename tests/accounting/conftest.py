# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Profiles that tests compute are kept in a folder of their own."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def profile_folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("profiles")
        patch.setenv("DPMCMC_CACHE", str(folder))
        yield folder
