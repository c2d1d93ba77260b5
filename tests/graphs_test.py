#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what --explain-offload says about graphs of launches, on the interpreter of PTX: how many executions were in
one, and why none was if the driver refuses a call.

usage: graphs_test.py --bin BIN_DIR
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
fn main() {
    let a = [f64](300);
    let b = [f64](300);
    var seen = 0.0;
    for r in 0..40 {
        parallel for i in 0..300 { b[i] = a[i] * (0.01 * (r as f64)) + (i as f64); }
        parallel for i in 0..300 { a[i] = b[i] * 0.5 + a[i]; }
        if r % 4 == 3 { seen += a[7]; }
    }
    print(seen);
}
"""
CALLS = ("cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams_v2")


def run(tool, source, device, refused=""):
    environment = {**os.environ, "DHPVM_CUDA_DRIVER": "interpreter", "DHPVM_CUDA_REFUSES": refused}
    command = [tool, "--jit-wait", f"--device={device}", "--explain-offload", source]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True, timeout=120)
    return done.stdout, done.stderr


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=Path, required=True)
    tool = parser.parse_args(arguments).bin / "dhpvm-run"
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "steps.dhp"
        source.write_text(PROGRAM, encoding="utf-8")
        expected, _ = run(tool, source, "host")
        out, told = run(tool, source, "cuda:0")
        counts = [int(count) for count in re.findall(r"(\d+) of \d+ executions were in recorded graphs", told)]
        if out != expected or len(counts) != 2 or min(counts) < 16 or "refuses" in told:
            problems.append(f"without a refusal: {out}{told}")
        for call in CALLS:
            out, told = run(tool, source, "cuda:0", call)
            name = call.removesuffix("_v2").removesuffix("WithFlags")
            reason = f"its driver refuses a recording: {name} failed"
            if out != expected or told.count(reason) != 2 or "CUDA_ERROR_NOT_SUPPORTED" not in told:
                problems.append(f"{call}: {out}{told}")
    for problem in problems:
        print(f"FAILED {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
