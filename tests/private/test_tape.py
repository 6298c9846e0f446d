# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The tape is ChaCha20, each word has one address, and the key stays inside."""

import copy
import itertools
import math
import pickle

import numpy as np
import plain
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpmcmc.private import Tape
from dpmcmc.private.tape import Stream, chacha20_words

WORDS_A_BLOCK = 8
LAST_BLOCK = 2**32 - 1

COUNTING_KEY = bytes(range(32))
ZERO_KEY, ZERO_NONCE = bytes(32), bytes(12)

RFC_8439_BLOCKS = {
    "2.3.2": (
        COUNTING_KEY,
        bytes.fromhex("000000090000004a00000000"),
        1,
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    ),
    "A.1 #1": (
        ZERO_KEY,
        ZERO_NONCE,
        0,
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    "A.1 #2": (
        ZERO_KEY,
        ZERO_NONCE,
        1,
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    "A.1 #3": (
        bytes(31) + b"\x01",
        ZERO_NONCE,
        1,
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
    "A.1 #4": (
        b"\x00\xff" + bytes(30),
        ZERO_NONCE,
        2,
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
    "A.1 #5": (
        ZERO_KEY,
        bytes(11) + b"\x02",
        0,
        "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
        "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
    ),
}


@pytest.mark.parametrize("name", RFC_8439_BLOCKS)
def test_keystream_is_that_of_rfc_8439(name):
    key, nonce, counter, expected = RFC_8439_BLOCKS[name]
    words = chacha20_words(key, nonce, counter * WORDS_A_BLOCK, WORDS_A_BLOCK)
    assert words.dtype == np.uint64
    assert words.astype("<u8").tobytes().hex() == expected
    assert plain.chacha20_block(key, nonce, counter).hex() == expected


def test_encryption_is_that_of_rfc_8439():
    """Section 2.4.2: two blocks, from counter 1 on."""
    text = (
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one "
        b"tip for the future, sunscreen would be it."
    )
    cipher = bytes.fromhex(
        "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b"
        "f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8"
        "07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736"
        "5af90bbf74a35be6b40b8eedf2785e42874d"
    )
    nonce = bytes.fromhex("000000000000004a00000000")
    stream = chacha20_words(COUNTING_KEY, nonce, WORDS_A_BLOCK, 16).tobytes()
    assert bytes(a ^ b for a, b in zip(text, stream, strict=False)) == cipher


@pytest.mark.parametrize("counter", [0, 1, 255, 256, 2**16, 2**31, LAST_BLOCK])
def test_keystream_at_any_counter_is_the_block_function(counter):
    nonce = bytes(range(1, 13))
    words = chacha20_words(COUNTING_KEY, nonce, counter * 8, 8)
    assert words.tobytes() == plain.chacha20_block(COUNTING_KEY, nonce, counter)


@given(start=st.integers(0, 300), count=st.integers(0, 100))
def test_reading_anywhere_is_reading_on(start, count):
    tape = Tape.seeded(3)
    whole = tape.words(Stream.TEST, 5, 0, 400)
    piece = tape.words(Stream.TEST, 5, start, count)
    assert piece.shape == (count,)
    assert np.array_equal(piece, whole[start : start + count])


def test_addresses_share_no_word():
    """Different streams, chains and positions read different words.

    Among 61 440 independent words a repeat has probability 1.0e-10.
    """
    tape = Tape.seeded(4)
    chains = [*range(12), 2**16, 2**32, 2**63]
    words = [
        tape.words(stream, chain, 0, 2048) for stream in Stream for chain in chains
    ]
    assert len(np.unique(np.concatenate(words))) == 2048 * len(chains) * len(Stream)


def test_a_chain_and_a_stream_are_the_nonce():
    tape = Tape.seeded(9)
    for stream, chain in itertools.product(Stream, [0, 1, 300]):
        expected = plain.seeded_words(9, int(stream), chain, 20)
        assert tape.words(stream, chain, 0, 20).tolist() == expected


def test_the_counter_never_wraps():
    tape = Tape.seeded(1)
    end = 2**32 * WORDS_A_BLOCK
    assert len(tape.words(Stream.TEST, 0, end - 3, 3)) == 3
    for start, count in [(end - 3, 4), (end, 1), (-1, 1), (0, -1), (2**40, 8)]:
        with pytest.raises(ValueError, match="outside the tape"):
            tape.words(Stream.TEST, 0, start, count)
    with pytest.raises(OverflowError):
        tape.words(Stream.TEST, 2**64, 0, 1)


def test_a_tape_cannot_be_copied_or_saved():
    tape = Tape.fresh()
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.copy(tape)
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.deepcopy(tape)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="cannot be copied"):
            pickle.dumps(tape, protocol)


def test_a_tape_does_not_show_its_key():
    key = b"a key of exactly thirty-two byte"
    tape = Tape(key, is_secret=True)
    shown = f"{tape!r} {tape!s} {tape} {dir(tape)}"
    assert "a key" not in shown
    assert key.hex() not in shown
    with pytest.raises(TypeError):
        vars(tape)
    with pytest.raises(AttributeError):
        tape.key  # noqa: B018
    with pytest.raises(AttributeError):
        tape.note = "kept beside it"


def test_fresh_tapes_differ_and_are_secret():
    first, second = Tape.fresh(), Tape.fresh()
    assert first.is_secret
    assert second.is_secret
    assert not np.array_equal(
        first.words(Stream.TEST, 0, 0, 4), second.words(Stream.TEST, 0, 0, 4)
    )


def test_the_key_is_256_bits_of_the_operating_system(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "dpmcmc.private.tape.os.urandom", lambda n: asked.append(n) or COUNTING_KEY
    )
    words = Tape.fresh().words(Stream.PROPOSAL, 7, 0, 8)
    nonce = (1).to_bytes(4, "little") + (7).to_bytes(8, "little")
    assert asked == [32]
    assert words.tobytes() == plain.chacha20_block(COUNTING_KEY, nonce, 0)


def test_a_seeded_tape_says_that_it_is_not_private():
    tape = Tape.seeded(1)
    assert not tape.is_secret
    assert "NOT PRIVATE" in repr(tape)
    with pytest.raises(AttributeError):
        tape.is_secret = True
    again, other = Tape.seeded(1), Tape.seeded(2)
    words = tape.words(Stream.TEST, 0, 0, 4)
    assert np.array_equal(words, again.words(Stream.TEST, 0, 0, 4))
    assert not np.array_equal(words, other.words(Stream.TEST, 0, 0, 4))


def _bits(words):
    return np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")


FALSE_ALARM = 1e-6


def test_every_bit_of_a_word_is_fair():
    """64 two-sided binomial tests; false-alarm rate 1e-6 for all together."""
    words = Tape.seeded(11).words(Stream.TEST, 0, 0, 2**17)
    ones = _bits(words).reshape(-1, 64).sum(axis=0, dtype=np.int64)
    pvalues = [stats.binomtest(int(k), len(words)).pvalue for k in ones]
    assert min(pvalues) > FALSE_ALARM / 64


def test_bytes_are_uniform():
    """Chi-square over 256 values, both tails; false-alarm rate 1e-6."""
    words = Tape.seeded(12).words(Stream.TEST, 0, 0, 2**17)
    counts = np.bincount(words.view(np.uint8), minlength=256)
    pvalue = stats.chisquare(counts).pvalue
    assert FALSE_ALARM / 2 < pvalue < 1 - FALSE_ALARM / 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((Stream.TEST, 0, 0), (Stream.TEST, 0, 1)),  # the next word
        ((Stream.TEST, 0, 0), (Stream.TEST, 1, 0)),  # the next chain
        ((Stream.TEST, 0, 0), (Stream.PROPOSAL, 0, 0)),  # the other stream
    ],
)
def test_neighbouring_addresses_are_independent(one, other):
    """Bits that agree are a fair binomial; false-alarm rate 1e-6 for each."""
    tape, count = Tape.seeded(13), 2**16
    a, b = tape.words(*one, count), tape.words(*other, count)
    agree = 64 * count - int(_bits(a ^ b).sum())
    deviation = abs(agree - 32 * count) / math.sqrt(16 * count)
    assert deviation < stats.norm.isf(FALSE_ALARM / 2)


def test_a_secret_tape_serves_one_run():
    tape = Tape.fresh()
    assert tape.claim() is tape
    with pytest.raises(RuntimeError, match="has been used"):
        tape.claim()


def test_a_seeded_tape_serves_many_runs():
    tape = Tape.seeded(1)
    assert tape.claim() is tape.claim()


def test_attempts_have_words_of_their_own():
    tape = Tape.seeded(2)
    first = tape.words(Stream.REDRAW, 0, 0, 100, 0)
    second = tape.words(Stream.REDRAW, 0, 0, 100, 1)
    assert not np.any(first == second)
    with pytest.raises(OverflowError):
        tape.words(Stream.REDRAW, 0, 0, 1, 2**24)


@pytest.mark.parametrize("start", [0, 3, 8191, 8192])
def test_a_long_stretch_is_its_short_parts(start):
    """Words are made in pieces of 2¹⁶ bytes, none of them out of place."""
    count = 3 * 2**13 + 5
    whole = chacha20_words(COUNTING_KEY, ZERO_NONCE, start, count)
    assert whole.size == count
    parts = [
        chacha20_words(
            COUNTING_KEY, ZERO_NONCE, start + first, min(1000, count - first)
        )
        for first in range(0, count, 1000)
    ]
    assert np.array_equal(whole, np.concatenate(parts))
