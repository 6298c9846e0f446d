# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The posterior: what it prints, its summary, ArviZ, and files."""

import json
import math
import pickle
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import arviz as az
import numpy as np
import pytest

import dpmcmc
from dpmcmc import Posterior, Statement
from dpmcmc.posterior.summary import remark, summarise, table

STATEMENT = Statement(
    epsilon=0.98765,
    delta=1e-6,
    records=1000,
    chains=3,
    steps=120,
    clip=0.006,
    decided="decided on all records, with each ratio clipped to ±0.006",
    tempered=float(1000),
    accountant="blocks",
    not_private_because=(),
    notes=("a note to be kept",),
    version="0.1.0",
)

NOT_PRIVATE = replace(
    STATEMENT, epsilon=math.inf, delta=1.0, clip=None, not_private_because=("a seed",)
)


def posterior_of(
    chains: int = 3,
    draws: int = 100,
    warmup: int = 20,
    statement: Statement = STATEMENT,
    dtype: str = "float32",
) -> Posterior:
    """A posterior of made-up draws: a scalar, a vector and a matrix."""
    rng = np.random.default_rng(chains * 1000 + draws)

    def made_up(length: int) -> dict[str, np.ndarray]:
        shapes = {"mean": (), "group.scale": (2,), "weights": (2, 3)}
        return {
            name: rng.normal(5.0, 2.0, size=(chains, length, *shape)).astype(dtype)
            for name, shape in shapes.items()
        }

    return Posterior(
        draws=made_up(draws),
        accepted=rng.random((chains, draws)) < 0.4,
        warmup_draws=made_up(warmup),
        warmup_accepted=rng.random((chains, warmup)) < 0.4,
        statement=statement,
        settings=MappingProxyType({"proposal": "RandomWalk(scale=0.1)", "jax": "1"}),
    )


# What is printed.


def test_print_shows_a_table_and_the_statement() -> None:
    posterior = posterior_of()
    shown = str(posterior)
    head, _, columns, *rest = shown.splitlines()
    assert head.startswith("Posterior: 3 × 100 draws, ")
    assert f"{posterior.accepted.mean():.0%} accepted" in head
    assert head.endswith(STATEMENT.label)
    assert columns.split() == ["mean", "sd", "3%", "97%", "ess", "ess", "tail", "r-hat"]
    assert [line.split()[0] for line in rest[:9]] == [
        "mean",
        *(f"group.scale[{i}]" for i in range(2)),
        *(f"weights[{i}," for i in range(2) for _ in range(3)),
    ]
    # The statement is wrapped, so that words are compared.
    assert " ".join(STATEMENT.text.split()) in " ".join(shown.split())


def test_the_table_is_aligned_and_fits_a_terminal() -> None:
    shown = str(posterior_of())
    assert max(map(len, shown.splitlines())) <= 88
    table = shown.splitlines()[2:12]
    assert len({len(line) for line in table}) == 1


def test_repr_is_one_line_with_the_label() -> None:
    shown = repr(posterior_of())
    assert shown == (
        f"<Posterior: 3 × 100 draws of mean, group.scale, weights; {STATEMENT.label}>"
    )


def test_not_private_is_said_wherever_the_result_is_shown(tmp_path: Path) -> None:
    posterior = posterior_of(statement=NOT_PRIVATE)
    assert "NOT PRIVATE" in str(posterior).splitlines()[0]
    assert "NOT PRIVATE: a seed." in str(posterior)
    assert "NOT PRIVATE" in repr(posterior)
    assert posterior.statement.label == "NOT PRIVATE"
    assert posterior.statement.text.startswith("NOT PRIVATE")
    assert json.loads(posterior.statement.to_json())["not_private_because"] == [
        "a seed"
    ]
    data = posterior.to_arviz()
    for group in data.groups():
        assert data[group].attrs["privacy"] == "NOT PRIVATE"
    posterior.save(tmp_path / "run.nc")
    assert not Posterior.load(tmp_path / "run.nc").statement.is_private


# The summary.


