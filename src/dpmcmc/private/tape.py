# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The tape: ChaCha20 words, the only source of randomness inside the boundary.

A tape is addressed, not consumed: the words of step t of chain c are the same whatever
the chunks or devices. Each (stream, chain) has its own nonce, so that no two uses read
the same word. The key is 256 bits from the operating system, is made for one release or
one run of chains, and is never shown, stored or used again. Where a run has several
processes the first makes it, and hands it to the others.
"""

import enum
import hashlib
import os
from typing import NoReturn

import jax
import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from dpmcmc import processes
from dpmcmc.private.keystream import Keystream

__all__ = ["WORDS_PER_STREAM", "Stream", "Tape", "chacha20_words"]

_BLOCK_BYTES = 64
_WORD_BYTES = 8
WORDS_PER_STREAM = 2**32 * _BLOCK_BYTES // _WORD_BYTES
"""As many as the 32-bit counter of the blocks can address."""

_ZEROS = memoryview(bytes(2**16))


class Stream(enum.IntEnum):
    """What a stretch of the tape is used for; part of its nonce."""

    PROPOSAL = 1
    TEST = 2
    BATCH = 3
    REDRAW = 4
    NOISE = 5


class Tape:
    """Random words for one run, addressed by stream, chain and position.

    Make one with `Tape.fresh`; `Tape.seeded` is for results that are not private.
    """

    __slots__ = ("__is_claimed", "__is_everywhere", "__is_secret", "__key")

    def __init__(
        self, key: bytes, *, is_secret: bool, is_everywhere: bool = False
    ) -> None:
        self.__key = key
        self.__is_secret = is_secret
        self.__is_everywhere = is_everywhere
        self.__is_claimed = False

    @classmethod
    def fresh(cls, *, everywhere: bool = False) -> "Tape":
        """Make a tape with a new 256-bit key from the operating system.

        Guarantee
        ---------
        The key is uniform, and made for this tape. If it is for ``everywhere``, all
        processes have that of the first: they call this together.
        """
        key = os.urandom(32)
        if everywhere:
            key = processes.from_first(key)
        return cls(key, is_secret=True, is_everywhere=everywhere)

    @classmethod
    def seeded(cls, seed: int, use: str = "") -> "Tape":
        """Make a tape that anyone can make again: its bits are not private.

        Tapes of one seed for different uses share no words.
        """
        label = f"dpmcmc: not private: seed {seed}{use and f' for {use}'}"
        key = hashlib.sha256(label.encode()).digest()
        return cls(key, is_secret=False, is_everywhere=True)

    def claim(self, *, everywhere: bool = False) -> "Tape":
        """Take the tape for one run; a secret tape serves no second one.

        Two runs on one tape would decide their bits with the same words.

        Guarantee
        ---------
        It raises if the tape was claimed before and is secret; or if it is for records
        ``everywhere``, in parts of several processes, and these may have other words:
        each would release the same sums with noise of its own.
        """
        if everywhere and processes.together() > 1 and not self.__is_everywhere:
            raise RuntimeError("this tape is of one process; make one for all of them")
        if self.__is_claimed and self.__is_secret:
            raise RuntimeError("this tape has been used; make a fresh one for each run")
        self.__is_claimed = True
        return self

    @property
    def is_secret(self) -> bool:
        """Whether nobody knows the key."""
        return self.__is_secret

    def words(
        self, stream: Stream, chain: int, start: int, count: int, attempt: int = 0
    ) -> np.ndarray:
        """Words ``start`` to ``start + count`` of one chain's stream, as uint64.

        Each attempt has words of its own, for draws that may have to be made again.

        Guarantee
        ---------
        With a key that is secret and uniform, the words of all streams, attempts,
        chains and positions are computationally indistinguishable from independent
        uniform 64-bit words, if ChaCha20 is a pseudorandom function. Distinct
        addresses never map to the same keystream bytes.
        """
        purpose = (int(stream) | attempt << 8).to_bytes(4, "little")
        nonce = purpose + chain.to_bytes(8, "little")
        return chacha20_words(self.__key, nonce, start, count)

    def on_device(self, device: jax.Device) -> Keystream:
        """The same words, made on a device of this machine."""
        return Keystream(jax.device_put(np.frombuffer(self.__key, "<u4"), device))

    def __repr__(self) -> str:
        return f"Tape({'secret key' if self.is_secret else 'NOT PRIVATE: seeded'})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a tape cannot be copied or saved: its words are used once")


def chacha20_words(key: bytes, nonce: bytes, start: int, count: int) -> np.ndarray:
    """Read words of the keystream of ChaCha20 as RFC 8439 defines it, from block 0 on.

    They are ``count`` little-endian uint64 words from word ``start`` on, for a key of
    32 bytes and a nonce of 12.

    Guarantee
    ---------
    The block counter never wraps: a range past 2³² blocks is refused.
    """
    if not 0 <= start <= start + count <= WORDS_PER_STREAM:
        raise ValueError(
            f"words {start} to {start + count} are outside the tape, which holds "
            f"{WORDS_PER_STREAM} words for each stream and chain"
        )
    block, skip = divmod(start * _WORD_BYTES, _BLOCK_BYTES)
    counter = block.to_bytes(4, "little")
    cipher = Cipher(ChaCha20(key, counter + nonce), mode=None).encryptor()
    # Zeros are encrypted piece by piece: fresh memory for them all would cost more
    # than the words.
    stretch = np.empty(skip + count * _WORD_BYTES, np.uint8)
    for first in range(0, stretch.size, len(_ZEROS)):
        piece = stretch[first : first + len(_ZEROS)]
        if cipher.update_into(_ZEROS[: piece.size], piece.data) != piece.size:
            raise RuntimeError("the cipher made fewer bytes than were asked for")
    return stretch[skip:].view("<u8")
