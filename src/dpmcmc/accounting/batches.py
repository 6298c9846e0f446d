# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What every test on a batch must know: how large the batch is, and of how many."""

from dpmcmc import errors

__all__ = ["require_batch"]


def require_batch(batch: object, records: object) -> None:
    """Refuse a batch that is empty or larger than the data set."""
    count = errors.require_count("records", records, "Give the number of records.")
    drawn = errors.require_count("batch", batch, "Give the records of one batch.")
    if drawn > count:
        raise errors.InputError(
            f"batch is {drawn}; it must be between 1 and the {count} records. Take a "
            "smaller batch, or leave it out to use all records."
        )