def test_summary_agrees_with_numpy() -> None:
    posterior = posterior_of(dtype="float64")
    summary = posterior.summary()
    for name, draws in [
        ("mean", posterior.draws["mean"]),
        ("group.scale[1]", posterior.draws["group.scale"][..., 1]),
        ("weights[1, 2]", posterior.draws["weights"][..., 1, 2]),
    ]:
        row = summary.loc[name]
        np.testing.assert_allclose(row["mean"], draws.mean(), rtol=1e-12)
        np.testing.assert_allclose(row["sd"], draws.std(ddof=1), rtol=1e-12)
        inside = (draws >= row["hdi_3%"]) & (draws <= row["hdi_97%"])
        assert abs(inside.mean() - 0.94) <= 2 / draws.size
        assert 100 < row["ess_bulk"] < 900
        assert 0.95 < row["r_hat"] < 1.05


def test_summary_leaves_out_the_warm_up() -> None:
    posterior = posterior_of()
    far_away = {name: values + 1e3 for name, values in posterior.warmup_draws.items()}
    moved = replace(posterior, warmup_draws=far_away)
    assert moved.summary().equals(posterior.summary())


def test_r_hat_of_many_chains_sees_one_that_is_elsewhere() -> None:
    posterior = posterior_of(chains=4)
    draws = dict(posterior.draws)
    draws["mean"] = draws["mean"] + np.array([0, 0, 0, 20])[:, None]
    r_hat = replace(posterior, draws=draws).summary()["r_hat"]
    assert r_hat["mean"] > 1.5
    assert r_hat.drop("mean").max() < 1.1


def test_r_hat_of_one_chain_compares_its_halves() -> None:
    posterior = posterior_of(chains=1)
    assert posterior.summary()["r_hat"].between(0.9, 1.1).all()
    draws = dict(posterior.draws)
    draws["mean"] = draws["mean"] + np.where(np.arange(100) < 50, 0.0, 20.0)
    r_hat = replace(posterior, draws=draws).summary()["r_hat"]
    assert r_hat["mean"] > 1.5
    assert r_hat.drop("mean").max() < 1.2


