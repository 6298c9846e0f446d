# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Records are sealed: outside the boundary they show shapes and dtypes, no values."""

import copy
import gc
import json
import pickle
import pprint
import warnings
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from adversarial import HOSTILE

from dpmcmc.errors import InputError
from dpmcmc.private import Records
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.opening import open_on_host, open_records, presence

SECRET = 7777.125


@pytest.fixture
def sealed():
    return Records({"x": np.full(5, SECRET), "y": np.full((5, 2), SECRET, np.float32)})


def opened(data, dtype=np.float32):
    """What the boundary sees of ``data``: arrays, who is present, the block."""
    with boundary_arithmetic():
        inside, block = open_records(Records(data), dtype, jax.devices()[:1])
        present = np.asarray(presence(inside))
    return jax.tree.map(np.asarray, inside.arrays), present, block


class WasReadError(BaseException):
    """What no handler of errors takes for one of its own."""


class NeverRead:
    """An array by shape and dtype alone; reading a value is an error."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, np.dtype(dtype)

    def _refuse(self, *arguments, **names):
        raise WasReadError("a value was read")

    __array__ = __getitem__ = __iter__ = __len__ = __float__ = __bool__ = _refuse
    __repr__ = __str__ = __format__ = __eq__ = __hash__ = _refuse


# Nothing opens them


def test_records_cannot_be_opened_from_outside(sealed):
    with pytest.raises(TypeError):
        iter(sealed)
    with pytest.raises(TypeError):
        sealed[0]
    with pytest.raises(TypeError):
        SECRET in sealed  # noqa: B015
    with pytest.raises(TypeError):
        sealed + 1
    with pytest.raises(TypeError):
        float(sealed)
    with pytest.raises(TypeError):
        jnp.asarray(sealed)
    with pytest.raises(TypeError):
        json.dumps(sealed)
    assert len(sealed) == 5


def test_as_an_array_records_are_one_sealed_object(sealed):
    array = np.asarray(sealed)
    assert array.shape == ()
    assert array.item() is sealed
    assert np.sum(sealed) is sealed
    with pytest.raises(TypeError):
        np.asarray(sealed, float)


def test_records_are_a_leaf_of_any_tree(sealed):
    assert jax.tree.leaves({"data": sealed}) == [sealed]


def test_records_show_no_value(sealed):
    shown = f"{sealed!r} {sealed!s} {sealed} {pprint.pformat(sealed)} {dir(sealed)}"
    for name in dir(sealed):
        shown += repr(getattr(sealed, name))
    for referent in (sealed._kinds, sealed._count):
        shown += repr(referent)
    assert "7777" not in shown
    assert repr(sealed) == "Records(5 records, sealed)"
    with pytest.raises(TypeError):
        vars(sealed)
    with pytest.raises(AttributeError):
        sealed.data = 1


def test_records_hold_no_reference_to_the_data(sealed):
    """What a debugger or a serialiser reaches by following references."""
    seen, left = set(), [sealed]
    while left:
        thing = left.pop()
        if id(thing) not in seen and not isinstance(thing, type):
            seen.add(id(thing))
            assert not isinstance(thing, np.ndarray)
            left.extend(gc.get_referents(thing))


def test_records_cannot_be_copied_or_saved(sealed):
    with pytest.raises(TypeError, match="sealed"):
        copy.copy(sealed)
    with pytest.raises(TypeError, match="sealed"):
        copy.deepcopy({"inside": [sealed]})
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="sealed"):
            pickle.dumps(sealed, protocol)


def test_records_are_forgotten_with_their_wrapper():
    """The room of the sealed data keeps nothing alive by itself."""
    from dpmcmc.private.records import SEALED

    gc.collect()
    before = len(SEALED)
    sealed = Records(np.zeros(3))
    assert len(SEALED) == before + 1
    del sealed
    gc.collect()
    assert len(SEALED) == before


# Shapes and dtypes are all that is looked at


def test_making_records_reads_no_value():
    data = {"x": NeverRead((6,), "f8"), "y": [NeverRead((6, 2, 3), "i8")]}
    sealed = Records(data)
    assert len(sealed) == 6
    assert sealed.shape_of_one(np.float32) == {
        "x": jax.ShapeDtypeStruct((), np.float32),
        "y": [jax.ShapeDtypeStruct((2, 3), np.int32)],
    }
    assert sealed.shape_of_one(np.float64) == {
        "x": jax.ShapeDtypeStruct((), np.float64),
        "y": [jax.ShapeDtypeStruct((2, 3), np.int64)],
    }
    with pytest.raises(WasReadError, match="a value was read"):
        open_records(sealed, np.float32, jax.devices()[:1])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"x": NeverRead((5,), "f8"), "y": NeverRead((6,), "f8")},
            r"unequal leading axes \(records\['x'\]: 5, records\['y'\]: 6\)",
        ),
        ([NeverRead((2,), "f8"), NeverRead((3,), "f8")], "unequal leading axes"),
        (NeverRead((0,), "f8"), "there are 0 records"),
        ({"x": NeverRead((0, 4), "f4")}, "there are 0 records"),
        (NeverRead((2**42 + 1,), "f4"), "there are 4398046511105 records"),
        (NeverRead((3,), "U5"), "records has dtype str_"),
        (NeverRead((3,), "S5"), "records has dtype"),
        ({"who": NeverRead((3,), "O")}, r"records\['who'\] has dtype object"),
        (NeverRead((3,), "c16"), "records has dtype complex128"),
        (NeverRead((3,), "M8[D]"), "records has dtype datetime64"),
        (NeverRead((3,), "m8[s]"), "records has dtype timedelta64"),
        (NeverRead((3,), [("a", "f8")]), "records has dtype"),
        (NeverRead((), "f8"), "records is a NeverRead, not an array"),
        ({}, "records hold no array"),
        ([], "records hold no array"),
        (None, "records hold no array"),
        ({"x": None}, "records hold no array"),
    ],
)
def test_bad_records_are_refused_before_a_value_is_read(data, message):
    with pytest.raises(InputError, match=message):
        Records(data)


@pytest.mark.parametrize("data", [SECRET, "7777", [SECRET, SECRET], {"x": SECRET}])
def test_what_is_no_array_is_refused_without_its_value(data):
    with pytest.raises(InputError, match="not an array") as caught:
        Records(data)
    assert "7777" not in str(caught.value)


def test_the_length_of_a_text_is_not_shown():
    messages = set()
    for text in ("al", "alexander"):
        with pytest.raises(InputError) as caught:
            Records({"who": np.array(["bo", text])})
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_a_container_may_be_of_any_class():
    """Also one that does not say when two of it are the same."""

    @jax.tree_util.register_dataclass
    @dataclass(eq=False)
    class Pair:
        x: Any
        y: Any

    arrays, _, _ = opened(Pair(np.arange(3.0), np.arange(3)))
    assert arrays.y.tolist() == [0, 1, 2]


def test_keys_of_randomness_are_no_records():
    with pytest.raises(InputError, match="dtype"):
        Records(jax.random.split(jax.random.key(0), 3))


# What the boundary sees


def test_opened_records_are_the_data_padded_to_blocks():
    data = {"x": np.arange(2500.0), "y": np.arange(5000).reshape(2500, 2)}
    arrays, present, block = opened(data)
    assert block == 1024
    assert len(present) == 3072
    assert np.array_equal(present, np.arange(3072) < 2500)
    assert arrays["x"].dtype == np.float32
    assert arrays["y"].dtype == np.int32
    assert np.array_equal(arrays["x"][:2500], data["x"])
    assert np.array_equal(arrays["y"][:2500], data["y"])
    assert arrays["y"].shape == (3072, 2)


def test_few_records_make_one_small_block():
    arrays, present, block = opened(np.arange(7.0))
    assert block == len(arrays) == 7
    assert np.all(present)


@pytest.mark.parametrize(
    ("dtype", "in_float32", "in_float64"),
    [
        ("f2", "f4", "f8"),
        ("f4", "f4", "f8"),
        ("f8", "f4", "f8"),
        (jnp.bfloat16, "f4", "f8"),
        (">f8", "f4", "f8"),
        ("?", "?", "?"),
        ("i1", "i1", "i1"),
        ("i4", "i4", "i4"),
        (">i4", "i4", "i4"),
        ("i8", "i4", "i8"),
        ("u1", "u1", "u1"),
        ("u8", "u4", "u8"),
        (">u8", "u4", "u8"),
    ],
)
def test_dtypes_follow_the_precision_of_the_chain(dtype, in_float32, in_float64):
    data = np.array([0, 1, 1]).astype(dtype)
    for chain, expected in ((np.float32, in_float32), (np.float64, in_float64)):
        arrays, _, _ = opened(data, chain)
        assert arrays.dtype == np.dtype(expected)
        assert Records(data).shape_of_one(chain).dtype == np.dtype(expected)
        assert arrays.tolist() == [0, 1, 1]


def test_whole_numbers_too_large_saturate():
    """Record by record: a cast that wraps round would turn 2³¹ to −2³¹."""
    data = np.array([2**31, 2**62, -(2**31) - 1, -(2**62), 5])
    assert opened(data)[0].tolist() == [2**31 - 1, 2**31 - 1, -(2**31), -(2**31), 5]
    large = np.array([2**64 - 1, 2**32, 7], np.uint64)
    assert opened(large)[0].tolist() == [2**32 - 1, 2**32 - 1, 7]
    assert opened(data, np.float64)[0].tolist() == data.tolist()
    assert opened(large, np.float64)[0].tolist() == large.tolist()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_no_value_warns_or_raises_when_records_are_opened(kind):
    """Not even where the user turns every floating-point event into an error."""
    data, calm = HOSTILE[kind], np.zeros_like(HOSTILE[kind])
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        arrays, present, block = opened(data)
        others, other_present, other_block = opened(calm)
    assert arrays.dtype == others.dtype
    assert arrays.shape == others.shape
    assert np.array_equal(present, other_present)
    assert block == other_block
    finite = np.isfinite(data) & (np.abs(data) <= np.finfo(np.float32).max)
    assert np.array_equal(arrays[finite], data[finite].astype(np.float32))


def test_the_setting_of_the_user_is_left_alone():
    before = jax.config.jax_enable_x64
    opened(np.zeros(3), np.float64)
    assert jax.config.jax_enable_x64 == before


# Masked arrays


def test_a_masked_cell_is_a_missing_value():
    """Not the value under the mask, which NumPy keeps."""
    x = np.ma.array([1.0, SECRET, 3.0, 4.0], mask=[0, 1, 0, 0])
    pairs = np.ma.array(np.full((4, 2), 5), mask=[[0, 0], [0, 0], [0, 1], [0, 0]])
    arrays, present, _ = opened({"x": x, "pair": pairs})
    assert present.tolist() == [True, False, False, True]
    assert arrays["x"].tolist() == [1, 0, 3, 4]
    assert arrays["pair"][2].tolist() == [5, 0]


@pytest.mark.parametrize("dtype", ["f8", ">f4", "i8", "u1", "?"])
def test_a_mask_changes_nothing_but_who_is_present(dtype):
    values = np.array([1, 0, 1]).astype(dtype)
    masks = (False, [0, 0, 0], [0, 1, 0], [1, 1, 1])
    kinds, seen = set(), []
    for mask in masks:
        sealed = Records(np.ma.array(values, mask=mask))
        kinds.add(repr(sealed.shape_of_one(np.float32)))
        seen.append(open_on_host(sealed, np.float32))
    assert len(kinds) == 1
    assert len({one.arrays.dtype for one in seen}) == 1
    assert [one.present.sum() for one in seen] == [3, 3, 2, 0]
    assert open_on_host(Records(values), np.float32).present is None
