#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries the packages where nothing else of DHPVM is: usage: check_packages.py FOLDER

Looks at each Debian package of FOLDER with lintian, makes a fresh Debian without a compiler, installs them there, and
runs programs, a worker and a client of it as an ordinary user. The wheel is installed into Debians with different
Pythons. Needs root, mmdebstrap and lintian (./dev package --check installs them), and PyPI for the one package that
the wheel needs besides NumPy. Prints one line for each check; exit code 1 if one fails.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SUITE = "bookworm"
PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}  # that suites have
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
ANSWER = "500000.044"
# Compiles a function for the host, and gives an array to a program and back.
PYTHON_PROGRAM = """
import math, sys
import numpy as np
import dhpvm

@dhpvm.jit(jit="eager", jit_wait=True)
def squares(x):
    y = np.empty_like(x)
    for i in dhpvm.prange(len(x)):
        y[i] = math.sin(x[i]) ** 2
    return y

y = squares(dhpvm.array(np.arange(1000000.0)))
print(f"{sys.version_info.major}.{sys.version_info.minor} {np.asarray(y).sum():.3f}")
print(squares.explain())
"""
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
    install = "apt-get install -y -q --no-install-recommends " + " ".join(f"/tmp/{p.name}" for p in packages)
    hooks = [f"copy-in {' '.join(map(str, packages))} /tmp", f'chroot "$1" {install}',
             'chroot "$1" useradd --create-home --uid 10000 user']
    return make_system(root, SUITE, hooks)


def make_system(root, suite, hooks, *options):
    """A Debian that hooks change while it still has its lists of packages; an error text, or None."""
    command = ["mmdebstrap", "--variant=minbase", "--quiet", *options, *(f"--customize-hook={hook}" for hook in hooks),
               suite, root]  # fmt: skip
    if suite != SUITE:
        command.append("http://deb.debian.org/debian")  # there need be no source for it here
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stdout + done.stderr


def passes_wheel(wheel, suite, python, tools):
    """Installs the wheel where there is another Python, and runs a function."""
    what = f"the wheel with Python {python}"
    with tempfile.TemporaryDirectory(prefix="dhpvm-wheel-") as folder:
        wheels, root = Path(folder) / "wheels", Path(folder) / "root"
        get = [tools / "python", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
               f"--python-version={python}", f"--dest={wheels}", "nanobind-backend"]  # fmt: skip
        done = subprocess.run(get, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return failed(what, done.stdout + done.stderr)
        shutil.copy2(wheel, wheels)
        (wheels / "squares.py").write_text(PYTHON_PROGRAM)
        install = "pip install --quiet --break-system-packages --no-index --find-links=/wheels dhpvm"
        trouble = make_system(root, suite, [f"copy-in {wheels} /", f'chroot "$1" {install}',
                                            'chroot "$1" useradd --create-home --uid 10000 user'],
                              "--include=python3-pip,python3-numpy")  # fmt: skip
        if trouble is not None:
            return failed(what, trouble)
        done = in_system(root, "python3 /wheels/squares.py")
        if f"{python} {ANSWER}" not in done.stdout or "compiled" not in done.stdout:
            return failed(what, done.stdout + done.stderr)
    print(f"ok      {what}")
    return True


def in_system(root, command, user="user"):
    folder = "/root" if user == "root" else "/home/user"
    words = ["chroot", f"--userspec={user}", root, "env", "-i", f"HOME={folder}", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
    script = f"cd {folder} && {command}"
    words += ["DEBIAN_FRONTEND=noninteractive", "sh", "-c", script]
    return subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="where the packages are")
    folder = parser.parse_args().folder
    packages, wheels = sorted(folder.glob("*.deb")), list(folder.glob("*.whl"))
    if not packages or len(wheels) != 1:
        print("there are no packages: ./dev package makes them")
        return 1
    good = passes_lintian(packages)
    for suite, python in PYTHONS.items():
        good = passes_wheel(wheels[0], suite, python, folder.parent / "wheel-tools" / "bin") and good
    with tempfile.TemporaryDirectory(prefix="dhpvm-packages-") as place:
        root = Path(place) / "root"
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
