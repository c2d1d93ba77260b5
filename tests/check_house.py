#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The house rules that neither the compiler nor clang-tidy knows.

usage: check_house.py ROOT

Checks that rooms include only what the arrows of the architecture allow, that the headers of vendors are included in
their one folder, that public headers stand on the standard library alone, that no two types have one name in one
namespace, that nothing reads what an instruction does from its mnemonic, that lines of sources, programs, scripts and
documents have at most 120 columns, files of the product 500 lines and functions in C++ 80, that every source file
carries the licence line, and that every room has a README that is a page and not a book. Prints one line per violation.
"""

import re
import sys
from pathlib import Path

from type_names import check_type_names

# The rooms that each room may include, besides itself and the rooms inside it. A room that may include another may
# include those inside that one as well, unless they stand above (vm/api). Arrows run downwards only. The folders below
# the rooms (python, samples, bench, tests) may use everything.
ROOMS = {
    "base": set(),
    "bytecode": {"base"},
    "gc": {"base"},
    "codegen": {"bytecode", "base"},
    "offload": {"codegen", "bytecode", "base"},
    "offload/loops": {"codegen", "bytecode", "base"},
    "offload/devices": {"offload/loops", "codegen", "bytecode", "base"},
    "offload/ptx": {"base"},
    "offload/drivers": {"offload/ptx", "offload/devices", "offload/loops", "codegen", "bytecode", "base"},
    "offload/remote": {"offload/devices", "offload/loops", "codegen", "bytecode", "base"},
    "offload/remote/fabric": {"codegen", "bytecode", "base"},
    "offload/schedule": {"offload/devices", "offload/loops", "codegen", "bytecode", "base"},
    "compiler": {"bytecode", "base"},
    "compiler/text": {"base"},
    "compiler/parse": {"compiler/text", "base"},
    "compiler/format": {"compiler/parse", "compiler/text", "base"},
    "compiler/hir": {"bytecode", "base"},
    "compiler/check": {"compiler/parse", "compiler/hir", "compiler/text", "bytecode", "base"},
    "compiler/lower": {"compiler/hir", "bytecode", "base"},
    "compiler/lsp": {
        "compiler/format",
        "compiler/check",
        "compiler/parse",
        "compiler/hir",
        "compiler/text",
        "bytecode",
        "base",
    },
    "vm": {
        "codegen",
        "offload/schedule",
        "offload/drivers",
        "offload/devices",
        "offload/loops",
        "gc",
        "bytecode",
        "base",
    },
    "stdlib": {"vm", "compiler", "gc", "bytecode", "base"},
    "vm/api": {"stdlib", "vm", "compiler", "codegen", "offload", "gc", "bytecode", "base"},
    "tools": set(),
    "tools/ptx": {"offload/ptx", "base"},
}
# The folders that may include all public headers, or only the vocabulary that every room shares.
C_HEADERS = {"stddef.h", "stdint.h"}
VOCABULARY = {"dhpvm/result.h", "dhpvm/export.h", "dhpvm/version.h", "dhpvm/worker_log.h", "dhpvm/rights.h"}
PUBLIC_API_USERS = {"vm/api", "tools"}

# Headers of vendors, and the one folder that includes them.
VENDORS = [
    (re.compile(r"llvm(-c)?/"), "codegen"),
    (re.compile(r"CL/"), "offload/drivers/opencl"),
    (re.compile(r"(cuda|cuda_runtime|cuda_runtime_api|nvrtc|nvPTXCompiler)\.h$"), "offload/drivers/cuda"),
    (re.compile(r"rdma/"), "offload/remote/fabric"),
    (re.compile(r"openssl/"), "offload/remote/fabric"),
]

# The meaning of an instruction is read from the columns of isa.def, never from its mnemonic. These spell it for people;
# tests may as well.
SPELLINGS = "bytecode/isa_text.h"
SPELLS = {
    "bytecode/isa.cpp",
    "bytecode/assembler_body.cpp",
    "bytecode/disassembler.cpp",
    "bytecode/isa_reference.cpp",
    "bytecode/function_builder.cpp",
    "bytecode/verify_flow.cpp",
    "bytecode/verify_kernel.cpp",
    "offload/loops/footprint.cpp",
}

# Names for standard error, and the files that use it for the reason why they end the process.
STREAMS = re.compile(r"\b(stderr|cerr|clog|perror)\b")
LAST_WORDS = {"codegen/host/guard.cpp", "gc/heap_collect.cpp"}

# Folders whose files are not the project's sources.
SKIPPED = {"build", ".git", ".cache", "__pycache__"}
LICENCE = "SPDX-License-Identifier: Apache-2.0"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
README_LINES = (3, 60)
COLUMNS = 120
TEXT_LITERAL = re.compile(r'"(\\.|[^"\\])*"')
FILE_LINES = 500
FUNCTION_LINES = 80

# Functions that still exceed the limit, with their greatest length. Entries are taken out, never added.
LONG_FUNCTIONS = {
    "bench/verify_bench.cpp": 87,
}
# Scripts with tables, programs and texts in longer lines.
WIDE_SCRIPTS = {
    "bench/harness.py",
    "bench/run_batching.py",
    "bench/run_jit.py",
    "bench/run_kernels.py",
    "bench/run_offload.py",
    "bench/run_regex.py",
    "bench/run_remote.py",
    "packaging/check_packages.py",
    "tests/check_stdlib_docs.py",
    "tests/datetime_against_python.py",
    "tests/json_against_python.py",
    "tests/npy_against_python.py",
    "tests/program.py",
    "tests/ptx_check.py",
    "tests/random_blocks.py",
    "tests/random_nests.py",
    "tests/random_places.py",
    "tests/random_records.py",
    "tests/regex_against_python.py",
    "tests/run_samples.py",
    "tests/stats_against_python.py",
    "tests/stop_test.py",
    "tests/tools/run_editors.py",
    "tests/tools/run_language_server.py",
    "tests/tools/run_ptx.py",
    "tests/tools/run_rights.py",
    "tests/tools/run_tools.py",
    "tests/tools/run_workers.py",
    "tests/warnings_test.py",
    "tools/editors/make_extensions.py",
    "tools/pages/make_pages.py",
}


def sources(root):
    """All files below `root`, relative to it, outside the skipped folders."""
    found = []
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if path.is_file() and not SKIPPED.intersection(relative.parts):
            found.append(relative)
    return found


def needs_licence(path):
    if path.parts[:2] == ("tests", "programs"):
        return False  # a few lines each; the line numbers in their expectations are easier to read without
    if path.suffix in {".cpp", ".c", ".h", ".def", ".py", ".sh", ".cmake", ".dhp"} or path.name == "CMakeLists.txt":
        return True
    return path == Path("dev")


def check_licence(root, path):
    with open(root / path, encoding="utf-8", errors="replace") as file:
        head = [file.readline() for _ in range(2)]
    # The second line only where the first belongs to the kernel.
    allowed = head if head[0].startswith("#!") else head[:1]
    if not any(LICENCE in line for line in allowed):
        yield f"{path}:1: the first line is not '{LICENCE}' in a comment"


def room_of(path):
    """The innermost room that holds the file; the first folder where none does."""
    folder = path.rpartition("/")[0]
    while folder and folder not in ROOMS:
        folder = folder.rpartition("/")[0]
    return folder or path.split("/")[0]


def may_include(room, target):
    def is_in(inner, outer):
        return inner == outer or inner.startswith(outer + "/")

    if room in ROOMS[target]:
        return False
    return is_in(target, room) or any(is_in(target, allowed) for allowed in ROOMS[room])


def has_columns(path):
    """Whether the lines of the file are measured."""
    if path.suffix == ".py":
        return path.as_posix() not in WIDE_SCRIPTS
    return path.suffix in {".cpp", ".c", ".h", ".dhp", ".md"}


def check_columns(root, path):
    """Lines of sources and documents that are too long. Some cannot be broken: rows of tables and code in documents,
    what a program of the corpus is expected to print, and its text literals."""
    in_code = False
    for number, line in enumerate((root / path).read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        if path.suffix == ".md":
            in_code ^= line.lstrip().startswith("```")
            if in_code or line.lstrip().startswith("|"):
                continue
        if path.parts[:2] == ("tests", "programs"):
            line = "" if re.match(r"\s*// expect", line) else TEXT_LITERAL.sub("", line)
        if len(line) > COLUMNS:
            yield f"{path}:{number}: {len(line)} columns; a line has at most {COLUMNS}"


def is_product(path):
    """Whether the file is a source of the product: no test, no benchmark, and nothing that only these use."""
    room = path.parts[0]
    if room not in ROOMS and room not in {"include", "python"}:
        return False
    is_test = re.search(r"_(test|bench|fuzz|harness)$|^test_|_for_tests$", path.stem)
    is_package = path.parts[:2] in {("python", "dhpvm"), ("python", "backend")}
    return not is_test and path.suffix in {".cpp", ".c", ".h"} | ({".py"} if is_package else set())


def check_lengths(root, path):
    """Files of the product, and functions of all sources in C++, that are too long."""
    lines = (root / path).read_text(encoding="utf-8", errors="replace").splitlines()
    name = path.as_posix()
    if is_product(path) and len(lines) > FILE_LINES:
        yield f"{path}:1: {len(lines)} lines; a file of the product has at most {FILE_LINES}: split it by concern"
    if path.suffix == ".py":
        return
    most = LONG_FUNCTIONS.get(name, FUNCTION_LINES)
    begin = None
    for number, line in enumerate(lines, start=1):
        # Functions at the margin: their last line is a brace alone, that of a type is followed by a semicolon.
        if line.endswith("{") and line[0] not in " }#/" and not line.startswith(("namespace", 'extern "C" {')):
            begin = number
        elif line in {"}", "};"}:
            if line == "}" and begin is not None and number - begin + 1 > most:
                yield f"{path}:{begin}: {number - begin + 1} lines; a function has at most {most}"
            begin = None


def check_include(path, header, quote):
    """The violations of one #include of `header` in the file `path`."""
    room = room_of(path.as_posix())
    target = room_of(header)
    for pattern, folder in VENDORS:
        if pattern.match(header) and not path.as_posix().startswith(folder + "/"):
            yield f"<{header}> may be included in {folder}/ only"
    if header == SPELLINGS and path.as_posix() not in SPELLS and not path.stem.endswith("_test"):
        yield f"{SPELLINGS} is for messages and the text form; ask bytecode/isa.h what an instruction does"
    if room == "include":
        # Headers of C hold the part that C and C++ share.
        if header in C_HEADERS and (path.name == "c.h" or path.parent.name == "c"):
            return
        if target != "dhpvm" and (quote == '"' or "/" in header or header.endswith(".h")):
            yield f"a public header may include the standard library and dhpvm/ only, not {header}"
        return
    if room not in ROOMS:
        return
    if target in ROOMS and not may_include(room, target):
        allowed = ", ".join(sorted(ROOMS[room])) or "include/dhpvm"
        yield f"{room}/ may not include {target}/ (allowed: {allowed})"
    if target == "dhpvm" and header not in VOCABULARY and room not in PUBLIC_API_USERS:
        yield f"{room}/ stands below the public API and may not include {header}"


