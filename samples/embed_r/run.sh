#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the part in C, and runs the sample. usage: run.sh INCLUDE-FOLDER LIBRARY-FOLDER WORK-FOLDER
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$3" && cd "$3" && cp "$here/dhpvm.c" .
PKG_CPPFLAGS="-I$1" PKG_LIBS="-L$2 -ldhpvm -Wl,-rpath,$2" R CMD SHLIB dhpvm.c > build.log 2>&1 || { cat build.log; exit 1; }
Rscript "$here/smooth.R" ./dhpvm.so
