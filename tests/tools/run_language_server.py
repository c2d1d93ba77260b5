#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives `dhpvmc lsp` as an editor does.

usage: run_language_server.py --bin BIN_DIR [--edits N] [--seed N] [unittest arguments]

--edits says how many random edits of real sources the last test makes. With more than 1000, it prints the answer that
took most of the processor's time.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = None
EDITS = 60
SEED = 1

LIBRARY = """\
// Shapes on a plane.

import list;

// A point.
struct Point { x: f64; y: f64; }

enum Shape {
    circle(radius: f64);
    square(side: f64);
    nothing;
}

// The area of a shape.
fn area(shape: Shape) -> f64 {
    return match shape {
        circle(r) => 3.0 * r * r,
        square(side: s) => s * s,
        nothing => 0.0,
    };
}

interface Named { fn name() -> str; }

class Stack<T> : Named {
    fn name() -> str => "stack";
    items: List<T> = List<T>();
    // Puts a value on top.
    fn push(value: T) { items.push(value); }
    fn top() -> T? => if items.len() == 0 { null } else { items[items.len() - 1] };
}
"""
PROGRAM = """\
import list;
import shapes;

const LIMIT = 10;

fn distance(from: Point, to: Point) -> f64 {
    let width = to.x - from.x;
    return width * width;
}

fn main() {
    let a = Point(1.0, y: 2.0);
    let far = distance(a, to: Point(3.0, 4.0));
    var total = shapes.area(Shape.circle(2.0)) + far;
    let stack = Stack<str>();
    stack.push("é𝄞" + "x");
    for i in 0..LIMIT { total += i as f64; }
    let words = List<str>();
    words.push(stack.top() ?? "none");
    parallel for i in 0..100 reduce(+: total) { total += i as f64; }
    print(total, words.len(), "a,b".split(",").len);
}
"""


def utf16(text):
    """The units of UTF-16 that a text takes."""
    return len(text.encode("utf-16-le")) // 2


def position(text, offset):
    before = text[:offset]
    return {"line": before.count("\n"), "character": utf16(before[before.rfind("\n") + 1 :])}


def offset_at(text, place):
    """The offset of a position, in characters."""
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: place["line"]])
    units = lines[place["line"]].encode("utf-16-le")[: 2 * place["character"]]
    return start + len(units.decode("utf-16-le"))


def applied(text, edits):
    """The text after edits as the protocol has them."""
    for edit in sorted(
        edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]), reverse=True
    ):
        begin, end = (offset_at(text, edit["range"][side]) for side in ("start", "end"))
        text = text[:begin] + edit["newText"] + text[end:]
    return text


