# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A posterior as ArviZ data and as a file, with its statement, and damaged files."""

import json
from pathlib import Path

import arviz as az
import numpy as np
import pytest
from posteriors import NOT_PRIVATE, STATEMENT, posterior_of
from shaped import shaped

from dpmcmc import InputError, Posterior, Statement

# ArviZ.


def test_arviz_holds_draws_bits_and_warm_up() -> None:
    posterior = shaped()
    data = posterior.to_arviz()
    assert set(data.groups()) == {
        "posterior",
        "sample_stats",
        "warmup_posterior",
        "warmup_sample_stats",
    }
    for name, values in posterior.draws.items():
        assert data.posterior[name].dims[:2] == ("chain", "draw")
        np.testing.assert_array_equal(data.posterior[name], values)
        np.testing.assert_array_equal(
            data.warmup_posterior[name], posterior.warmup_draws[name]
        )
    np.testing.assert_array_equal(data.sample_stats["accepted"], posterior.accepted)
    np.testing.assert_array_equal(
        data.warmup_sample_stats["accepted"], posterior.warmup_accepted
    )


def test_every_group_carries_the_statement() -> None:
    data = shaped().to_arviz()
    for attributes in [data.attrs, *(data[group].attrs for group in data.groups())]:
        assert attributes["privacy"] == STATEMENT.label
        assert attributes["privacy_statement"] == "\n".join(STATEMENT.lines)
        assert Statement.from_json(attributes["dpmcmc_statement"]) == STATEMENT
        assert json.loads(attributes["dpmcmc_settings"])["jax"] == "1"


def test_not_private_is_an_attribute_of_every_group() -> None:
    data = shaped(statement=NOT_PRIVATE, noise_aware=True).to_arviz()
    for group in data.groups():
        assert data[group].attrs["privacy"] == "NOT PRIVATE"


def test_the_chain_s_own_draws_are_a_group_where_they_differ() -> None:
    posterior = shaped(noise_aware=True)
    data = posterior.to_arviz()
    for name, values in posterior.draws.items():
        np.testing.assert_array_equal(data.posterior[name], values)
        np.testing.assert_array_equal(data["chain"][name], posterior.chain_draws[name])
    assert data["chain"].attrs["privacy"] == STATEMENT.label
    assert "chain" not in shaped().to_arviz().groups()


def test_names_of_places_are_arviz_s() -> None:
    named = posterior_of(
        {"effect": np.zeros((1, 5, 2, 3))},
        coords={"drug": ["A", "B"]},
        dims={"effect": ["drug", None]},
    )
    effect = named.to_arviz().posterior["effect"]
    assert effect.dims == ("chain", "draw", "drug", "effect_dim_1")
    assert effect.coords["drug"].to_numpy().tolist() == ["A", "B"]


def test_without_warm_up_there_are_no_warm_up_groups() -> None:
    data = shaped(warmup=0).to_arviz()
    assert set(data.groups()) == {"posterior", "sample_stats"}


def test_a_user_s_setting_of_arviz_loses_no_warm_up() -> None:
    with az.rc_context({"data.save_warmup": False}):
        assert "warmup_posterior" in shaped().to_arviz().groups()


# Files.


