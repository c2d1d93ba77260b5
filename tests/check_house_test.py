#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that every house rule can be broken, and that the check then says so."""

import sys
import tempfile
import unittest
from pathlib import Path

import check_house

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cmake"))

from compiled_together import compiled_together  # noqa: E402

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


class HouseTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        for folder in list(Path(path).parents)[:-1]:
            readme = self.root / folder / "README.md"
            if not readme.exists():
                readme.write_text("# room\n\nwhat it is\n")

    def problems_of(self, path, include):
        self.write(path, LICENCE + include + "\n")
        return check_house.check(self.root)

    def assert_allowed(self, path, include):
        self.assertEqual(self.problems_of(path, include), [])

    def assert_refused(self, path, include, text):
        problems = self.problems_of(path, include)
        self.assertTrue(any(text in problem for problem in problems), problems)
        self.assertTrue(problems[0].startswith(f"{path}:2: "), problems)

    def test_arrows_run_downwards(self):
        self.assert_allowed("gc/a.cpp", '#include "base/file.h"')
        self.assert_allowed("vm/a.cpp", '#include "gc/heap.h"')
        self.assert_refused("gc/a.cpp", '#include "bytecode/isa.h"', "gc/ may not include bytecode/")

    def test_files_and_functions_have_a_length(self):
        def problems(path, lines):
            self.write(path, LICENCE + "\n".join(lines) + "\n")
            return [problem for problem in check_house.check(self.root) if "at most" in problem]

        self.assertEqual(problems("gc/a.cpp", ["int x;"] * 499), [])
        self.assertIn("gc/a.cpp:1: 501 lines", problems("gc/a.cpp", ["int x;"] * 500)[0])
        self.assertEqual(problems("gc/a.cpp", []) + problems("gc/a_test.cpp", ["int x;"] * 600), [])
        self.assertIn("python/dhpvm/a.py:1: 501 lines", problems("python/dhpvm/a.py", ["x = 1"] * 500)[0])
        self.assertEqual(problems("python/dhpvm/a.py", []) + problems("python/tests/a.py", ["x = 1"] * 600), [])
        function = ["void f() {", *["  g();"] * 78, "}"]
        self.assertEqual(problems("gc/a.cpp", ["struct A {", *["  int x;"] * 90, "};", *function]), [])
        function.insert(1, "  g();")
        self.assertEqual(problems("gc/a.cpp", function), ["gc/a.cpp:2: 81 lines; a function has at most 80"])

    def test_scripts_have_a_width(self):
        self.write("tests/a.py", "# SPDX-License-Identifier: Apache-2.0\n" + "x" * 121 + "\n")
        self.assertIn("tests/a.py:2: 121 columns; a line has at most 120", check_house.check(self.root))

    def test_rooms_below_may_not_look_up(self):
        self.assert_refused("base/a.h", '#  include "vm/engine.h"', "base/ may not include vm/")

    def test_rooms_inside_a_room_have_arrows_of_their_own(self):
        self.assert_allowed("compiler/compiler.cpp", '#include "compiler/parse/ast.h"')
        self.assert_allowed("compiler/check/a.cpp", '#include "compiler/parse/ast.h"')
        self.assert_allowed("stdlib/a.cpp", '#include "compiler/text/source.h"')
        refused = "compiler/lower/ may not include compiler/parse/"
        self.assert_refused("compiler/lower/a.cpp", '#include "compiler/parse/ast.h"', refused)
        refused = "compiler/hir/ may not include compiler/"
        self.assert_refused("compiler/hir/a.h", '#include "compiler/compiler.h"', refused)

    def test_a_room_inside_may_stand_above(self):
        self.assert_allowed("vm/api/a.cpp", '#include "stdlib/modules.h"')
        self.assert_allowed("vm/api/a.cpp", '#include "vm/isolate.h"')
        self.assert_refused("vm/a.cpp", '#include "vm/api/state.h"', "vm/ may not include vm/api/")
        self.assert_refused("vm/a.cpp", '#include "stdlib/modules.h"', "vm/ may not include stdlib/")
        self.assert_refused("stdlib/a.cpp", '#include "vm/api/state.h"', "stdlib/ may not include vm/api/")

    def test_tools_see_the_public_api_alone(self):
        self.assert_allowed("tools/a.cpp", '#include "dhpvm/dhpvm.h"')
        self.assert_refused("tools/a.cpp", '#include "vm/engine.h"', "tools/ may not include vm/")

    def test_rooms_know_the_vocabulary_of_the_public_api_only(self):
        self.assert_allowed("gc/a.cpp", '#include "dhpvm/result.h"')
        self.assert_refused("gc/a.cpp", '#include "dhpvm/dhpvm.h"', "stands below the public API")

    def test_vendor_headers_stay_in_their_folder(self):
        self.assert_allowed("codegen/a.cpp", "#include <llvm/IR/Module.h>")
        self.assert_allowed("offload/drivers/opencl/a.cpp", "#include <CL/cl.h>")
        self.assert_refused("vm/a.cpp", "#include <llvm/IR/Module.h>", "in codegen/ only")

    def test_mnemonics_are_for_people(self):
        spelling = '#include "bytecode/isa_text.h"'
        self.assert_allowed("bytecode/disassembler.cpp", spelling)
        self.assert_allowed("vm/arithmetic_test.cpp", spelling)
        self.assert_refused("vm/trap.cpp", spelling, "ask bytecode/isa.h what an instruction does")
        self.assert_refused("bytecode/decode.cpp", spelling, "ask bytecode/isa.h what an instruction does")

    def test_cuda_stays_in_its_folder(self):
        self.assert_refused("offload/schedule/pipeline/a.cpp", "#include <cuda.h>", "in offload/drivers/cuda/ only")

    def test_public_headers_stand_on_the_standard_library(self):
        self.assert_allowed("include/dhpvm/a.h", '#include <vector>\n#include "dhpvm/result.h"')
        self.assert_refused("include/dhpvm/a.h", "#include <fmt/format.h>", "a public header may include")

    def test_the_licence_line_is_first(self):
        self.write("gc/a.h", "#pragma once\n")
        self.assertIn("SPDX", "".join(check_house.check(self.root)))
        self.write("gc/a.h", "#pragma once\n" + LICENCE)
        self.assertIn("SPDX", "".join(check_house.check(self.root)))
        self.write("gc/a.h", LICENCE)
        self.write("tests/a.py", "#!/usr/bin/env python3\n" + LICENCE.replace("//", "#"))
        self.assertEqual(check_house.check(self.root), [])

    def assert_types(self, first, second, clash):
        self.write("gc/a.h", LICENCE + first)
        self.write("gc/b.cpp", LICENCE + second)
        problems = check_house.check(self.root)
        self.assertEqual(len(problems), 1 if clash else 0, problems)
        if clash:
            self.assertIn("the name dhpvm::gc::Chunk is used by another type, too: gc/b.cpp:", problems[0])

    def test_names_of_types_are_unique_in_their_namespace(self):
        chunk = "namespace dhpvm::gc {\nstruct Chunk { int a; };\n}\n"
        self.assert_types(chunk, chunk.replace("int a", "char b[500]"), True)
        for second in (
            "namespace dhpvm {\nnamespace gc {\nclass API_MARK [[nodiscard]] Chunk final {};\n}}\n",
            "namespace dhpvm::gc {\ntemplate <class T, int N = f(1)> class Chunk : Base<T> {};\n}\n",
            "namespace dhpvm::gc { namespace {\nenum class Chunk : char { kNone };\n} }\n",
            "namespace dhpvm::inline V_1::gc {\nstruct Chunk { char b; };\n}\n",
        ):
            self.assert_types(chunk, second, True)
        self.assert_types(chunk, chunk.replace("gc", "vm"), False)

    def test_what_looks_like_a_second_type_is_none(self):
        chunk = "namespace dhpvm::gc {\nstruct Chunk { int a; };\n}\n"
        for second in (
            "namespace dhpvm::gc {\nstruct Other { struct Chunk {}; };\nvoid f() { struct Chunk {}; }\n}\n",
            "namespace dhpvm::gc {\nstruct Chunk;\nChunk f(struct Chunk* p) { return *p; }\n}\n",
            'namespace dhpvm::gc {\n// struct Chunk {\nauto t = R"(struct Chunk {)", u = "{";\n}\n',
        ):
            self.assert_types(chunk, second, False)
        unnamed = "namespace dhpvm::gc { namespace {\nstruct Chunk {};\n}}\n"
        self.assert_types(unnamed, unnamed, False)

    def assert_apart(self, first, second, apart):
        self.write("gc/a.cpp", LICENCE + "namespace dhpvm::gc {\n" + first + "\n}\n")
        self.write("gc/b.cpp", LICENCE + "namespace dhpvm::gc {\n" + second + "\n}\n")
        listed = [("gc", "room", Path("gc/a.cpp")), ("gc", "room", Path("gc/b.cpp"))]
        groups = {path.as_posix(): group for _, path, group in compiled_together(self.root, listed)}
        self.assertEqual(groups, {"gc/a.cpp": 0, "gc/b.cpp": 1 if apart else 0})

    def test_files_that_mean_two_things_by_one_name_are_compiled_apart(self):
        count = "namespace { constexpr int kCount = 1; }"
        self.assert_apart(count, count, True)
        self.assert_apart(count, "namespace { void kCount(int a) { a = 1; } }", True)
        self.assert_apart(count, "static bool kCount = true;", True)
        self.assert_apart(count, "namespace { constexpr int kOther = 1; }", False)
        self.assert_apart("using ast::Kind;", "using hir::Kind;", True)
        self.assert_apart("using hir::Kind;", "using hir::Kind;", False)
        self.assert_apart("using Kind = hir::Kind;", "using Kind = ast::Kind;", True)
        self.assert_apart("using Kind = hir::Kind;", "using Kind = hir::Kind;", False)
        self.write("gc/c.h", LICENCE + "namespace dhpvm {\nstruct Kind {};\n}\n")
        self.assert_apart('#include "gc/c.h"', "namespace { struct Kind {}; }", True)
        self.assert_apart("", "namespace { struct Kind {}; }", False)
        self.write("gc/c.h", LICENCE + "namespace dhpvm {\ntypedef void (*Handler)(int);\n}\n")
        self.assert_apart('#include "gc/c.h"', "namespace { typedef void (*Other)(int); }", False)
        self.assert_apart('#include "gc/c.h"', "namespace { typedef int (*Handler)(int); }", True)

    def test_files_of_the_same_targets_are_compiled_together(self):
        for name in "abc":
            self.write(f"gc/{name}.cpp", LICENCE)
        self.write("vm/d.cpp", LICENCE)
        targets = [("gc", "one", "a"), ("gc", "one", "b"), ("gc", "one", "c"), ("gc", "two", "c")]
        listed = [(folder, target, Path(f"gc/{name}.cpp")) for folder, target, name in targets]
        groups = compiled_together(self.root, [*listed, ("vm", "other", Path("vm/d.cpp"))])
        found = {(folder, path.stem): group for folder, path, group in groups}
        self.assertEqual(found, {("gc", "a"): 0, ("gc", "b"): 0, ("gc", "c"): 1, ("vm", "d"): 0})

    def test_what_clashes_with_most_is_placed_first(self):
        names = {"a": "kOne", "b": "kTwo", "c": "kOne kTwo", "d": "kThree"}
        for name, constants in names.items():
            text = "".join(f"constexpr int {constant} = 1;" for constant in constants.split())
            self.write(f"gc/{name}.cpp", LICENCE + f"namespace dhpvm::gc {{ namespace {{ {text} }} }}\n")
        listed = [("gc", "room", Path(f"gc/{name}.cpp")) for name in names]
        found = {path.stem: group for _, path, group in compiled_together(self.root, listed)}
        self.assertEqual(found, {"c": 0, "d": 0, "a": 1, "b": 1})

    def test_lines_have_at_most_120_columns(self):
        words = "word " * 30
        self.write("gc/a.h", LICENCE + "// " + words + "\n")
        self.write("docs/a.md", f"| {words} |\n```\n{words}\n```\n{words}\n")
        self.write("stdlib/a.dhp", LICENCE + "// " + words + "\n")
        long_text = f'print("{words}");  // expect: word\n'
        self.write("tests/programs/a.dhp", f"// expect: {words}\n{long_text}f({words});\nf();  // expect: {words}\n")
        problems = check_house.check(self.root)
        places = [problem.split(" ")[0] for problem in problems]
        program = "tests/programs/a.dhp"
        self.assertEqual(places, ["docs/a.md:5:", "gc/a.h:2:", "stdlib/a.dhp:2:", f"{program}:3:", f"{program}:4:"])

    def test_the_library_writes_to_no_stream(self):
        self.assert_allowed("tools/a.cpp", 'void f() { std::fputs("x", stderr); }')
        self.assert_allowed("gc/a_test.cpp", 'void f() { std::cerr << "x"; }')
        self.assert_allowed("gc/a.cpp", "int f();  // not on stderr")
        self.assert_refused("vm/api/a.cpp", 'void f() { std::cerr << "x"; }', "tell EngineOptions::log")
        self.assert_refused("gc/a.cpp", 'void f() { std::fputs("x", stderr); }', "tell EngineOptions::log")

    def test_a_room_has_a_readme(self):
        self.write("gc/a.h", LICENCE)
        (self.root / "gc/README.md").unlink()
        self.assertIn("has no README.md", "".join(check_house.check(self.root)))

    def test_so_has_a_room_inside_a_room(self):
        self.write("compiler/hir/a.h", LICENCE)
        (self.root / "compiler/hir/README.md").unlink()
        self.assertIn("compiler/hir/: has no README.md", "".join(check_house.check(self.root)))


if __name__ == "__main__":
    unittest.main()
