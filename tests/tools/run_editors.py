#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what tools/editors/make_extensions.py makes: that the grammar has every keyword of the lexer, and what it and
the syntax file of Vim make of the library's sources."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = """// fn in a comment
fn main() -> i64 { return f"{count + 1} of {{}}" + "fn" + r"\\" + 'a'; }
/* fn /* fn */ fn */ let x = 0x1Fu8;
let y = f"{if x > 1 { "a" } else { "b" }} fn";
"""


def patterns_of(rule):
    """All regular expressions of a grammar."""
    for key, value in rule.items():
        if key in ("match", "begin", "end"):
            yield value
        elif isinstance(value, dict):
            yield from patterns_of(value)
        elif isinstance(value, list):
            for entry in value:
                if isinstance(entry, dict):
                    yield from patterns_of(entry)


BEGINS = re.compile(r"""//|/\*|\b[rf]?\"{3}|\"{3}|\b[rf]?"|"|'(?:\\(?:u\{[0-9a-fA-F]+\}|.)|[^'\\\n])'|[{}]""")
ESCAPE = re.compile(r"\\(?:u\{[0-9a-fA-F]+\}|.)", re.DOTALL)


def kinds_of(text):
    """What each character belongs to, found without the grammar: "c" a comment, "s" a text, "." anything else."""
    kinds = ["."] * len(text)
    holes = []  # texts with values around the current place: the quotes that end each, and braces open in the value

    def mark(begin, end, kind):
        kinds[begin:end] = kind * (end - begin)

    def inside(at, quotes, is_raw, is_format):
        """Goes to the end of a text, or to the value in it."""
        while at < len(text) and not text.startswith(quotes, at) and not (len(quotes) == 1 and text[at] == "\n"):
            if is_format and text.startswith(("{{", "}}"), at):
                step = 2
            elif is_format and text[at] == "{":
                holes.append([quotes, 0])
                return at + 1
            elif not is_raw and (escape := ESCAPE.match(text, at)):
                step = escape.end() - at
            else:
                step = 1
            mark(at, at + step, "s")
            at += step
        end = at + len(quotes) if text.startswith(quotes, at) else at
        mark(at, end, "s")
        return end

    at = 0
    while (found := BEGINS.search(text, at)) is not None:
        begin, at, word = found.start(), found.end(), found[0]
        if word == "//":
            at = text.find("\n", begin) if "\n" in text[begin:] else len(text)
            mark(begin, at, "c")
        elif word == "/*":
            depth = 1
            while depth and (mark_found := re.compile(r"/\*|\*/").search(text, at)) is not None:
                depth += 1 if mark_found[0] == "/*" else -1
                at = mark_found.end()
            mark(begin, at, "c")
        elif word in "{}":
            if holes and word == "}" and holes[-1][1] == 0:
                at = inside(at, holes.pop()[0], False, True)
            elif holes:
                holes[-1][1] += 1 if word == "{" else -1
        elif word[0] == "'":
            mark(begin, at, "s")
        else:
            mark(begin, at, "s")
            at = inside(at, word.lstrip("rf"), word[0] == "r", word[0] == "f")
    return "".join(kinds)


class Grammar:
    """As much of a TextMate engine as this grammar needs."""

    def __init__(self, grammar):
        self.grammar = grammar

    def rules(self, patterns):
        for pattern in patterns:
            include = pattern.get("include")
            if include == "$self":
                yield from self.rules(self.grammar["patterns"])
            elif include is not None:
                named = self.grammar["repository"][include[1:]]
                yield from self.rules(named["patterns"]) if "match" not in named and "begin" not in named else [named]
            else:
                yield pattern

    def scopes(self, text):
        """The name of the innermost rule of each character."""
        names = [""] * len(text)
        stack = []
        start = 0
        for line in text.splitlines(keepends=True):
            at = 0
            while at <= len(line):
                inside = stack[-1] if stack else self.grammar
                best = re.compile(inside["end"]).search(line.rstrip("\n"), at) if stack else None
                rule = None
                for candidate in self.rules(inside.get("patterns", [])):
                    found = re.compile(candidate.get("match") or candidate["begin"]).search(line.rstrip("\n"), at)
                    if found and found.end() > found.start() and (best is None or found.start() < best.start()):
                        best, rule = found, candidate
                until = len(line) if best is None else best.start()
                for n in range(at, until):
                    names[start + n] = inside.get("name", "") if stack else ""
                if best is None:
                    break
                name = (rule or inside).get("name", "")
                for n in range(best.start(), best.end()):
                    names[start + n] = name
                for number, capture in (rule or {}).get("captures", {}).items():
                    for n in range(best.start(int(number)), best.end(int(number))):
                        names[start + n] = capture["name"]
                if rule is None:
                    stack.pop()
                elif "begin" in rule:
                    stack.append(rule)
                at = best.end()
                if rule is None and best.end() == best.start() and at >= len(line.rstrip("\n")):
                    break
            start += len(line)
        return names, stack


