# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What is known of a curvature: its noise beside simulated noise, and rounds together.

Simulated noise is E = L Z Lᵀ, of 40,000 draws. Sample covariances have normal errors
whose variance is known, and may be 5.5 sd off: of n numbers one is farther once in
3·10⁷/n tries.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from dpmcmc.sampling.fit import curvature
from dpmcmc.sampling.fit.curvature import Curvature

SIZE, DRAWS, FAR = 3, 40_000, 5.5
SEEDS = some.integers(0, 2**32 - 1)


def symmetric(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Z: symmetric, normal, of sd 1 on the diagonal and 1/√2 off it."""
    z = generator.normal(size=shape)
    one_way = np.triu(z, 1) / np.sqrt(2)
    return one_way + np.swapaxes(one_way, -1, -2) + z * np.eye(shape[-1])


def known(seed: int, size: int = SIZE) -> Curvature:
    """Some curvature, with noise that differs much by direction."""
    generator = np.random.default_rng(seed)
    one, other = generator.normal(size=(2, size, size))
    sizes = np.exp(generator.uniform(-4, 1, size))
    axes = np.linalg.qr(other)[0]
    return Curvature(one @ one.T + np.eye(size), (axes * sizes) @ axes.T)


def simulated(noise: np.ndarray, seed: int = 1) -> np.ndarray:
    """Draws of L Z Lᵀ for R = L Lᵀ."""
    root = np.linalg.cholesky(noise)
    z = symmetric(np.random.default_rng(seed), DRAWS, len(noise), len(noise))
    return root @ z @ root.T


def assert_covariance(rows: np.ndarray, expected: np.ndarray) -> None:
    """Rows of mean 0 have a covariance, as far as so many draws can tell."""
    found = rows.T @ rows / len(rows)
    variances = np.diag(expected)
    errors = np.sqrt((np.outer(variances, variances) + expected**2) / len(rows))
    assert np.all(np.abs(found - expected) < FAR * errors + 1e-12)


def of_entries(noise: np.ndarray) -> np.ndarray:
    """cov(Eᵢⱼ, Eₖₗ) = ½ (Rᵢₖ Rⱼₗ + Rᵢₗ Rⱼₖ), for i ≤ j and k ≤ l."""
    i, j = np.triu_indices(len(noise))
    one = noise[np.ix_(i, i)] * noise[np.ix_(j, j)]
    return (one + noise[np.ix_(i, j)] * noise[np.ix_(j, i)]) / 2


def entries(matrices: np.ndarray) -> np.ndarray:
    rows, columns = np.triu_indices(matrices.shape[-1])
    return matrices[:, rows, columns]


def is_below(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether one is at most the other in every direction."""
    scale = np.abs(other).max() + np.abs(one).max()
    return bool(np.linalg.eigvalsh(other - one)[0] > -1e-9 * scale)


# Noise.


@pytest.mark.parametrize("seed", range(3))
def test_a_direction_has_the_noise_that_is_said(seed: int) -> None:
    noise = known(seed).noise
    for u in np.random.default_rng(seed).normal(size=(4, SIZE)):
        along = np.einsum("i,nij,j->n", u, simulated(noise), u)
        assert_covariance(along[:, None], np.array([[(u @ noise @ u) ** 2]]))


@pytest.mark.parametrize("seed", range(3))
def test_other_coordinates_turn_the_noise_as_they_turn_the_curvature(seed: int) -> None:
    one = known(seed)
    turn = np.random.default_rng(seed + 10).normal(size=(SIZE, SIZE))
    other = one.turned(turn)
    np.testing.assert_allclose(other.mean, turn.T @ one.mean @ turn)
    draws = turn.T @ simulated(one.noise) @ turn
    assert_covariance(entries(draws), of_entries(other.noise))


@pytest.mark.parametrize("change", [0.02, 0.7])
def test_a_change_adds_to_the_noise(change: float) -> None:
    """Exactly so on the axes; elsewhere at least as much."""
    one = known(4)
    changes = change * symmetric(np.random.default_rng(5), DRAWS, SIZE, SIZE)
    draws = simulated(one.noise) + changes
    other = one.changed(change)
    np.testing.assert_array_equal(other.mean, one.mean)
    for axis in np.linalg.eigh(one.noise)[1].T:
        along = np.einsum("i,nij,j->n", axis, draws, axis)
        assert_covariance(
            along[:, None], np.array([[(axis @ other.noise @ axis) ** 2]])
        )
    for u in np.random.default_rng(6).normal(size=(50, SIZE)):
        before = np.hypot(u @ one.noise @ u, change * u @ u)
        assert u @ other.noise @ u >= before * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_noise_of_the_curvature_times_a_step(seed: int) -> None:
    one = known(seed)
    step = np.random.default_rng(seed).normal(size=SIZE)
    assert_covariance(simulated(one.noise) @ step, one.times(step))


# Rounds together.


def unchanging(monkeypatch: pytest.MonkeyPatch, change: float = 1e-9) -> None:
    """Entries have changed by so much, and the level has not."""
    monkeypatch.setattr(curvature, "_CHANGES", np.array([change]))
    monkeypatch.setattr(curvature, "_LEVEL_CHANGES", 1e-9)


def test_what_is_found_without_noise_is_believed() -> None:
    found = known(8).mean
    both = known(7).combined(found, 1e-9, 0.1)
    np.testing.assert_allclose(both.mean, found, atol=1e-7)
    np.testing.assert_allclose(both.noise, 1e-9 * np.eye(SIZE), atol=1e-15)


def test_noise_alone_tells_nothing() -> None:
    """What was known stays. It may have changed: of that noise tells nothing either."""
    one = known(7)
    noise = 1e6 * symmetric(np.random.default_rng(0), SIZE, SIZE)
    both = one.combined(one.mean + noise, 1e6, 0.1)
    np.testing.assert_allclose(both.mean, one.mean, atol=1e-5)
    assert is_below(one.noise, both.noise)
    assert is_below(both.noise, one.changed(1.0).noise)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_equal_releases_are_averaged(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """If nothing changes, n of them have the noise of one over √n."""
    unchanging(monkeypatch)
    generator = np.random.default_rng(size)
    found = np.eye(size) + 0.1 * symmetric(generator, 7, size, size)
    both = Curvature(np.eye(size), 1e6 * np.eye(size))
    for one in found:
        both = both.combined(one, 0.1, 0.0)
    np.testing.assert_allclose(both.mean, found.mean(axis=0), atol=1e-8)
    np.testing.assert_allclose(both.noise, 0.1 / np.sqrt(7) * np.eye(size), atol=1e-8)


@pytest.mark.parametrize("size", [1, 2, 5, 10])
@pytest.mark.parametrize("rounds", [2, 4])
def test_no_noise_is_forgotten(size: int, rounds: int) -> None:
    """Of 400 curvatures that do not change, errors beside the noise that is said.

    Mean squares of 400 errors or more have a standard error of √(2/400) = 7% at most:
    within 28%, which honest ones exceed less than once in 30,000 tries.
    """
    generator = np.random.default_rng(10 * size + rounds)
    errors, said = [], []
    for _ in range(400):
        both = Curvature(np.eye(size), 100 * np.eye(size))
        for _ in range(rounds):
            noise = 0.1 * symmetric(generator, size, size)
            both = both.combined(np.eye(size) + noise, 0.1, 0.0)
        errors.append(np.mean((np.diag(both.mean) - 1) ** 2))
        said.append(both.sd**2)
    assert np.mean(errors) < 1.28 * np.mean(said)
    assert np.mean(said) < 1.28 * 0.1**2


@pytest.mark.parametrize("is_given", [True, False], ids=["given", "read off"])
@pytest.mark.parametrize("releases", [1, 2, 8])
@pytest.mark.parametrize(("size", "fits"), [(1, 1500), (2, 800), (5, 300), (12, 150)])
def test_noise_that_is_said_beside_what_is_left(
    monkeypatch: pytest.MonkeyPatch,
    *,
    size: int,
    fits: int,
    releases: int,
    is_given: bool,
) -> None:
    """Of a curvature that does not change; that is given, or read off, with no change
    as usual.

    Noise of the level is one number, which R = r I spreads over all entries: r² is
    their mean square error, and E u is as long as R has it. r is too small by no more
    than 5%, nor too large by more than 18%. On the axes, where the level is, it may be
    too small by 15%. Four standard errors are allowed for, by the scatter of the fits:
    more once in 30,000.
    """
    if is_given:
        monkeypatch.setattr(curvature, "_CHANGES", np.array([1e-9]))
    generator = np.random.default_rng(100 * size + releases)
    entries_left, axes_left, entries_said, axes_said = [], [], [], []
    for _ in range(fits):
        both = Curvature(np.eye(size), 100 * np.eye(size))
        for _ in range(releases):
            noise = 0.1 * symmetric(generator, size, size)
            both = both.combined(np.eye(size) + noise, 0.1, 0.0)
        error, noise = both.mean - np.eye(size), both.noise
        entries_left.append(np.sum(error**2))
        entries_said.append((np.trace(noise) ** 2 + np.sum(noise**2)) / 2)
        axes_left.append(np.mean(np.diag(error) ** 2))
        axes_said.append(np.mean(np.diag(noise) ** 2))

    def bound(squares: list[float], sds: float) -> float:
        return float(np.mean(squares) + sds * np.std(squares) / np.sqrt(fits))

    assert bound(entries_left, -4) < 1.05**2 * np.mean(entries_said)
    assert bound(entries_left, 4) > np.mean(entries_said) / 1.18**2
    assert bound(axes_left, -4) < 1.15**2 * np.mean(axes_said)


@pytest.mark.parametrize(("change", "is_believed"), [(1.0, True), (0.01, False)])
def test_what_contradicts_is_believed(change: float, is_believed: bool) -> None:
    """Noise of 0.05 on what was known and what is found; the level does not change."""
    size = 6
    generator = np.random.default_rng(3)
    one = Curvature(np.eye(size), 0.05 * np.eye(size))
    difference = change * symmetric(generator, size, size)
    difference -= np.trace(difference) / size * np.eye(size)
    noise = 0.05 * symmetric(generator, size, size)
    both = one.combined(np.eye(size) + difference + noise, 0.05, 0.02)
    assert (both.sd > 0.049) == is_believed
    left = np.linalg.norm(both.mean - np.eye(size) - difference)
    assert (left > 0.95 * np.linalg.norm(noise)) == is_believed


@pytest.mark.parametrize("change", [0.05, 0.3, 1.0])
def test_how_much_has_changed_is_read_off_all_entries(change: float) -> None:
    """Beside noise of 0.1 on each of 55 entries, and 0.05 before; 100 changes.

    Squares of changes have a standard error of √(2/55)(1 + 0.0125/c²): of their root,
    in the mean of 100, 6% at most. It may be 4 of that off, once in 15,000 tries.
    """
    size, known = 10, 0.05**2
    generator = np.random.default_rng(1)
    one_sd = np.sqrt(0.1**2 + known + change**2)
    found = [
        curvature._change(
            one_sd * symmetric(generator, size, size),
            np.full((size, size), known + 0.1**2),
            change,
        )
        for _ in range(100)
    ]
    error = np.sqrt(2 / 55) * (1 + 0.0125 / change**2) / 2 / np.sqrt(100)
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(change, rel=4 * error)


@pytest.mark.parametrize("level", [0.5, 1.0, 1.6])
def test_the_level_is_that_of_what_is_found(level: float) -> None:
    """Noise of 0.3 on each entry; the mean of 30 has less: 4 of its sd."""
    size = 30
    one = Curvature(np.eye(size), 0.05 * np.eye(size))
    noise = 0.3 * symmetric(np.random.default_rng(2), size, size)
    both = one.combined(level * np.eye(size) + noise, 0.3, 0.05)
    error = np.trace(both.mean) / size - level
    # What is not believed of a level: it usually changes by a half.
    drawn = abs(level - 1) * 0.3**2 / size / 0.5**2
    assert abs(error) < 4 * 0.3 / np.sqrt(size) + drawn


@given(
    seed=SEEDS,
    size=some.integers(1, 5),
    sd=some.floats(1e-4, 1e3),
    change=some.floats(1e-9, 3),
)
def test_noise_never_grows_beyond_both(
    seed: int, size: int, sd: float, change: float
) -> None:
    """It is at most that of what is found, and of what was known and has changed."""
    one = known(seed, size)
    found = one.mean + sd * symmetric(np.random.default_rng(seed), size, size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curvature, "_CHANGES", np.array([change]))
        both = one.combined(found, sd, 0.1)
    assert np.linalg.eigvalsh(both.noise)[0] >= -1e-12 * one.sd
    assert is_below(both.noise, sd * np.eye(size))
    changed = np.hypot(change, curvature._LEVEL_CHANGES)
    assert is_below(both.noise, one.changed(changed).noise)
    np.testing.assert_allclose(both.mean, both.mean.T)


# Positive.


def test_what_stands_out_stays() -> None:
    one = Curvature(np.diag([1.0, 2.0, 0.5]), 0.1 * np.eye(SIZE))
    both, is_flat = one.positive(3.0)
    np.testing.assert_allclose(both.mean, one.mean, atol=1e-12)
    assert not is_flat


@pytest.mark.parametrize(
    ("value", "sd", "times", "expected"),
    [
        (0.05, 0.1, 1.0, 0.1),
        (0.05, 0.1, 3.0, 0.3),
        (-0.5, 0.1, 3.0, 0.5),
        (-0.05, 0.1, 3.0, 0.3),
        (0.1, 0.2, 3.0, 0.5 * (1 + 1 + 0.1) / 3),
        (0.1, 0.6, 3.0, 0.6),
    ],
    ids=["one sd", "several", "up", "a little up", "half the mean", "noise beyond it"],
)
def test_a_flat_direction_is_lifted(
    value: float, sd: float, times: float, expected: float
) -> None:
    """To so many sd, up to half the mean; one that curves up is turned."""
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(SIZE, SIZE)))[0]
    noise = (axes * [0.01, 0.01, sd]) @ axes.T
    one = Curvature((axes * [1.0, 1.0, value]) @ axes.T, noise)
    both, is_flat = one.positive(times)
    np.testing.assert_allclose(
        axes.T @ both.mean @ axes, np.diag([1, 1, expected]), atol=1e-12
    )
    np.testing.assert_array_equal(both.noise, noise)
    assert is_flat


def test_no_direction_stays_without_curvature() -> None:
    """Even where nothing is noise, and nothing was asked for."""
    one = Curvature(np.diag([1.0, 0.0, 1.0]), np.zeros((SIZE, SIZE)))
    both, is_flat = one.positive(0.0)
    assert np.linalg.eigvalsh(both.mean)[0] > 0
    assert is_flat


def test_the_identity_is_known_of_new_coordinates() -> None:
    first = Curvature.whitened(SIZE)
    np.testing.assert_array_equal(first.mean, np.eye(SIZE))
    assert first.sd == 0


def test_the_usual_sd_is_that_of_a_diagonal_entry() -> None:
    assert Curvature(np.eye(2), np.diag([0.1, 0.3])).sd == pytest.approx(0.2)
