#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs in the language called from Python: values, arrays, errors, limits, threads, Ctrl-C."""

import contextlib
import gc
import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest
import weakref
from pathlib import Path

import support  # noqa: F401: skips where there is no NumPy
import numpy as np

import dhpvm

SOURCE = """
import math;

struct Range { low: f64; high: f64; count: i64; }
class Node { value: i64; name: str; next: Node?; }

fn twice(x: f64) -> f64 => 2.0 * x;
fn flip(x: bool) -> bool => !x;
fn same_i8(x: i8) -> i8 => x;
fn same_u8(x: u8) -> u8 => x;
fn same_i64(x: i64) -> i64 => x;
fn same_u64(x: u64) -> u64 => x;
fn same_f32(x: f32) -> f32 => x;
fn greet(name: str) -> str => "hello, " + name;
fn nothing() {}
fn half(n: i64) -> i64? { if n % 2 == 0 { return n / 2; } return null; }
fn range(values: [f64]) -> Range {
    var r = Range(values[0], values[0], values.len);
    for v in values { if v < r.low { r.low = v; } if v > r.high { r.high = v; } }
    return r;
}
fn checked(fails: bool) -> i64! {
    if fails { return Error("it failed"); }
    return 3;
}
fn node(value: i64, name: str) -> Node => Node(value, name, null);
fn value(n: Node) -> i64 => n.value;
fn at(a: [f64], i: i64) -> f64 {
    return a[i];
}
fn sum2(a: [i32, 2]) -> i64 {
    var s = 0;
    for i in 0..a.rows { for j in 0..a.cols { s += a[i, j] as i64; } }
    return s;
}
fn sum3(a: [u16, 3]) -> i64 {
    var s = 0;
    for i in 0..a.depth { for j in 0..a.rows { for k in 0..a.cols { s += a[i, j, k] as i64; } } }
    return s;
}
fn set(a: [f64], x: f64) { for i in 0..a.len { a[i] = x; } }
fn add(a: [f64], b: [f64]) { parallel for i in 0..a.len { a[i] += b[i]; } }
fn table(n: i64) -> [f64, 2] {
    let t = [f64, 2](n, n);
    for i in 0..n { t[i, i] = i as f64; }
    return t;
}
fn say(text: str) { print(text); }
fn forever() { while true {} }
fn divide(a: i64, b: i64) -> i64 => a / b;
"""

m = dhpvm.compile(SOURCE, name="test.dhp")


class Values(unittest.TestCase):
    def test_numbers_of_every_kind_come_back(self):
        for name, values in {"i8": (-128, 127), "u8": (0, 255), "i64": (-2**63, 2**63 - 1), "u64": (0, 2**64 - 1),
                             "f32": (1.5, float("inf"))}.items():
            for value in values:
                self.assertEqual(getattr(m, f"same_{name}")(value), value)
        self.assertEqual(m.twice(21), 42.0)
        self.assertIs(m.flip(True), False)
        self.assertIsNone(m.nothing())

    def test_scalars_of_numpy_are_taken(self):
        self.assertEqual(m.twice(np.float32(1.5)), 3.0)
        self.assertEqual(m.same_i8(np.int64(5)), 5)
        self.assertIs(m.flip(np.bool_(False)), True)
        self.assertEqual(m.same_u64(np.uint64(2**64 - 1)), 2**64 - 1)

    def test_what_does_not_fit_is_refused(self):
        for call in (lambda: m.same_i8(128), lambda: m.same_u8(-1), lambda: m.same_i64(2**63)):
            self.assertRaises(OverflowError, call)
        for call in (lambda: m.twice("1"), lambda: m.same_i8(1.5), lambda: m.flip(1), lambda: m.twice(),
                     lambda: m.twice(1, 2), lambda: m.twice(x=1), lambda: m.greet(b"x"), lambda: m.value(3)):
            self.assertRaises(TypeError, call)
        with self.assertRaisesRegex(TypeError, "argument 1 should be f64, and is of type str"):
            m.twice("1")

    def test_text_structs_and_nullables(self):
        self.assertEqual(m.greet("Ada é"), "hello, Ada é")
        self.assertEqual(m.range(np.array([3.0, -1.0, 2.0])), (-1.0, 3.0, 3))
        self.assertEqual((m.half(6), m.half(7)[0]), ((True, 3), False))

    def test_objects_have_their_fields_as_attributes(self):
        node = m.node(4, "four")
        self.assertEqual((node.value, node.name, node.next), (4, "four", None))
        node.value, node.name, node.next = 5, "five", m.node(6, "six")
        self.assertEqual((m.value(node), node.name, m.value(node.next)), (5, "five", 6))
        self.assertEqual(node.fields_()[0], ("value", "i64"))
        with self.assertRaisesRegex(AttributeError, "class Node has no field 'missing'"):
            _ = node.missing
        with self.assertRaises(TypeError):
            node.value = "x"

    def test_attributes_that_are_no_functions(self):
        with self.assertRaisesRegex(AttributeError, "no function 'twise'"):
            m.twise(1)
        self.assertEqual(m.functions()["twice"], "(f64) -> f64")
        self.assertIn("twice", dir(m))


