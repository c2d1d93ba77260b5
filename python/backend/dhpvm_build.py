# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel for pip: `pip install ./python` in a checkout, with CMake and a compiler and no other package than
nanobind. The hooks are those of PEP 517 and PEP 660."""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
ROOT = PROJECT.parent
BUILD = ROOT / "build" / "wheel"
NANOBIND = "nanobind>=3.1"
TAG = "cp310-abi3-linux_{}"
TOOLS = {"cmake": "cmake", "ninja": "ninja-build"}  # and the packages of Debian that have them


class UnsupportedOperation(Exception):
    """The error that pip expects where a backend cannot run a hook."""


def get_requires_for_build_wheel(config_settings=None):
    return [NANOBIND] + ["tomli"] * (sys.version_info < (3, 11))


get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = Path(metadata_directory) / _info_name()
    folder.mkdir()
    for name, content in _info_files().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return folder.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build(config_settings or {})
    staged = BUILD / "staged"
    shutil.rmtree(staged, ignore_errors=True)
    _run("cmake", "--install", BUILD, "--prefix", staged, "--component", "python", "--strip")
    return write_wheel(wheel_directory, {**python_files(), **files_in(staged)})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The build has links to the modules of the checkout: a path to it is the package."""
    build(config_settings or {})
    return write_wheel(wheel_directory, {"dhpvm.pth": f"{BUILD / 'python'}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    raise UnsupportedOperation("the package is built in a checkout of the whole project: pip install ./python")


# ---- The build.

def build(settings):
    """Compiles the library and the part of the package that is compiled."""
    if not (ROOT / "CMakePresets.json").exists():
        sys.exit(f"dhpvm is built in a checkout of the whole project, and {ROOT} is none: clone it, and run "
                 "`pip install ./python` there")
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        sys.exit(f"the build needs {' and '.join(missing)}: `apt install {' '.join(missing)}`, or run `./dev packages` "
                 "in the checkout")
    if subprocess.run([sys.executable, "-m", "nanobind", "--cmake_dir"], capture_output=True, check=False).returncode:
        sys.exit(f"the build needs nanobind: `pip install '{NANOBIND}'`, or build without --no-build-isolation")
    preset = settings.get("preset") or ("release" if shutil.which("clang++-19") else "gcc")
    _run("cmake", f"--preset={preset}", "-B", BUILD, "-DDHPVM_TESTS=OFF", "-DDHPVM_BENCH=OFF", "-DDHPVM_WHEEL=ON",
         f"-DDHPVM_PYTHON={sys.executable}")
    _run("cmake", "--build", BUILD, "--target", "python_package")


def _run(*words):
    words = [str(word) for word in words]
    if subprocess.run(words, cwd=ROOT, check=False).returncode != 0:
        sys.exit(f"`{' '.join(words)}` has failed: see above; `./dev packages` in the checkout installs what a build "
                 "needs")


# ---- What is in a wheel.

def version():
    header = (ROOT / "include" / "dhpvm" / "version.h").read_text()
    return re.search(r'define DHPVM_VERSION "([0-9.]+)"', header)[1]


def files_in(folder):
    """The contents of the files under a folder, by their names in the wheel."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def python_files():
    return {f"dhpvm/{name}": content for name, content in files_in(PROJECT / "dhpvm").items()
            if "__pycache__" not in name}


def _project():
    try:
        import tomllib
    except ImportError:
        import tomli as tomllib
    return tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]


def _info_name():
    return f"dhpvm-{version()}.dist-info"


def _info_files():
    project = _project()
    head = [("Metadata-Version", "2.4"), ("Name", project["name"]), ("Version", version()),
            ("Summary", project["description"]), ("Requires-Python", project["requires-python"]),
            ("License-Expression", project["license"]), ("License-File", "LICENSE"),
            *(("Classifier", each) for each in project["classifiers"]),
            *(("Requires-Dist", each) for each in project["dependencies"]),
            ("Description-Content-Type", "text/markdown")]
    metadata = "\n".join(f"{name}: {value}" for name, value in head) + "\n\n" + (PROJECT / "README.md").read_text()
    wheel = f"Wheel-Version: 1.0\nGenerator: dhpvm_build\nRoot-Is-Purelib: false\nTag: {_tag()}\n"
    return {"METADATA": metadata.encode(), "WHEEL": wheel.encode(),
            "licenses/LICENSE": (ROOT / "LICENSE").read_bytes()}


def _tag():
    return TAG.format(os.uname().machine)


def write_wheel(folder, files):
    """Writes the wheel with these contents by name; returns its name."""
    info = _info_name()
    files = {**files, **{f"{info}/{name}": content for name, content in _info_files().items()}}
    record = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]) + "\n").encode()
    name = f"dhpvm-{version()}-{_tag()}.whl"
    with zipfile.ZipFile(Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)
            entry.compress_type = zipfile.ZIP_DEFLATED
            is_library = path.endswith(".so") or ".so." in path
            entry.external_attr = (0o100755 if is_library else 0o100644) << 16
            wheel.writestr(entry, content)
    return name


def _digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
