# SPDX-License-Identifier: Apache-2.0
"""What the tests share. A test that cannot run here ends with 77 and says why."""

import faulthandler
import sys
import unittest

faulthandler.enable()

try:
    import numpy  # noqa: F401
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)


def main():
    unittest.main(verbosity=0)
