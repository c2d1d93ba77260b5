#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs modules into one program.

usage: pack.py PROGRAM MODULE...
"""

import shutil
import sys
import tempfile
import zipapp
from pathlib import Path


def main():
    program, *modules = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for module in modules:
            if Path(module).name != Path(__file__).name:
                shutil.copy(module, folder)
        zipapp.create_archive(folder, program, "/usr/bin/env python3", compressed=True)


if __name__ == "__main__":
    main()
