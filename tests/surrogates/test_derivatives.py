# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What cannot be differentiated as a chain will do it is refused before it is spent."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc import ControlVariates, InputError, Model
from dpmcmc.private import Records
from dpmcmc.surrogates import check_release


@jax.custom_vjp
def backward_only(theta):
    return -0.5 * jnp.sum(theta**2)


backward_only.defvjp(
    lambda theta: (backward_only(theta), theta), lambda theta, out: (-theta * out,)
)


def test_a_log_likelihood_with_a_backward_rule_alone_is_refused():
    model = Model(
        lambda theta, record: backward_only(theta - record),
        lambda theta: 0.0,
        np.zeros(7),
    )
    plan = ControlVariates(epsilon=1.0).plan(100, 7, 1e-5)
    with pytest.raises(InputError, match="Hessian of log_likelihood"):
        check_release(model, Records(np.zeros((100, 7))), plan, "float32")