def check_includes(root, path):
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        match = INCLUDE.match(line)
        if match:
            for problem in check_include(path, match.group(2), match.group(1)):
                yield f"{path}:{number}: {problem}"


def check_streams(root, path):
    """Writes of library code to standard error, which belongs to the application."""
    name = path.as_posix()
    room = room_of(name)
    is_library = (room in ROOMS and room != "tools") or room == "include"
    if not is_library or re.search(r"_(test|bench|fuzz|harness)$", path.stem) or name in LAST_WORDS:
        return
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    if re.search(r"^int main\(", text, re.MULTILINE):
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if STREAMS.search(line.partition("//")[0]):
            yield f"{path}:{number}: the library writes to no stream of the process; tell EngineOptions::log instead"


def check_readme(root, room):
    readme = root / room / "README.md"
    if not readme.is_file():
        yield f"{room}/: has no README.md (what belongs here, what may be included, where to start reading)"
        return
    lines = len(readme.read_text(encoding="utf-8").splitlines())
    if not README_LINES[0] <= lines <= README_LINES[1]:
        yield f"{room}/README.md: {lines} lines; {README_LINES[0]} to {README_LINES[1]} are asked for"


def check(root):
    """Every violation below `root`, one line each."""
    problems = []
    files = sources(root)
    for path in files:
        if needs_licence(path):
            problems += check_licence(root, path)
        if path.suffix in {".cpp", ".h"}:
            problems += check_includes(root, path)
            problems += check_streams(root, path)
        if path.suffix in {".cpp", ".h", ".py"}:
            problems += check_lengths(root, path)
        if has_columns(path):
            problems += check_columns(root, path)
    problems += check_type_names(root, [path for path in files if path.suffix in {".cpp", ".h"}])
    folders = {path.parts[0] for path in files if len(path.parts) > 1} & {"python", "samples", "bench", "tests"}
    for folder in sorted(folders | {room for room in ROOMS if (root / room).is_dir()}):
        problems += check_readme(root, folder)
    return problems


def main():
    if len(sys.argv) != 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    problems = check(Path(sys.argv[1]))
    for problem in problems:
        print(problem)
    print(f"{len(problems)} violations of the house rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
