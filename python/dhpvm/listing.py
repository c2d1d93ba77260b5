# SPDX-License-Identifier: Apache-2.0
"""Listings of code that engines make."""

from __future__ import annotations

import logging


class Listing(logging.Handler):
    """Collects the listings that engines make meanwhile."""

    def __enter__(self):
        self.texts, self._logger = [], logging.getLogger("dhpvm.listing")
        self._before = self._logger.level, self._logger.propagate
        self._logger.setLevel(logging.INFO)
        self._logger.propagate = False
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_):
        self._logger.removeHandler(self)
        self._logger.level, self._logger.propagate = self._before

    def emit(self, record):
        self.texts.append(record.getMessage())
