#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks this build on the accelerators of this machine: `./dev gpu-check`, in a checkout or in what `./dev gpu-bundle` has
# packed. Runs a program that may not run on the host instead, the devices' conformance tests, the language corpus and random
# kernels, compared with the interpreter, and the benchmarks. The findings are printed, and kept in OUTPUT.
#
# usage: gpu_check.sh ROOT BIN LIB OUTPUT [DEVICE]      DEVICE: a name that --device takes (default cuda:0)
set -euo pipefail

ROOT=$1 BIN=$2 LIB=$3 OUTPUT=$4 DEVICE=${5:-cuda:0}
export LD_LIBRARY_PATH="$LIB${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# Those of the compiler that an archive was made with, for machines with older ones.
if [[ -d $LIB/compiler ]] && ! "$BIN/dhpvm-run" --version >/dev/null 2>&1; then
  LD_LIBRARY_PATH+=":$LIB/compiler"
fi
mkdir -p "$OUTPUT"
failed=0

# check NAME COMMAND...: one line with the outcome; the output goes to a file.
check() {
  local name=$1 began=$SECONDS status=0
  shift
  "$@" >"$OUTPUT/$name.log" 2>&1 || status=$?
  case $status in
    0) printf '  ok   %s  %d s  %s\n' "$name" $((SECONDS - began)) "$(tail -n 1 "$OUTPUT/$name.log")" ;;
    *)
      printf '  FAILED  %s  (exit code %d; %s)\n' "$name" "$status" "$OUTPUT/$name.log"
      tail -n 20 "$OUTPUT/$name.log" | sed 's/^/    /'
      failed=1
      ;;
  esac
}

# same_as_interpreted PROGRAM [ARGUMENT...]: output and exit code are those of the interpreter.
same_as_interpreted() {
  local expected found expected_code=0 found_code=0
  expected="$("$BIN/dhpvm-run" --jit=off "$@" 2>/dev/null)" || expected_code=$?
  found="$("$BIN/dhpvm-run" --jit-wait --device="$DEVICE" --batch=5000 "$@" 2>"$OUTPUT/program.err")" || found_code=$?
  [[ $found == "$expected" && $found_code == "$expected_code" ]]
}

# Programs that say what they depend on (arguments, input, flags) are for the script that reads it; those that must not
# compile have nothing to do with devices.
corpus() {
  local program count=0 wrong=0
  while IFS= read -r program; do
    grep -qE '^// (args|stdin|flags|slow|skip|library|expect error)' "$program" && continue
    grep -q 'expect error' "$program" && continue
    count=$((count + 1))
    if ! same_as_interpreted "$program" </dev/null; then
      wrong=$((wrong + 1))
      printf 'differs: %s\n' "${program#"$ROOT"/}"
      sed 's/^/    /' "$OUTPUT/program.err"
    fi
  done < <(find "$ROOT/tests/programs" -name '*.dhp' | sort)
  printf '%d programs, %d differ\n' "$count" "$wrong"
  ((wrong == 0 && count > 0))
}

if ! "$BIN/dhpvm-run" --list-devices | tee "$OUTPUT/devices.log" | grep -E "^$DEVICE +" | grep -qv 'cannot be used:'; then
  cat "$OUTPUT/devices.log"
  echo "There is no device '$DEVICE' that can be used on this machine; the list above says which there are, and why not."
  exit 2
fi
cat "$OUTPUT/devices.log"
# All of its loops, and not on the host instead.
check loops "$BIN/dhpvm-run" --jit-wait --require-device --device="$DEVICE" "$ROOT/tests/programs/parallel/index_ranges.dhp"
check conformance env DHPVM_CONFORMANCE_DEVICES="${DEVICE%%:*}" "$BIN/device_conformance"
if command -v python3 >/dev/null; then
  kind="${DEVICE%%:*}"
  check corpus python3 "$ROOT/tests/run_programs.py" --bin "$BIN" --executor "device-$kind"
  check random python3 "$ROOT/tests/random_kernels.py" --bin "$BIN" --executor "$kind" --seconds 60
  if [[ $kind == cuda ]]; then
    check joined python3 "$ROOT/tests/run_programs.py" --bin "$BIN" --executor device-cuda-joined
    check kernels python3 "$ROOT/bench/run_gpu.py" --bin "$BIN" --device="$DEVICE" --json="$OUTPUT/kernels.json"
    cat "$OUTPUT/kernels.log"
  fi
else
  check corpus corpus
fi
check batching "$BIN/dhpvm-bench" batching --device="$DEVICE" --json="$OUTPUT/batching.json" --html="$OUTPUT/batching.html"
cat "$OUTPUT/batching.log"
exit $failed
