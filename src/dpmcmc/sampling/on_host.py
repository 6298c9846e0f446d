# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Public arithmetic on the host's processor, wherever the records are.

What is public is small: a prior, made-up records, the draws. An accelerator takes
longer to be handed each of its many programs than a processor takes to run it. What
reads records is put where they are, and runs there.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import jax

__all__ = ["host", "on_host"]


def host() -> jax.Device | None:
    """The host's processor; None if JAX was told to do without."""
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        return None


@contextmanager
def on_host() -> Iterator[None]:
    """Compute on the host's processor what is not put anywhere, in this thread.

    What has been put on a device, as records are, is computed there.
    """
    device = host()
    if device is None:
        yield
        return
    with jax.default_device(device):
        yield
