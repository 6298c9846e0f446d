# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The chain and its randomness a second time, in plain Python and NumPy.

Nothing here imports the library: it is written from RFC 8439 and from the rules of
the boundary, so that the two can disagree.
"""

import hashlib
import math

import numpy as np
from scipy.special import ndtri

PROPOSAL, TEST = 1, 2
STEPS = 2**20


def chacha20_block(key, nonce, counter):
    """The ChaCha20 block function (RFC 8439, section 2.3)."""
    words = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]
    words += [int.from_bytes(key[i : i + 4], "little") for i in range(0, 32, 4)]
    words += [counter]
    words += [int.from_bytes(nonce[i : i + 4], "little") for i in range(0, 12, 4)]
    state = list(words)

    def turn(word, bits):
        return (word << bits | word >> (32 - bits)) & 0xFFFFFFFF

    def quarter_round(a, b, c, d):
        for x, y, z, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[x] = (state[x] + state[y]) & 0xFFFFFFFF
            state[z] = turn(state[z] ^ state[x], bits)

    for _ in range(10):
        for i in range(4):
            quarter_round(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter_round(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    mixed = ((a + b) & 0xFFFFFFFF for a, b in zip(state, words, strict=True))
    return b"".join(word.to_bytes(4, "little") for word in mixed)


def seeded_words(seed, stream, chain, count):
    """The first words of one chain's stream of a seeded tape."""
    key = hashlib.sha256(f"dpmcmc: not private: seed {seed}".encode()).digest()
    nonce = stream.to_bytes(4, "little") + chain.to_bytes(8, "little")
    blocks = (chacha20_block(key, nonce, i) for i in range(-(-count // 8)))
    return [
        int.from_bytes(block[i : i + 8], "little")
        for block in blocks
        for i in range(0, 64, 8)
    ][:count]


def clipped_steps(ratios, clip):
    """Each ratio as a whole number of steps, as a Python list of integers."""
    integers = []
    for ratio in np.asarray(ratios, np.float64).tolist():
        if math.isnan(ratio):
            integers.append(0)
        else:
            scaled = max(-STEPS, min(STEPS, ratio * (STEPS / clip)))
            integers.append(round(scaled))
    return integers


def bit(word, log_odds):
    """Whether a 53-bit uniform falls below σ(log_odds)."""
    log_odds = max(-40.0, min(40.0, log_odds))
    small = math.exp(-abs(log_odds))
    chance = (1.0 if log_odds >= 0 else small) / (1.0 + small)
    return (word >> 11) * 2.0**-53 < chance


def run_chain(log_likelihoods, log_prior, start, factor, clip, seed, chain, steps):
    """One chain of the exact Barker test; returns its points and its bits.

    ``log_likelihoods(theta)`` gives the number of each record, for θ a flat array.
    """
    size = len(start)
    proposal = np.array(seeded_words(seed, PROPOSAL, chain, steps * size), np.uint64)
    uniforms = ((proposal >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52
    normals = ndtri(uniforms).reshape(steps, size)
    tests = seeded_words(seed, TEST, chain, steps)
    theta, points, bits = np.asarray(start, float), [], []
    for step in range(steps):
        proposed = theta + factor @ normals[step]
        with np.errstate(all="ignore"):
            ratios = log_likelihoods(proposed) - log_likelihoods(theta)
        total = sum(clipped_steps(ratios, clip))
        public = log_prior(proposed) - log_prior(theta)
        bits.append(bit(tests[step], total * (clip / STEPS) + public))
        theta = proposed if bits[-1] else theta
        points.append(theta)
    return np.array(points), np.array(bits)
