#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles dhpvm/c.h alone with every compiler that is there, as C and C++ of several standards, with and without
exceptions. usage: header_test.py INCLUDE_FOLDER"""

import shutil
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
C_COMPILERS = ["gcc", "clang-19", "clang"]
CPP_COMPILERS = ["g++", "clang++-19", "clang++"]
C_MODES = [["-std=c11"], ["-std=c17"], ["-std=gnu2x"]]
CPP_MODES = [["-std=c++11"], ["-std=c++20"], ["-std=c++20", "-fno-exceptions", "-fno-rtti"]]
# Twice, and used.
SOURCE = """
#include <dhpvm/c.h>
#include <dhpvm/c.h>
dhpvm_code use(dhpvm_function* function);
dhpvm_code use(dhpvm_function* function) {
  dhpvm_value value = {DHPVM_F64, 0, {0}};
  return dhpvm_call(function, &value, 1, &value, 1, NULL);
}
"""


def main():
    include = sys.argv[1]
    runs = failures = 0
    for compilers, language, modes in ((C_COMPILERS, "c", C_MODES), (CPP_COMPILERS, "c++", CPP_MODES)):
        for compiler in filter(shutil.which, compilers):
            for mode in modes:
                command = [compiler, "-x", language, *mode, *WARNINGS, "-fsyntax-only", "-I", include, "-"]
                done = subprocess.run(command, input=SOURCE, capture_output=True, text=True, timeout=60, check=False)
                runs += 1
                if done.returncode != 0:
                    failures += 1
                    print(" ".join(command), done.stderr, sep="\n")
    print(f"{runs} compilations, {failures} failures")
    return 1 if failures or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