class Client:
    """A server, and what it has said."""

    def __init__(self, folder, folders=True, start=True):
        environment = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))
        self.server = subprocess.Popen(
            [BIN / "dhpvmc", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self.next_id = 0
        self.diagnostics = {}
        self.versions = {}
        self.longest = (0.0, "")
        if start:
            uri = folder.as_uri()
            self.capabilities = self.request(
                "initialize",
                {"processId": None, "rootUri": uri, "capabilities": {}}
                | ({"workspaceFolders": [{"uri": uri, "name": "w"}]} if folders else {}),
            )["capabilities"]
            self.notify("initialized", {})

    def send_bytes(self, data):
        self.server.stdin.write(data)
        self.server.stdin.flush()

    def send(self, message):
        content = json.dumps({"jsonrpc": "2.0"} | message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(content) + content)

    def receive(self):
        length = None
        while (line := self.server.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if length is None:
            raise EOFError("the server has ended")
        message = json.loads(self.server.stdout.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]
        return message

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params):
        """The whole answer to a request."""
        self.next_id += 1
        begin = self.time()
        self.send({"id": self.next_id, "method": method, "params": params})
        while (message := self.receive()).get("id") != self.next_id or "method" in message:
            pass
        self.longest = max(self.longest, (self.time() - begin, method))
        return message

    def time(self):
        """Milliseconds of the processor that the server has taken, where the system tells."""
        try:
            return int(Path(f"/proc/{self.server.pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e6
        except OSError:
            return 0.0

    def request(self, method, params):
        answer = self.ask(method, params)
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["result"]

    def open(self, path, text):
        uri = path.as_uri()
        self.versions[uri] = 1
        document = {"uri": uri, "languageId": "dhp", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def change(self, uri, changes):
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def messages(self, uri):
        """The compiler's diagnostics for the latest version of a document."""
        while self.diagnostics.get(uri, {}).get("version") != self.versions[uri]:
            self.receive()
        return [d["message"] for d in self.diagnostics[uri]["diagnostics"]]

    def close(self):
        self.request("shutdown", None)
        self.notify("exit", None)
        self.server.stdin.close()
        code = self.server.wait(timeout=60)
        self.server.stdout.close()
        return code

    def kill(self):
        self.server.kill()
        self.server.wait()
        self.server.stdin.close()
        self.server.stdout.close()


class Session(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name).resolve()
        (self.folder / "shapes.dhp").write_text(LIBRARY, encoding="utf-8")
        (self.folder / "main.dhp").write_text(PROGRAM, encoding="utf-8")
        self.client = Client(self.folder)
        self.addCleanup(self.client.kill)
        self.text = PROGRAM
        self.uri = self.client.open(self.folder / "main.dhp", PROGRAM)

    def at(self, pattern, offset=0):
        """The parameters of a request at the place of a pattern."""
        return {
            "textDocument": {"uri": self.uri},
            "position": position(self.text, self.text.index(pattern) + offset),
        }

    def replace(self, old, new):
        """Changes the first place of `old` as an editor does."""
        begin = self.text.index(old)
        edit = {
            "range": {"start": position(self.text, begin), "end": position(self.text, begin + len(old))},
            "text": new,
        }
        self.text = self.text[:begin] + new + self.text[begin + len(old) :]
        self.client.change(self.uri, [edit])

    def target(self, place):
        """The file that a location leads to, and the line there."""
        path = Path(place["uri"].removeprefix("file://"))
        return path.name, path.read_text(encoding="utf-8").split("\n")[place["range"]["start"]["line"]]

    def labels(self, pattern, offset):
        return [
            item["label"] for item in self.client.request("textDocument/completion", self.at(pattern, offset))["items"]
        ]

    # --- diagnostics
    def test_diagnostics_follow_the_text(self):
        self.assertEqual(self.client.messages(self.uri), [])
        self.replace("width * width", "wdith * width")
        (message,) = self.client.messages(self.uri)
        self.assertEqual(message.split("\n")[0], "no variable 'wdith' here")
        self.assertIn("help: write `width`", message)
        self.replace("wdith * width", "width * width")
        self.assertEqual(self.client.messages(self.uri), [])

    def test_columns_are_units_of_utf16(self):
        self.replace('"x");', '"x", 1);')
        (diagnostic,) = (self.client.messages(self.uri), self.client.diagnostics[self.uri]["diagnostics"])[1]
        line = next(line for line in self.text.split("\n") if "𝄞" in line)
        begin, end = (diagnostic["range"][side]["character"] for side in ("start", "end"))
        units = line.encode("utf-16-le")
        self.assertEqual(units[2 * begin : 2 * end].decode("utf-16-le"), "1")

    def test_a_module_that_changes_in_the_editor(self):
        module = self.client.open(self.folder / "shapes.dhp", LIBRARY.replace("fn area", "fn surface"))
        self.client.messages(module)
        self.client.request("textDocument/hover", self.at("LIMIT"))
        self.client.receive() if not self.client.diagnostics[self.uri]["diagnostics"] else None
        said = [d["message"] for d in self.client.diagnostics[self.uri]["diagnostics"]]
        self.assertIn("module 'shapes' has no 'area'", said[0])

    # --- names
    def test_definitions(self):
        cases = {
            "distance(a": ("main.dhp", "fn distance("),
            "a, to:": ("main.dhp", "    let a = "),
            "to: Point(3": ("main.dhp", "fn distance("),
            "Point(1.0": ("shapes.dhp", "struct Point"),
            "y: 2.0": ("shapes.dhp", "struct Point"),
            "x - from": ("shapes.dhp", "struct Point"),
            "area(Shape": ("shapes.dhp", "fn area("),
            "circle(2.0)": ("shapes.dhp", "    circle(radius"),
            "push(\"é": ("shapes.dhp", "    fn push("),
            "List<str>": ("list.dhp", "class List<T>"),
            "push(stack": ("list.dhp", "    fn push("),
            "split(": ("str.dhp", "fn split("),
            "LIMIT {": ("main.dhp", "const LIMIT"),
            "shapes;": ("shapes.dhp", "// Shapes on a plane."),
        }  # fmt: skip
        for pattern, (name, start) in cases.items():
            place = self.client.request("textDocument/definition", self.at(pattern, 1))
            self.assertIsNotNone(place, pattern)
            found, line = self.target(place)
            self.assertEqual(found, name, pattern)
            self.assertTrue(line.startswith(start), (pattern, line))

    def test_the_library_can_be_read_on(self):
        place = self.client.request("textDocument/definition", self.at("List<str>", 1))
        path = Path(place["uri"].removeprefix("file://"))
        self.assertFalse(path.stat().st_mode & 0o222, "it can be written")
        text = path.read_text(encoding="utf-8")
        uri = self.client.open(path, text)
        self.assertEqual(self.client.messages(uri), [])
        call = {"textDocument": {"uri": uri}, "position": position(text, text.index("Zipped<A, B>"))}
        inside = self.client.request("textDocument/definition", call)
        self.assertTrue(self.target(inside)[1].startswith("struct Zipped<A, B>"))

    def test_hover(self):
        cases = {"distance(a": "fn distance(from: Point, to: Point) -> f64", "far = ": "let far: f64",
                 "total = ": "var total: f64", "area(Shape": "The area of a shape.", "x - from": "x: f64",
                 "push(\"é": "Puts a value on top.", "circle(2": "circle(radius: f64)", "LIMIT {": "const LIMIT = 10",
                 "shapes.area": "Shapes on a plane.", "List<str>": "class List<T>\n"}  # fmt: skip
        for pattern, text in cases.items():
            answer = self.client.request("textDocument/hover", self.at(pattern, 1))
            self.assertIsNotNone(answer, pattern)
            self.assertIn(text, answer["contents"]["value"])
        self.assertIsNone(self.client.request("textDocument/hover", self.at(" = 10", 1)))

    def test_references(self):
        def uses(pattern, with_declaration=True):
            params = self.at(pattern, 1) | {"context": {"includeDeclaration": with_declaration}}
            found = self.client.request("textDocument/references", params)
            return sorted((Path(place["uri"]).name, place["range"]["start"]["line"]) for place in found)

        self.assertEqual(uses("LIMIT"), [("main.dhp", 3), ("main.dhp", 16)])
        self.assertEqual(uses("LIMIT", False), [("main.dhp", 16)])
        self.assertEqual(
            uses("area(Shape"), [("main.dhp", 13), ("shapes.dhp", LIBRARY[: LIBRARY.index("fn area")].count("\n"))]
        )
        lines = [number for name, number in uses("total = ")]
        self.assertEqual(lines, [13, 16, 19, 19, 20])
        self.assertEqual(len(uses("x - from")), 3)
        marked = self.client.request("textDocument/documentHighlight", self.at("width * width", 1))
        self.assertEqual(len(marked), 3)

    def test_rename(self):
        new = self.client.request("textDocument/rename", self.at("area(Shape", 1) | {"newName": "surface"})
        texts = {}
        for uri, edits in new["changes"].items():
            path = Path(uri.removeprefix("file://"))
            texts[path.name] = applied(path.read_text(encoding="utf-8"), edits)
            path.write_text(texts[path.name], encoding="utf-8")
        self.assertIn("shapes.surface(Shape.circle", texts["main.dhp"])
        self.assertIn("fn surface(shape", texts["shapes.dhp"])
        checked = subprocess.run(
            [BIN / "dhpvmc", "--check", self.folder / "main.dhp"], capture_output=True, check=False
        )
        self.assertEqual(checked.returncode, 0, checked.stderr.decode())
        self.replace("print(total", "print(stack.name(), total")
        for place, name in (
            ("area(", "2x"),
            ("area(", "if"),
            ("push(stack", "other"),
            ("shapes;", "other"),
            ("name()", "x"),
        ):
            answer = self.client.ask("textDocument/rename", self.at(place, 1) | {"newName": name})
            self.assertIn("error", answer, (place, name))
        self.assertIsNone(self.client.request("textDocument/prepareRename", self.at("push(stack", 1)))

    def test_symbols(self):
        document = {"textDocument": {"uri": self.uri}}
        names = [symbol["name"] for symbol in self.client.request("textDocument/documentSymbol", document)]
        self.assertEqual(names, ["LIMIT", "distance", "main"])
        found = self.client.request("workspace/symbol", {"query": "pus"})
        self.assertEqual([(symbol["name"], symbol["containerName"]) for symbol in found], [("push", "Stack")])

    # --- writing
    def test_completion(self):
        self.replace("    return width", "    from.\n    return width")
        self.assertEqual(self.labels("from.\n", 5), ["x", "y"])
        self.replace("from.\n", "let p = shapes.;\n")
        self.assertEqual(set(self.labels("shapes.;", 7)), {"Point", "Shape", "area", "Stack", "Named"})
        self.replace("shapes.;", "Shape.ci;")
        self.assertEqual(self.labels("Shape.ci", 8), ["circle", "square", "nothing"])
        self.replace("Shape.ci;", "di;")
        names = self.labels("= di", 4)
        for name in ("distance", "width", "from", "LIMIT", "shapes", "Point", "List", "Error", "while", "print", "i64"):
            self.assertIn(name, names)
        self.assertNotIn("total", names)
        self.replace("= di;", "= \"7\"[0].;")
        self.assertEqual(set(self.labels("[0].;", 4)), {"is_space", "is_digit", "is_letter"})
        self.replace("[0].;", "[0].is_digit();")
        hover = self.client.request("textDocument/hover", self.at("is_digit", 2))
        self.assertIn("is_digit(byte: u8)", hover["contents"]["value"])
        self.replace("words.push", "words.pu")
        self.assertIn("push", self.labels("words.pu", 8))
        self.replace("import shapes;", "import sha")
        self.assertIn("shapes", self.labels("import sha", 10))
        self.assertIn("json", self.labels("import sha", 10))

    def test_completion_inside_of_a_call_that_is_not_finished(self):
        self.replace("print(total, words.len()", "print(total, words.")
        self.assertIn(
            "push", self.labels("words.,", 6) if "words.," in self.text else self.labels("print(total, words.", 19)
        )

    def test_signatures(self):
        self.replace("distance(a, to: Point(3.0, 4.0))", "distance(a, ")
        answer = self.client.request("textDocument/signatureHelp", self.at("distance(a, ", 12))
        (signature,) = answer["signatures"]
        self.assertEqual(signature["label"], "distance(from: Point, to: Point) -> f64")
        self.assertEqual(answer["activeParameter"], 1)
        answer = self.client.request("textDocument/signatureHelp", self.at("split(", 6))
        self.assertEqual(answer["signatures"][0]["parameters"], [{"label": "separator: str"}])

    def test_inlay_hints(self):
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
        hints = self.client.request("textDocument/inlayHint", {"textDocument": {"uri": self.uri}, "range": whole})
        shown = {}
        for hint in hints:
            offset = offset_at(self.text, hint["position"])
            shown[re.search(r"\w+$", self.text[:offset])[0]] = hint["label"]
        self.assertEqual(shown["far"], ": f64")
        self.assertEqual(shown["stack"], ": Stack<str>")
        self.assertNotIn("from", shown)

    def test_formatting(self):
        document = {"textDocument": {"uri": self.uri}, "options": {"tabSize": 4, "insertSpaces": True}}
        self.replace("    let width = to.x", "  let   width=to.x")
        self.text = applied(self.text, self.client.request("textDocument/formatting", document))
        formatted = subprocess.run(
            [BIN / "dhpvmc", "fmt", "-"], input=self.text, capture_output=True, encoding="utf-8", check=True
        )
        self.assertEqual(self.text, formatted.stdout)
        self.assertIn("    let width = to.x", self.text)

    def test_quick_fixes(self):
        cases = [
            ("width * width", "wdith * width", "Write `width`", "width * width"),
            ("return width * width;", "return width * width", "Write `;` here", "return width * width;"),
            ("shapes.area(", "area(", "Write `shapes.area`", "shapes.area("),
            ("Stack<str>();", "Stack<str>(); let d = Deque<str>();", "Add `import queue;` at the top of the file", "import queue;\n"),
            ("0..LIMIT {", "0..math.max(LIMIT, 2) {", "Add `import math;` at the top of the file", "import math;\n"),
        ]
        for old, new, title, expected in cases:
            self.text = PROGRAM
            self.client.change(self.uri, [{"text": PROGRAM}])
            self.replace(old, new)
            whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
            actions = self.client.request(
                "textDocument/codeAction",
                {"textDocument": {"uri": self.uri}, "range": whole, "context": {"diagnostics": []}},
            )
            found = {action["title"]: action for action in actions}
            self.assertIn(title, found, (new, self.client.messages(self.uri)))
            text = applied(self.text, found[title]["edit"]["changes"][self.uri])
            self.assertIn(expected, text)

    # --- sources that are wrong
    def test_answers_from_the_last_good_state(self):
        self.client.request("textDocument/hover", self.at("far = ", 1))
        self.replace("fn distance(from: Point, to: Point) -> f64 {", "fn distance(from: Point, to: ( -> f64 {")
        answer = self.client.request("textDocument/hover", self.at("far = ", 1))
        self.assertIn("let far: f64", answer["contents"]["value"])
        self.assertEqual(offset_at(self.text, answer["range"]["start"]), self.text.index("far = "))

    # --- the protocol
    def test_hostile_messages(self):
        def refused(data):
            client = Client(self.folder, start=False)
            self.addCleanup(client.kill)
            client.send_bytes(data)
            client.server.stdin.close()
            return client.server.wait(timeout=60)

        self.assertNotEqual(refused(b"Content-Length: 99999999999999\r\n\r\n"), 0)
        self.assertNotEqual(refused(b"Content-Length: -1\r\n\r\n"), 0)
        self.assertNotEqual(refused(b"x" * 5000), 0)
        self.assertNotEqual(refused(b"\r\n\r\n"), 0)
        self.assertEqual(refused(b""), 1)
        self.assertEqual(refused(b"Content-Length: 100\r\n\r\n{"), 1)

    def test_wrong_requests(self):
        for content in (b"{{{", b"[" * 100000):
            self.client.send_bytes(b"Content-Length: %d\r\n\r\n" % len(content) + content)
            while "method" in (message := self.client.receive()):
                pass
            self.assertEqual(message["error"]["code"], -32700)
        codes = {
            ("textDocument/none", "{}"): -32601,
            ("textDocument/hover", "[]"): -32602,
            ("textDocument/hover", '{"textDocument": {"uri": 7}}'): -32602,
        }
        for (method, params), code in codes.items():
            self.assertEqual(self.client.ask(method, json.loads(params))["error"]["code"], code)
        far = {"line": 2**31, "character": 2**31}
        self.client.request("textDocument/hover", {"textDocument": {"uri": self.uri}, "position": far})
        self.client.notify(
            "textDocument/didChange", {"textDocument": {"uri": self.uri}, "contentChanges": [{"range": 1}]}
        )
        self.client.request("textDocument/hover", self.at("far"))
        self.assertEqual(self.client.close(), 0)

    def test_a_document_that_is_no_file(self):
        uri = "untitled:Untitled-1"
        self.client.versions[uri] = 1
        document = {"uri": uri, "languageId": "dhp", "version": 1, "text": "fn main() { print(x); }\n"}
        self.client.notify("textDocument/didOpen", {"textDocument": document})
        self.assertEqual(len(self.client.messages(uri)), 1)

    def test_answers_about_one_place_are_those_of_the_whole(self):
        # Asked right after a change, the server checks the function around the place alone; once it has published its
        # messages, it has checked all.
        chance = random.Random(SEED)
        texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "samples").rglob("*.dhp"))]
        answered = 0
        for number in range(30):
            if number % 3 == 0:
                self.text = chance.choice(texts)
                self.client.change(self.uri, [{"text": self.text}])
            begin = self.text.index("\n", chance.randrange(len(self.text) - 2))
            self.text = self.text[:begin] + " " + self.text[begin:]
            places = [chance.choice([m.end() for m in re.finditer(r"\w\b|\.", self.text)]) for _ in range(4)]
            asked = [
                (f"textDocument/{method}", {"textDocument": {"uri": self.uri}, "position": position(self.text, place)})
                for place in places
                for method in ("hover", "completion", "definition", "typeDefinition", "signatureHelp",
                               "documentHighlight", "prepareRename")
            ]  # fmt: skip
            for method, more in (("references", {"context": {"includeDeclaration": True}}), ("rename", {"newName": "other"})):
                asked += [(f"textDocument/{method}", question[1] | more) for question in asked[::7]]
            lines = [position(self.text, place) for place in sorted(places)]
            seen = {"textDocument": {"uri": self.uri}, "range": {"start": lines[1], "end": lines[2]}}
            asked.append(("textDocument/inlayHint", seen))
            self.client.change(self.uri, [{"text": self.text}])
            soon = [self.answer(*question) for question in asked]
            self.client.messages(self.uri)
            for question, answer in zip(asked, soon):
                self.assertEqual(answer, self.answer(*question), (question, self.text))
            answered += sum(answer not in (None, []) for answer in soon)
        self.assertGreater(answered, 200)

    def answer(self, method, params):
        """The result of a request, or why there is none."""
        answer = self.client.ask(method, params)
        return answer.get("result", answer.get("error"))

    def test_cancelled_requests(self):
        def message(content):
            data = json.dumps({"jsonrpc": "2.0"} | content).encode()
            return b"Content-Length: %d\r\n\r\n" % len(data) + data

        hover = self.at("far = ", 1)
        sent = [{"id": id, "method": "textDocument/hover", "params": hover} for id in ("first", "second", "third")]
        sent.insert(2, {"method": "$/cancelRequest", "params": {"id": "second"}})
        self.client.send_bytes(b"".join(message(content) for content in sent))
        answers = {}
        while len(answers) < 3:
            answer = self.client.receive()
            if "id" in answer:
                answers[answer["id"]] = answer
        self.assertEqual(answers["second"]["error"]["code"], -32800)
        for id in ("first", "third"):
            self.assertIn("let far: f64", answers[id]["result"]["contents"]["value"])

    def test_messages_come_though_requests_interrupt_them(self):
        self.replace("width * width", "wdith * width")
        asked = 0
        while self.client.diagnostics.get(self.uri, {}).get("version") != self.client.versions[self.uri]:
            self.client.request("textDocument/hover", self.at("far = ", 1))
            time.sleep(0.032)
            asked += 1
            self.assertLess(asked, 1000)
        self.assertEqual(len(self.client.diagnostics[self.uri]["diagnostics"]), 1)

    # --- all of it, at random
    def test_random_edits(self):
        texts = [path.read_text(encoding="utf-8") for folder in ("samples", "tests/programs")
                 for path in sorted((ROOT / folder).rglob("*.dhp"))]  # fmt: skip
        chance = random.Random(SEED)
        for number in range(EDITS):
            if number % 20 == 0:
                self.text = chance.choice(texts)
                self.client.change(self.uri, [{"text": self.text}])
            self.edit_at_random(chance, texts)
            self.ask_at_random(chance)
        self.assertEqual(self.client.close(), 0)
        if EDITS > 1000:
            taken, method = self.client.longest
            print(f"{EDITS} edits; most took {method}: {taken:.0f} ms", file=sys.stderr)

    def edit_at_random(self, chance, texts):
        changes = []
        for _ in range(chance.choice((1, 1, 1, 3))):
            begin = chance.randrange(len(self.text) + 1)
            end = min(len(self.text), begin + chance.choice((0, 0, 0, 1, 2, 5, 40)))
            other = chance.choice(texts)
            start = chance.randrange(len(other))
            new = chance.choice(
                ("", ".", "(", "}", ";", '"', "é𝄞", "\n", " x", other[start : start + chance.randrange(60)])
            )
            changes.append(
                {
                    "range": {"start": position(self.text, begin), "end": position(self.text, end)},
                    "text": new,
                }
            )
            self.text = self.text[:begin] + new + self.text[end:]
        self.client.change(self.uri, changes)

    def ask_at_random(self, chance):
        place = position(self.text, chance.randrange(len(self.text) + 1))
        end = position(self.text, len(self.text))
        document = {"textDocument": {"uri": self.uri}}
        at = document | {"position": place}
        methods = {
            "completion": at, "hover": at, "signatureHelp": at, "definition": at, "typeDefinition": at,
            "references": at | {"context": {"includeDeclaration": True}}, "documentHighlight": at, "prepareRename": at,
            "documentSymbol": document, "inlayHint": document | {"range": {"start": {"line": 0, "character": 0}, "end": end}},
            "formatting": document | {"options": {}}, "rename": at | {"newName": "other"},
            "codeAction": document | {"range": {"start": place, "end": place}, "context": {"diagnostics": []}},
        }  # fmt: skip
        for method in chance.sample(sorted(methods), 3):
            self.client.ask("textDocument/" + method, methods[method])


def take(name, default):
    """Removes an option with its value from the command line."""
    if name not in sys.argv:
        return default
    at = sys.argv.index(name)
    value = sys.argv[at + 1]
    del sys.argv[at : at + 2]
    return value


if __name__ == "__main__":
    BIN = Path(take("--bin", "build/release/bin")).resolve()
    EDITS = int(take("--edits", EDITS))
    SEED = int(take("--seed", SEED))
    unittest.main()