def assert_same(one: Posterior, other: Posterior) -> None:
    assert one.statement == other.statement
    assert dict(one.settings) == dict(other.settings)
    assert one.is_noise_aware == other.is_noise_aware
    assert (one.coords, one.dims) == (other.coords, other.dims)
    for mine, theirs in [
        (one.draws, other.draws),
        (one.chain_draws, other.chain_draws),
        (one.warmup_draws, other.warmup_draws),
        ({"": one.accepted}, {"": other.accepted}),
        ({"": one.warmup_accepted}, {"": other.warmup_accepted}),
    ]:
        assert list(mine) == list(theirs)
        for name, values in mine.items():
            assert values.dtype == theirs[name].dtype
            np.testing.assert_array_equal(values, theirs[name], strict=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("statement", [STATEMENT, NOT_PRIVATE])
@pytest.mark.parametrize(("warmup", "noise_aware"), [(0, True), (1, False), (20, True)])
def test_a_file_gives_back_what_was_saved(
    tmp_path: Path, dtype: str, statement: Statement, warmup: int, noise_aware: bool
) -> None:
    posterior = shaped(
        dtype=dtype, statement=statement, warmup=warmup, noise_aware=noise_aware
    )
    posterior.save(tmp_path / "run.nc")
    again = Posterior.load(tmp_path / "run.nc")
    assert_same(again, posterior)
    assert str(again) == str(posterior)


def test_names_of_places_are_saved(tmp_path: Path) -> None:
    draws = {"effect": np.zeros((1, 5, 2)), "a": np.zeros((1, 5))}
    named = posterior_of(draws, coords={"drug": ["A", "B"]}, dims={"effect": ["drug"]})
    named.save(tmp_path / "run.nc")
    again = Posterior.load(tmp_path / "run.nc")
    assert_same(again, named)
    assert again.titles == ["effect[A]", "effect[B]", "a"]


def test_paths_may_be_text_and_files_may_be_written_again(tmp_path: Path) -> None:
    path = str(tmp_path / "run.nc")
    first, second = shaped(chains=1), shaped(chains=2)
    first.save(path)
    loaded = Posterior.load(path)
    second.save(path)
    assert_same(Posterior.load(path), second)
    assert_same(loaded, first)


def test_arviz_reads_the_file_by_itself(tmp_path: Path) -> None:
    shaped().save(tmp_path / "run.nc")
    data = az.from_netcdf(str(tmp_path / "run.nc"))
    assert data.posterior.sizes["draw"] == 100
    assert data.posterior.attrs["privacy"] == STATEMENT.label
    assert data.warmup_posterior.attrs["privacy"] == STATEMENT.label


def damaged(path: Path, kind: str) -> None:
    """Write a file that is not a posterior of ours."""
    posterior = shaped(draws=10, warmup=2)
    posterior.save(path)
    whole = path.read_bytes()
    if kind.startswith("cut"):
        path.write_bytes(whole[: int(len(whole) * float(kind.split()[1]))])
    elif kind == "random":
        path.write_bytes(np.random.default_rng(0).bytes(5000))
    else:
        data = posterior.to_arviz()
        if kind == "no group":
            del data.sample_stats
        else:
            data.attrs["dpmcmc_statement"] = kind
        data.to_netcdf(str(path), engine="h5netcdf")


@pytest.mark.parametrize(
    "kind",
    ["cut 0", "cut 0.1", "cut 0.5", "cut 0.999", "random", "no group", "", "{}", "3"],
)
def test_a_damaged_file_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "run.nc"
    damaged(path, kind)
    with pytest.raises(InputError, match="not a posterior that dpmcmc") as error:
        Posterior.load(path)
    assert str(path) in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_a_file_of_arviz_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.nc"
    az.from_dict(posterior={"mean": np.zeros((2, 10))}).to_netcdf(str(path))
    with pytest.raises(InputError, match=r"other\.nc is not a posterior"):
        Posterior.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*nowhere\.nc"):
        Posterior.load(tmp_path / "nowhere.nc")


def test_a_file_does_not_hold_the_time_of_day(tmp_path: Path) -> None:
    """Its bytes follow from the posterior: when a run ended is not told."""
    for name in ("first.nc", "second.nc"):
        shaped().save(tmp_path / name)
    first, second = (
        (tmp_path / name).read_bytes() for name in ("first.nc", "second.nc")
    )
    assert first == second


def test_saving_into_a_missing_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        shaped().save(tmp_path / "missing" / "run.nc")


def test_a_full_disk_is_said() -> None:
    with pytest.raises(InputError, match="/dev/full cannot be written"):
        shaped().save("/dev/full")