@pytest.mark.parametrize("chains", [1, 2, 4])
@pytest.mark.parametrize("draws", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("warmup", [0, 1])
def test_very_short_chains_print_quietly(
    chains: int, draws: int, warmup: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Warnings are errors here; nothing is logged or printed either."""
    posterior = posterior_of(chains=chains, draws=draws, warmup=warmup)
    shown = str(posterior)
    assert f"{chains} × {draws} draws" in shown
    assert "nan" not in shown
    if draws < 4:
        assert posterior.summary()["ess_bulk"].isna().all()
    assert capfd.readouterr() == ("", "")


def test_a_chain_that_never_moved_prints_quietly(
    capfd: pytest.CaptureFixture[str],
) -> None:
    posterior = posterior_of(chains=2, draws=50)
    still = {name: np.zeros_like(values) for name, values in posterior.draws.items()}
    stuck = replace(posterior, draws=still, accepted=np.zeros((2, 50), bool))
    assert "0% accepted" in str(stuck)
    assert capfd.readouterr() == ("", "")


# ArviZ.


def test_arviz_holds_draws_bits_and_warm_up() -> None:
    posterior = posterior_of()
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
    data = posterior_of().to_arviz()
    for attributes in [data.attrs, *(data[group].attrs for group in data.groups())]:
        assert attributes["privacy"] == STATEMENT.label
        assert attributes["privacy_statement"] == STATEMENT.text
        assert Statement.from_json(attributes["dpmcmc_statement"]) == STATEMENT
        assert json.loads(attributes["dpmcmc_settings"])["jax"] == "1"


def test_without_warm_up_there_are_no_warm_up_groups() -> None:
    data = posterior_of(warmup=0).to_arviz()
    assert set(data.groups()) == {"posterior", "sample_stats"}


def test_a_user_s_setting_of_arviz_loses_no_warm_up() -> None:
    with az.rc_context({"data.save_warmup": False}):
        assert "warmup_posterior" in posterior_of().to_arviz().groups()


# Files.


def assert_same(one: Posterior, other: Posterior) -> None:
    assert one.statement == other.statement
    assert dict(one.settings) == dict(other.settings)
    for mine, theirs in [
        (one.draws, other.draws),
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
@pytest.mark.parametrize("warmup", [0, 1, 20])
def test_a_file_gives_back_what_was_saved(
    tmp_path: Path, dtype: str, statement: Statement, warmup: int
) -> None:
    posterior = posterior_of(dtype=dtype, statement=statement, warmup=warmup)
    posterior.save(tmp_path / "run.nc")
    again = Posterior.load(tmp_path / "run.nc")
    assert_same(again, posterior)
    assert str(again) == str(posterior)


def test_paths_may_be_text_and_files_may_be_written_again(tmp_path: Path) -> None:
    path = str(tmp_path / "run.nc")
    first, second = posterior_of(chains=1), posterior_of(chains=2)
    first.save(path)
    loaded = Posterior.load(path)
    second.save(path)
    assert_same(Posterior.load(path), second)
    assert_same(loaded, first)


def test_arviz_reads_the_file_by_itself(tmp_path: Path) -> None:
    posterior_of().save(tmp_path / "run.nc")
    data = az.from_netcdf(str(tmp_path / "run.nc"))
    assert data.posterior.sizes["draw"] == 100
    assert data.posterior.attrs["privacy"] == STATEMENT.label
    assert data.warmup_posterior.attrs["privacy"] == STATEMENT.label


def damaged(path: Path, kind: str) -> None:
    """Write a file that is not a posterior of ours."""
    posterior = posterior_of(draws=10, warmup=2)
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
    with pytest.raises(dpmcmc.InputError, match="not a posterior that dpmcmc") as error:
        Posterior.load(path)
    assert str(path) in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_a_file_of_arviz_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.nc"
    az.from_dict(posterior={"mean": np.zeros((2, 10))}).to_netcdf(str(path))
    with pytest.raises(dpmcmc.InputError, match=r"other\.nc is not a posterior"):
        Posterior.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(dpmcmc.InputError, match=r"there is no file .*nowhere\.nc"):
        Posterior.load(tmp_path / "nowhere.nc")


def test_posteriors_are_compared_by_identity() -> None:
    posterior, other = posterior_of(), posterior_of()
    assert posterior == posterior  # noqa: PLR0124
    assert posterior != other
    assert len({posterior, other}) == 2


def test_a_posterior_can_be_pickled(posterior_for_files: Posterior) -> None:
    again = pickle.loads(pickle.dumps(posterior_for_files))
    assert again.statement == posterior_for_files.statement
    np.testing.assert_array_equal(again.accepted, posterior_for_files.accepted)


def test_saving_into_a_missing_folder_says_so(
    posterior_for_files: Posterior, tmp_path: Path
) -> None:
    with pytest.raises(dpmcmc.InputError, match="there is no folder"):
        posterior_for_files.save(tmp_path / "missing" / "run.nc")


def test_a_full_disk_is_said(posterior_for_files: Posterior) -> None:
    with pytest.raises(dpmcmc.InputError) as error:
        posterior_for_files.save("/dev/full")
    assert str(error.value) == (
        "/dev/full cannot be written (no space left on device). Make room, or save "
        "elsewhere; the draws are still here."
    )


@pytest.mark.parametrize(
    ("count", "expected"),
    [(8, "fewer than 100 effective draws"), (4000, None)],
)
def test_few_effective_draws_are_remarked_on(count: int, expected: str | None) -> None:
    draws = {"a": np.random.default_rng(1).normal(size=(4, count))}
    found = remark(summarise(draws))
    assert (found is None) == (expected is None)
    if expected:
        assert expected in str(found)


def test_chains_that_disagree_are_remarked_on() -> None:
    draws = np.random.default_rng(2).normal(size=(2, 4000))
    draws[1] += 3
    assert "r-hat above 1.05" in str(remark(summarise({"a": draws})))


def test_a_narrow_posterior_is_shown_with_its_digits() -> None:
    draws = {"a": 1.7 + 1e-6 * np.random.default_rng(3).normal(size=(2, 500))}
    _, row = table(summarise(draws))
    assert row.split()[1].startswith("1.700000")


@pytest.fixture
def posterior_for_files() -> Posterior:
    accepted = np.ones((2, 6), bool)
    draws = {"a": np.random.default_rng(4).normal(size=(2, 6))}
    return Posterior(draws, accepted, draws, accepted, STATEMENT, {"jax": "1"})