class Editors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="dhpvm-editors-")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        subprocess.run([sys.executable, ROOT / "tools/editors/make_extensions.py", cls.folder], check=True)
        cls.grammar = json.loads((cls.folder / "dhp.tmLanguage.json").read_text(encoding="utf-8"))

    def test_every_keyword_is_there(self):
        tables = [(ROOT / "compiler/parse" / name).read_text(encoding="utf-8") for name in ("token.h", "statement_kinds.h")]
        row = r'^  X\(k\w+, "(\w+)", (?:kStatement|kDeclaration|kWithin)[,)]'
        keywords = re.findall(row, "".join(tables), re.MULTILINE)
        self.assertGreater(len(keywords), 25)
        vim = (self.folder / "vim/syntax/dhp.vim").read_text(encoding="utf-8")
        for word in keywords:
            names, _ = Grammar(self.grammar).scopes(word)
            self.assertRegex(names[0], r"^(keyword|storage|constant)\.", word)
            self.assertEqual(set(names), {names[0]}, word)
            self.assertRegex(vim, rf"syn keyword [^\n]*\b{word}\b")

    def test_the_extension_holds_what_it_names(self):
        with zipfile.ZipFile(self.folder / "dhpvm.vsix") as archive:
            package = json.loads(archive.read("extension/package.json"))
            for part in ("languages", "grammars"):
                for entry in package["contributes"][part]:
                    path = entry.get("path") or entry["configuration"]
                    json.loads(archive.read("extension/" + path.removeprefix("./")))
            self.assertIn("[Content_Types].xml", archive.namelist())
            self.assertIn(package["version"], archive.read("extension.vsixmanifest").decode())
        for pattern in patterns_of(self.grammar):
            re.compile(pattern)

    def test_a_source(self):
        names, stack = Grammar(self.grammar).scopes(SOURCE)
        self.assertEqual(stack, [])
        expected = {"// fn": "comment.line", "main": "entity.name", "i64": "support.type", "return": "keyword.control",
                    "count": "", "of {{": "string.quoted.double.interpolated", "{{": "constant.character.escape",
                    '"fn"': "string.quoted.double.dhp", 'r"': "string.quoted.double.raw", "'a'": "string.quoted.single",
                    "/* fn": "comment.block", "let": "storage.type", "0x1Fu8": "constant.numeric", "else": "keyword.control",
                    ' fn";': "string.quoted.double.interpolated"}  # fmt: skip
        for text, scope in expected.items():
            self.assertTrue(names[SOURCE.index(text)].startswith(scope), (text, names[SOURCE.index(text)]))

    def test_the_library_ends_what_it_begins(self):
        for path in sorted((ROOT / "stdlib").glob("*.dhp")):
            text = path.read_text(encoding="utf-8")
            names, stack = Grammar(self.grammar).scopes(text)
            self.assertEqual(stack, [], path.name)
            for found in re.finditer(r"^(?:fn|class|struct) (\w+)", text, re.MULTILINE):
                self.assertEqual(names[found.start(1)], "entity.name.dhp", f"{path.name}: {found[0]}")

    def test_comments_and_texts_are_those_of_the_source(self):
        kinds = {"comment": "c", "string": "s", "constant.character": "s"}
        looked_at = set()
        for folder in ("tests/programs/strings", "tests/programs/structs", "tests/programs/tuples", "samples"):
            for path in sorted((ROOT / folder).rglob("*.dhp")):
                text = path.read_text(encoding="utf-8")
                names, _ = Grammar(self.grammar).scopes(text)
                shown = "".join(
                    next((kind for start, kind in kinds.items() if name.startswith(start)), ".") for name in names
                )
                expected = kinds_of(text)
                for n, line in enumerate(text.split("\n")):
                    begin = sum(len(before) + 1 for before in text.split("\n")[:n])
                    where = slice(begin, begin + len(line))
                    self.assertEqual(shown[where], expected[where], f"{path.name}:{n + 1}: {line}")
                looked_at |= set(expected)
        self.assertEqual(looked_at, set("cs."))

    def test_words_are_what_they_are_where_they_stand(self):
        cases = {
            "let step = 2;": {"let": "storage.type", "step": ""},
            "for i in 0..9 step 2 { }": {"for": "keyword.control", "..": "keyword.operator", "step": "keyword.control"},
            "parallel for i in 0..n reduce(+: sum) { }": {"parallel": "keyword.control", "reduce": "keyword.control"},
            "enum Mode { default; case(n: i64); }": {"enum": "storage.type", "Mode": "entity.name.dhp", "default": "",
                                                     "i64": "support.type"},
            "type Row = [f64];": {"type": "storage.type", "Row": "entity.name.dhp", "f64": "support.type"},
            "@fastmath f(x);": {"@fastmath": "storage.modifier", "f(": "entity.name.function"},
            "x = y is Circle && this.ok != null;": {"is": "keyword.control", "Circle": "entity.name.type",
                                                    "this": "constant.language", "null": "constant.language"},
            "f = fn(x) => x as f32 / 1.5e-3f32;": {"fn": "storage.type", "as": "keyword.control", "1.5e-3f32": "constant.numeric"},
            "a = 0b1010u8 + 0o17 + 1_000;": {"0b1010u8": "constant.numeric", "0o17": "constant.numeric", "1_000": "constant.numeric"},
            "use file = try io.open(path) catch err { };": {"use": "keyword.control", "try": "keyword.control", "catch": "keyword.control"},
        }  # fmt: skip
        for source, expected in cases.items():
            names, stack = Grammar(self.grammar).scopes(source)
            self.assertEqual(stack, [], source)
            for word, scope in expected.items():
                begin = re.search((r"\b" if word[0].isalpha() else "") + re.escape(word), source).start()
                self.assertTrue(names[begin].startswith(scope), (source, word, names[begin]))
                self.assertTrue(scope or names[begin] == "", (source, word, names[begin]))

    def test_neovim_is_told_of_the_server(self):
        text = (self.folder / "vim/lsp/dhpvm.lua").read_text(encoding="utf-8")
        self.assertIn('cmd = { "dhpvmc", "lsp" }', text)
        self.assertIn('filetypes = { "dhp" }', text)

    def test_vim(self):
        vim = shutil.which("vim")
        if vim is None or "+syntax" not in subprocess.run([vim, "--version"], capture_output=True, text=True).stdout:
            self.skipTest("no vim with syntax files")
        source = self.folder / "source.dhp"
        source.write_text(SOURCE, encoding="utf-8")
        found = self.folder / "groups"
        places = {(1, 4): "dhpComment", (2, 1): "dhpKeyword", (2, 14): "dhpType", (2, 28): "dhpString", (2, 45): "dhpBraces",
                  (3, 20): "dhpComment", (3, 23): "dhpKeyword", (3, 31): "dhpNumber"}  # fmt: skip
        script = "\n".join(
            [f"set runtimepath^={self.folder}/vim", "filetype plugin on", "syntax on", f"edit {source}"]
            + [f"call writefile([synIDattr(synID({line}, {column}, 1), 'name')], '{found}', 'a')" for line, column in places]
            + ["quitall!"]
        )  # fmt: skip
        (self.folder / "script.vim").write_text(script, encoding="utf-8")
        subprocess.run([vim, "-N", "-u", "NONE", "-es", "-S", self.folder / "script.vim"], timeout=60, check=False)
        groups = found.read_text(encoding="utf-8").split("\n")
        self.assertEqual(dict(zip(places, groups)), places)


if __name__ == "__main__":
    unittest.main()
