#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries the Debian packages where nothing else of DHPVM is: usage: check_packages.py FOLDER

Looks at each package of FOLDER with lintian, makes a fresh Debian without a compiler, installs them there, and runs
programs, a worker and a client of it as an ordinary user. Needs root, mmdebstrap and lintian (./dev package --check
installs them). Prints one line for each check; exit code 1 if one fails.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SUITE = "bookworm"
PROGRAM = """
import math;
fn main() {
    let x = [f64](1000000);
    parallel for i in 0..x.len { x[i] = math.sin(i as f64); }
    var sum = 0.0;
    parallel for i in 0..x.len reduce(+: sum) { sum += x[i] * x[i]; }
    print(f"{sum:.3f}");
}
"""
ANSWER = "500000.117"
# Run by the user of the fresh system, in its folder.
CHECKS = [
    ("a program runs from its source", "dhpvm-run sines.dhp", ANSWER),
    ("a program runs from bytecode", "dhpvmc sines.dhp -o sines.bc && dhpvm-run sines.bc", ANSWER),
    ("loops are compiled", "dhpvm-run --jit=eager --explain-offload sines.dhp 2>&1", "compiled"),
    (
        "a worker serves a client",
        "dhpvm-run --make-key=key && { dhpvm-run --worker --listen=127.0.0.1:0 --key-file=key --device=host 2>log & } && "
        "worker=$! && while ! grep -qs listening log; do sleep 0.1; done && "
        "dhpvm-run --connect=$(sed -n 's/.*listening at //p' log) --key-file=key --device=remote sines.dhp; "
        "kill $worker; wait $worker",
        ANSWER,
    ),
    ("the samples are there", "dhpvm-run /usr/share/doc/dhpvm/samples/mandelbrot.dhp && ls mandelbrot*", "mandelbrot"),
    ("there is no compiler", "! command -v cc && ! command -v clang && echo none", "none"),
]


def failed(what, output):
    print(f"FAILED  {what}\n{output}")
    return False


def passes_lintian(packages):
    """No error and no warning. New packages need not close a bug report."""
    command = ["lintian", "--fail-on=error,warning", "--suppress-tags=initial-upload-closes-no-bugs", *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return failed("lintian", done.stdout + done.stderr)
    print("ok      lintian")
    return True


def fresh_system(root, packages):
    """A Debian with nothing but these packages and what they need; an error text, or None."""
    done = subprocess.run(
        ["mmdebstrap", "--variant=minbase", "--quiet", SUITE, root], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return done.stderr
    for package in packages:
        shutil.copy2(package, root / "tmp")
    install = "apt-get install -y -q --no-install-recommends " + " ".join(f"/tmp/{p.name}" for p in packages)
    done = in_system(root, f"{install} && useradd --create-home --uid 10000 user", user="root")
    return None if done.returncode == 0 else done.stdout + done.stderr


def in_system(root, command, user="user"):
    folder = "/root" if user == "root" else "/home/user"
    words = ["chroot", f"--userspec={user}", root, "env", "-i", f"HOME={folder}", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
    script = f"cd {folder} && {command}"
    words += ["DEBIAN_FRONTEND=noninteractive", "sh", "-c", script]
    return subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="where the packages are")
    packages = sorted(parser.parse_args().folder.glob("*.deb"))
    if not packages:
        print("there are no packages: ./dev package makes them")
        return 1
    good = passes_lintian(packages)
    with tempfile.TemporaryDirectory(prefix="dhpvm-packages-") as folder:
        root = Path(folder) / "root"
        trouble = fresh_system(root, packages)
        if trouble is not None:
            failed("installation in a fresh system", trouble)
            return 1
        print("ok      installation in a fresh system")
        mount = ["mount", "--bind", "/proc", root / "proc"]
        subprocess.run(mount, check=True)
        try:
            (root / "home/user/sines.dhp").write_text(PROGRAM)
            for what, command, expected in CHECKS:
                done = in_system(root, command)
                if expected in done.stdout:
                    print(f"ok      {what}")
                else:
                    good = failed(what, f"$ {command}\n{done.stdout}{done.stderr}")
        finally:
            subprocess.run(["umount", "--lazy", root / "proc"], check=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
