# SPDX-License-Identifier: Apache-2.0
"""Sorted arrays as sets, as NumPy has them, written in Python."""

import numpy as np

from .array_functions import ravel
from .number_functions import unique
from .sample_functions import isin


def intersect1d(a, b):
    u = unique(a)
    return u[isin(u, b)]


def setdiff1d(a, b):
    u = unique(a)
    return u[~isin(u, b)]


def union1d(a, b):
    return unique(np.concatenate((ravel(a), ravel(b))))
