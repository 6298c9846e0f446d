# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Importing the package is cheap and changes nothing; its names are all there."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import dpmcmc

ROOMS = {
    "clipping": "PlainClipping",
    "models": "normal",
    "preparation": "Clamp",
    "proposals": "RandomWalk",
}
"""Rooms with many names, and one of them."""

HEAVY = ("jax", "jaxlib", "arviz", "xarray", "pandas", "scipy", "matplotlib", "numpy")


def run_python(code: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = run_python("import sys, dpmcmc; print(*sorted(sys.modules))").split()
    assert "dpmcmc" in loaded
    assert not set(HEAVY) & set(loaded)


def test_the_check_above_sees_what_is_loaded() -> None:
    loaded = run_python(
        "import sys, dpmcmc; dpmcmc.sample; print(*sorted(sys.modules))"
    ).split()
    assert "jax" in loaded


def test_using_the_package_changes_no_setting_of_jax() -> None:
    code = """
import jax
before = dict(jax.config.values)
import dpmcmc
for name in dpmcmc.__all__:
    getattr(dpmcmc, name)
changed = {k: v for k, v in jax.config.values.items() if before.get(k) != v}
print(changed, jax.config.jax_enable_x64)
"""
    assert run_python(code) == "{} False"


@pytest.mark.parametrize("name", sorted({*dpmcmc.__all__} - {"__version__"}))
def test_each_public_name_is_there(name: str) -> None:
    assert getattr(dpmcmc, name).__name__ == name


def test_the_version_is_that_of_the_installed_package() -> None:
    assert dpmcmc.__version__ == version("dpmcmc")


def test_public_names_are_listed_once_and_in_order() -> None:
    assert dir(dpmcmc) == sorted({*dpmcmc.__all__, *ROOMS})
    assert dpmcmc.__all__ == sorted(set(dpmcmc.__all__))


@pytest.mark.parametrize(("room", "name"), ROOMS.items())
def test_rooms_are_there_when_first_asked_for(room: str, name: str) -> None:
    code = f"import dpmcmc; print(dpmcmc.{room}.{name}.__name__)"
    assert run_python(code) == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'dpmcmc' has no attribute 'sampel'"):
        dpmcmc.sampel  # noqa: B018


def test_a_star_import_gives_the_public_names() -> None:
    code = "from dpmcmc import *; print(sample.__name__, Model.__name__)"
    assert run_python(code) == "sample Model"
