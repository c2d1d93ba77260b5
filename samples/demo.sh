#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `./dev demo` runs this: samples compiled to bytecode, verified, and run on a photograph and on data sets.
#
# usage: samples/demo.sh BIN_DIR OUT_DIR
set -euo pipefail

if (($# != 2)); then
  echo "usage: samples/demo.sh BIN_DIR OUT_DIR" >&2
  exit 2
fi
SAMPLES="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
BIN="$1"
for program in dhpvmc dhpvm-run; do
  if [[ ! -x "$BIN/$program" ]]; then
    echo "demo: $BIN/$program is not there; build it first (./dev build)" >&2
    exit 2
  fi
done
mkdir -p "$2"
OUT="$(cd "$2" && pwd)"
DATA="$SAMPLES/data"
STARTED=$SECONDS

# show NAME TEXT ARGUMENTS..: says what comes, compiles and verifies the sample, and runs it.
show() {
  local name=$1 text=$2
  shift 2
  printf '\n%s\n' "$text"
  printf '  samples/%s.dhp -> %s.bc\n' "$name" "$name"
  "$BIN/dhpvmc" "$SAMPLES/$name.dhp" -o "$OUT/$name.bc"
  "$BIN/dhpvm-run" --verify-only "$OUT/$name.bc"
  printf '  verified: %d bytes of bytecode\n' "$(wc -c <"$OUT/$name.bc")"
  "$BIN/dhpvm-run" "$OUT/$name.bc" "$@" | sed 's/^/    /'
}

show edge_detection "Finding the edges of a photograph" "$DATA/china.ppm" "$OUT/edges.pgm"
show blur "Blurring a photograph" "$DATA/flower.ppm" "$OUT/blurred.ppm"
show kmeans "Grouping 1,797 handwritten digits without being told which they are" "$DATA/digits.csv" 10 15 "$OUT/centres.pgm"
show neural_network "Learning to read them" "$DATA/digits.csv"
show black_scholes "Pricing 1,000 options" "$DATA/options.csv" "$OUT/prices.csv"
show mandelbrot "Drawing the Mandelbrot set" 480 100 "$OUT/mandelbrot.pgm"

printf '\nDone in %d s. Pictures and tables are in %s:\n' "$((SECONDS - STARTED))" "$OUT"
printf '  %s\n' edges.pgm blurred.ppm centres.pgm mandelbrot.pgm prices.csv
printf 'Any picture viewer shows PGM and PPM. More samples: samples/README.md\n'
