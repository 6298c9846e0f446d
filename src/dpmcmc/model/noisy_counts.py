# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What noisy counts of a table say of θ, by the score that they make.

The gradient of the log-likelihood is linear in the counts n: S(θ) = Jᵀn, where J has
the gradient of each cell's log-likelihood. With noise of sd s on each count it is
Jᵀñ, which adds a normal vector of covariance s²JᵀJ; at the true θ the score of a model
that is right has the information F(θ) as covariance. So θ is judged by
−½ SᵀV⁻¹S − ½ log(det V / det F) with V = F + s²JᵀJ; where margins are known too, the
covariance of the noise is less.

Without noise this is the posterior to second order. With noise it is about the same
point as without, whether or not the model is right: noise makes it wider, and moves
it by no more than it says. The likelihood of the noisy counts would weigh cells by how
visible they are; that is narrower, and about another point if the model is wrong.

The determinants are those of the root of the score, which is about normal with the
covariance F⁻¹VF⁻¹ where it is F⁻¹ without noise. Where θ makes a response so rare that
noise hides it, SᵀV⁻¹S no longer depends on θ; without them all such θ, as far as the
prior reaches, would be as likely as the first of them.
"""

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

__all__ = ["log_density_of_score"]

_RIDGE = 1e-10
"""Added to V and F, relative to the size of V: a parameter that no cell informs has
score zero."""


def log_density_of_score(
    counts: jax.Array,
    log_probabilities: jax.Array,
    gradients: jax.Array,
    noise: jax.Array,
) -> jax.Array:
    """Return what noisy counts say of θ, up to a constant.

    Parameters
    ----------
    counts
        Noisy counts: a row for each value of the covariates, in it a cell for each
        value of the responses.
    log_probabilities
        Log-probabilities of the responses given the covariates at θ, of the same
        shape; up to a constant in each row.
    gradients
        Their gradients by the coordinates of θ, along a third axis.
    noise
        The covariance of what noise adds to the score.
    """
    rows = jnp.maximum(counts.sum(1, keepdims=True), 0)
    expected = rows * jax.nn.softmax(log_probabilities, axis=1)
    score = jnp.einsum("xy,xyi->i", counts, gradients)
    information = jnp.einsum("xy,xyi,xyj->ij", expected, gradients, gradients)
    size = len(score)
    ridge = _RIDGE * (jnp.trace(information + noise) / size + 1) * jnp.eye(size)
    without = jnp.linalg.cholesky(information + ridge)
    root = jnp.linalg.cholesky(information + noise + ridge)
    scaled = solve_triangular(root, score, lower=True)
    hidden = jnp.sum(jnp.log(jnp.diagonal(root)) - jnp.log(jnp.diagonal(without)))
    return -jnp.dot(scaled, scaled) / 2 - hidden