class Arrays(unittest.TestCase):
    def test_elements_are_lent(self):
        a = np.zeros(1000)
        m.set(a, 2.5)
        self.assertTrue((a == 2.5).all())
        self.assertEqual(m.sum2(np.arange(6, dtype=np.int32).reshape(2, 3)), 15)
        self.assertEqual(m.sum3(np.arange(24, dtype=np.uint16).reshape(2, 3, 4)), 276)

    def test_other_strides_are_copied_and_written_back(self):
        a = np.zeros(10)
        m.set(a[::3], 1.0)
        m.set(a[8:4:-2], 2.0)
        self.assertEqual(list(a), [1, 0, 0, 1, 0, 0, 2, 0, 2, 1])
        self.assertEqual(m.sum2(np.arange(6, dtype=np.int32).reshape(2, 3).T), 15)

    def test_empty_arrays(self):
        m.set(np.zeros(0), 1.0)
        self.assertEqual(m.sum2(np.zeros((0, 4), np.int32)), 0)

    def test_wrong_arrays_are_refused(self):
        for wrong in (np.zeros(3, np.float32), np.zeros((2, 2)), np.array(1.0), np.zeros(3, ">f8"),
                      np.array([1.0, None]), np.zeros(2, "M8[s]"), np.zeros(2, "f8,i4"), "text", 3):
            with self.subTest(repr(wrong)), self.assertRaisesRegex(TypeError, "argument 1 should be"):
                m.at(wrong, 0)

    def test_read_only_arrays_are_read_only(self):
        a = np.arange(3.0)
        a.flags.writeable = False
        self.assertEqual(m.at(a, 2), 2.0)
        self.assertRaises(dhpvm.Trap, m.set, a, 1.0)
        self.assertEqual(list(a), [0, 1, 2])

    def test_lists_are_copied(self):
        self.assertEqual(m.at([1, 2.5], 1), 2.5)
        self.assertEqual(m.sum2([[1, 2], [3, 4]]), 10)
        self.assertRaises(dhpvm.Trap, m.set, [1.0], 2.0)

    def test_buffers_that_are_not_numpys(self):
        import array
        a = array.array("d", [1, 2])
        m.set(a, 4.0)
        self.assertEqual(list(a), [4, 4])

    def test_one_array_twice(self):
        a = np.arange(4.0)
        m.add(a, a)
        self.assertEqual(list(a), [0, 2, 4, 6])

    def test_overlap_is_refused(self):
        a = np.arange(4.0)
        with self.assertRaisesRegex(ValueError, "share memory"):
            m.add(a[:3], a[1:])
        m.add(a[:2], a[2:])
        self.assertEqual(list(a), [2, 4, 2, 3])

    def test_results_are_arrays_of_numpy(self):
        for n in (3, 300):
            t = m.table(n)
            self.assertEqual((t.shape, t.dtype, t[n - 1, n - 1]), ((n, n), np.float64, n - 1))
            t[0, 0] = 7
            self.assertEqual(m.table(n)[0, 0], 0)

    def test_results_outlive_their_program(self):
        t = dhpvm.compile(SOURCE).table(200)
        self.assertEqual(t.sum(), 199 * 100)

    def test_large_arrays_are_not_copied(self):
        a = np.zeros(50_000_000 // 8)
        m.at(a, 0)
        begin = time.perf_counter()
        for _ in range(100):
            m.at(a, 0)
        self.assertLess(time.perf_counter() - begin, 0.1)


class Errors(unittest.TestCase):
    def test_traps_are_exceptions_of_python_too(self):
        self.assertRaises(IndexError, m.at, np.zeros(3), 3)
        self.assertRaises(ZeroDivisionError, m.divide, 1, 0)
        with self.assertRaises(dhpvm.IndexTrap) as caught:
            m.at(np.zeros(3), -1)
        self.assertEqual(caught.exception.frames[0], dhpvm.Frame("at", "test.dhp", 29))
        try:
            m.at(np.zeros(3), 3)
        except IndexError:
            self.assertIn('File "test.dhp", line 29, in at', traceback.format_exc())
        self.assertEqual(m.at(np.ones(1), 0), 1.0)

    def test_results_that_are_errors(self):
        self.assertEqual(m.checked(False), 3)
        with self.assertRaisesRegex(dhpvm.ProgramError, "^it failed$") as caught:
            m.checked(True)
        self.assertEqual(caught.exception.error.message, "it failed")

    def test_programs_that_do_not_compile(self):
        with self.assertRaisesRegex(dhpvm.CompileError, "mine.dhp:1"):
            dhpvm.compile("fn f() -> i64 { return x; }", name="mine.dhp")
        self.assertRaises(dhpvm.Error, dhpvm.load, b"no bytecode")
        self.assertRaises(OSError, dhpvm.load, "/nowhere/x.dhp")

    def test_unknown_options(self):
        with self.assertRaisesRegex(TypeError, "no option 'heep'"):
            dhpvm.compile(SOURCE, heep=3)
        with self.assertRaisesRegex(ValueError, "policy is 'best'"):
            dhpvm.Engine(policy="best")


class Running(unittest.TestCase):
    def test_limits(self):
        limited = dhpvm.compile(SOURCE, deadline=0.05, heap=1 << 20)
        self.assertRaises(TimeoutError, limited.forever)
        self.assertRaises(MemoryError, dhpvm.compile(SOURCE, heap=1 << 20, off_heap=1 << 16).table, 2000)
        limited.limit(fuel=10, deadline=10)
        self.assertRaises(dhpvm.LimitTrap, limited.forever)

    def test_output_goes_to_pythons_stdout(self):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            m.say("naïve")
        self.assertEqual(output.getvalue(), "naïve\n")

    def test_control_c(self):
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        self.assertRaises(KeyboardInterrupt, m.forever)
        self.assertEqual(m.twice(1), 2)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_control_c_with_a_handler_of_the_program(self):
        def stop(number, frame):
            raise KeyError("stopped")

        self.assertEqual(m.twice(1), 2)  # takes over the signal, which the program's handler then does
        former = signal.signal(signal.SIGINT, stop)
        try:
            threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            self.assertRaises(KeyError, m.forever)
            with self.assertRaises(KeyError):  # between calls
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(1)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.kill(os.getpid(), signal.SIGINT)
            self.assertEqual(m.twice(1), 2)
        finally:
            signal.signal(signal.SIGINT, former)
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        self.assertRaises(KeyboardInterrupt, m.forever)

    def test_interrupt_from_another_thread(self):
        threading.Timer(0.1, m.interrupt).start()
        self.assertRaises(dhpvm.InterruptTrap, m.forever)

    def test_the_interpreter_lock_is_released(self):
        program = dhpvm.compile(SOURCE, deadline=0.3)
        thread = threading.Thread(target=lambda: self.assertRaises(TimeoutError, program.forever))
        begin = time.perf_counter()
        thread.start()
        turns = 0
        while thread.is_alive():
            turns += 1
        self.assertGreater(turns, 1000)
        self.assertLess(time.perf_counter() - begin, 5)

    def test_threads_take_turns(self):
        a = np.zeros(10_000)
        ones = np.ones(10_000)

        def work():
            for _ in range(50):
                m.add(a, ones)
                m.node(1, "dropped by a thread")

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue((a == 200).all())

    def test_files_bytes_and_pickles(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "p.dhp"
            path.write_text(SOURCE)
            program = dhpvm.load(path)
        for copy in (program, dhpvm.load(program.to_bytes()), pickle.loads(pickle.dumps(program))):
            self.assertEqual(copy.twice(4), 8)

    def test_reload(self):
        given = dhpvm.compile("fn f(x: i64) -> i64 => x + 1; fn g() {}")
        f = given.f
        self.assertEqual(f(1), 2)
        given.reload("fn h() -> i64 => 3; fn f(x: i64) -> i64 => x + 10;")
        self.assertEqual((f(1), given.f(1), given.h()), (11, 11, 3))
        self.assertNotIn("g", given.functions())
        with self.assertRaisesRegex(dhpvm.ArgumentError, "was .i64. -> i64"):
            given.reload("fn f(x: f64) -> f64 => x;")
        self.assertRaises(dhpvm.CompileError, given.reload, "fn f(")
        self.assertEqual((f(1), given.h()), (11, 3))

    def test_rights(self):
        source = "import io; fn read(path: str) -> str! => io.read_text(path);"
        with tempfile.TemporaryDirectory() as folder:
            inner = Path(folder) / "inner"
            inner.mkdir()
            for path in (inner / "a", Path(folder) / "b"):
                path.write_text("text")
            own = dhpvm.compile(source, rights=dhpvm.Rights(read=[inner]))
            self.assertEqual(own.read(str(inner / "a")), "text")
            self.assertRaises(dhpvm.ProgramError, own.read, f"{folder}/b")
            engine = dhpvm.Engine(rights=dhpvm.Rights(read=folder))
            self.assertEqual(engine.compile(source).read(f"{folder}/b"), "text")
            narrow = engine.compile(source, rights=dhpvm.Rights(read=inner))
            self.assertRaises(dhpvm.ProgramError, narrow.read, f"{folder}/b")
            wide = engine.compile(source, rights=dhpvm.Rights(read="/"))
            self.assertRaises(dhpvm.ProgramError, wide.read, "/etc/hostname")
            self.assertEqual(wide.read(f"{folder}/b"), "text")
        self.assertRaisesRegex(dhpvm.ArgumentError, "dhpvm.Rights", dhpvm.compile, source, rights=["x"])

    def test_main(self):
        program = dhpvm.compile("fn main(args: [str]) -> i32 => args.len as i32;")
        self.assertEqual(program.main("a", 2), 2)

    def test_engines(self):
        with dhpvm.Engine(threads=1, device="host") as engine:
            self.assertIs(dhpvm.current(), engine)
            self.assertEqual(dhpvm.compile(SOURCE).twice(1), 2)
        self.assertIsNot(dhpvm.current(), engine)
        self.assertEqual(engine.workers(), [])


    def test_options_of_other_types(self):
        for name, value in (("jit_wait", 2), ("heap", "much"), ("device", 3), ("require_device", "yes")):
            with self.assertRaisesRegex(TypeError, f"the option '{name}' cannot be {value!r}"):
                dhpvm.compile("fn f() {}", **{name: value}).f()

    def test_a_required_device(self):
        source = "fn f(a: [i64]) { parallel for i in 0..a.len { a[i] = i; } }"
        a = np.zeros(100, dtype=np.int64)
        dhpvm.compile(source, device="sim", jit_wait=True, require_device=True).f(a)
        self.assertEqual(a[99], 99)
        unable = dhpvm.compile(source, device="sim?load_fail=1000", jit_wait=True, require_device=True)
        self.assertRaisesRegex(dhpvm.DeviceTrap, "does not run on sim", unable.f, a)
        with self.assertRaises(dhpvm.ArgumentError):
            dhpvm.compile(source, require_device=True, device="host").f(a)


class Library(unittest.TestCase):
    def test_loaded_behind_numpy(self):
        """Without this package, which loads it otherwise: NumPy has loaded the standard library of C++ already."""
        code = ("import ctypes, sys, numpy\n"
                "engine = ctypes.c_void_p()\n"
                "code = ctypes.CDLL(sys.argv[1]).dhpvm_engine_new(None, ctypes.byref(engine), None)\n"
                "print(code, engine.value is not None)")
        done = subprocess.run([sys.executable, "-c", code, dhpvm._core.library_path()], capture_output=True,
                              text=True, check=False, timeout=100)
        self.assertEqual((done.returncode, done.stdout), (0, "0 True\n"), done.stderr)


class Forks(unittest.TestCase):
    def in_child(self, work):
        """The result of work() in a forked process."""
        out, inp = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                text = str(work())
            except BaseException as error:  # noqa: BLE001: told to the parent
                text = repr(error)
            os.write(inp, text.encode())
            os._exit(0)
        os.close(inp)
        with os.fdopen(out) as file:
            text = file.read()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        return text

    def test_functions_are_compiled_anew_in_the_child(self):
        x = np.ones(200_000)
        self.assertEqual(total(x), 200_000)
        self.assertEqual(self.in_child(lambda: total(x)), "200000.0")
        self.assertEqual(self.in_child(lambda: dhpvm.compile(SOURCE).twice(4)), "8.0")
        self.assertEqual(total(x), 200_000)

    def test_programs_of_the_parent_are_an_error(self):
        self.assertIn("before the process was forked", self.in_child(lambda: m.twice(4)))
        self.assertEqual(m.twice(4), 8)


class HostFunctions(unittest.TestCase):
    SOURCE = """
extern fn log(text: str);
extern fn limit(name: str, x: f64, n: i32, flag: bool) -> f64;
extern fn scale(m: [f64, 2], by: [f32]) -> i64;
extern fn several(n: i64) -> (i64, str, [f32]);
extern fn check(n: i64) -> str!;
extern fn again(n: i64) -> i64;
fn logs(n: i64) { for i in 0..n { log("line " + str(i)); } }
fn limits(x: f64) -> f64 => limit("Ada", x, -3 as i32, true);
fn scales(m: [f64, 2], by: [f32]) -> i64 => scale(m, by);
fn all(n: i64) -> (i64, str, [f32]) { return several(n); }
fn checked(n: i64) -> str => check(n) catch err { err.message };
fn fails_after(n: i64) -> i64 {
    let _ = checked(n);
    let a = [i64](1);
    return a[n];
}
fn count(n: i64) -> i64 { return if n <= 0 { 0 } else { 1 + again(n - 1) }; }
"""

    def setUp(self):
        self.engine = dhpvm.Engine()
        self.lines = []
        self.kept = []
        define = self.engine.define
        define("log", "(str)", self.lines.append)

        @define("limit", "(str, f64, i32, bool) -> f64")
        def limit(name, x, n, flag):
            if x < 0:
                raise KeyError(name)
            return x * 2 + n if flag else 0

        @define("host.scale", "([f64, 2], [const f32]) -> i64")
        def scale(m, by):
            self.kept.append(m)
            self.assertRaises(ValueError, by.__setitem__, 0, 1)
            m *= by
            return m.size

        define("several", "(i64) -> (i64, str, [f32])", lambda n: (n, "Größe", np.full(n, 1.5, np.float32))[:n])
        define("check", "(i64) -> str", lambda n: "text" if n else 1 // n)
        define("again", "(i64) -> i64", lambda n: self.program.count(n))
        self.program = self.engine.compile(self.SOURCE)

    def test_values(self):
        self.program.logs(3)
        self.assertEqual(self.lines, ["line 0", "line 1", "line 2"])
        self.assertEqual(self.program.limits(4.5), 6.0)
        m = np.arange(6.0).reshape(3, 2)
        self.assertEqual(self.program.scales(m, np.array([2, 3], np.float32)), 6)
        self.assertEqual(m.tolist(), [[0, 3], [4, 9], [8, 15]])
        self.kept[0][:] = 7  # its own memory
        self.assertEqual(m[2, 1], 15)
        n, text, a = self.program.all(5)
        self.assertEqual((n, text, a.tolist(), a.dtype), (5, "Größe", [1.5] * 5, np.float32))
        self.assertEqual(self.program.count(20), 20)

    def test_exceptions_pass_through(self):
        try:
            self.program.limits(-1.0)
            self.fail("no exception")
        except KeyError as error:
            self.assertEqual(error.args, ("Ada",))
            self.assertEqual(traceback.extract_tb(error.__traceback__)[-1].name, "limit")
        self.assertEqual(self.program.limits(4.5), 6.0)
        with self.assertRaisesRegex(TypeError, "2 values in place of 3"):
            self.program.all(2)
        self.engine.define("several", "(i64) -> (i64, str, [f32])", lambda n: (n, 5, None))
        with self.assertRaisesRegex(TypeError, "result 2 of a host function should be str, and is of type int"):
            self.engine.compile(self.SOURCE).all(2)
        self.assertIn("ZeroDivisionError", self.program.checked(0))
        self.assertEqual(self.program.checked(1), "text")
        self.assertEqual(self.program.fails_after(0), 0)
        self.assertRaises(IndexError, self.program.fails_after, 1)

    def test_what_cannot_be_defined(self):
        self.assertRaises(TypeError, self.engine.define, "f", "()", 5)
        self.assertRaisesRegex(TypeError, "take and return", self.engine.define, "f", "(resource)", print)
        self.assertRaisesRegex(dhpvm.ArgumentError, "does not parse", self.engine.define, "f", "(text)", print)

    def test_functions_are_released(self):
        class Counted:
            def __call__(self):
                return 1

        counted = Counted()
        reference = weakref.ref(counted)
        engine = dhpvm.Engine()
        engine.define("f", "() -> i64", counted)
        program = engine.compile("extern fn f() -> i64; fn g() -> i64 => f();")
        self.assertEqual(program.g(), 1)
        del counted, engine, program
        gc.collect()
        self.assertIsNone(reference())

    def test_threads(self):
        programs = [self.engine.compile(self.SOURCE) for _ in range(4)]
        threads = [threading.Thread(target=program.logs, args=(200,)) for program in programs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(self.lines), 800)


class Memory(unittest.TestCase):
    def test_calls_leave_nothing_behind(self):
        def resident():
            return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

        def work():
            for _ in range(20_000):
                m.at(x, 1)
                m.greet("Ada")
                total(x)
            for _ in range(300):
                m.node(1, "x").next = m.node(2, "y")
                m.table(100)
                self.assertRaises(IndexError, m.at, x, 99)

        x = np.ones(10)
        # Compiling in the background takes memory of its own, at any time on a busy machine. Memory that calls leave
        # behind grows in every round: 100 bytes a call would be 6 MB.
        for _ in range(8):
            before = resident()
            work()
            dhpvm.engine._settle()
            grown = resident() - before
            if grown < 4 << 20:
                return
        self.fail(f"every round leaves {grown} bytes behind")


@dhpvm.jit
def total(x):
    s = 0.0
    for i in dhpvm.prange(len(x)):
        s += x[i]
    return s


if __name__ == "__main__":
    support.main()
