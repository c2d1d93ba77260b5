#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes extensions for editors from the lexer's table of keywords: a TextMate grammar, an extension for VS Code with it
and with vscode/, a client of the language server, and files for Vim and Neovim: the syntax, and how the language server
is started."""

import json
import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
KEYWORD = re.compile(r'^  X\(k\w+, "(\w+)", (kStatement|kDeclaration|kWithin)[,)]', re.MULTILINE)
CONSTANTS = {"true", "false", "null", "this"}
TYPES = "i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 bool str void".split()
# Names that are words of the language in their places only.
PLACED_WORDS = "reduce step type".split()
NAME = r"[A-Za-z_]\w*"
NUMBER = r"\b(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)(?:[iuf](?:8|16|32|64))?\b"
ESCAPE = r"\\(?:u\{[0-9a-fA-F]+\}|x[0-9a-fA-F]{2}|.)"


def keywords():
    """The keywords by the place that they have in the table, such as kStatement."""
    found = {}
    for table in ("token.h", "statement_kinds.h"):
        for word, role in KEYWORD.findall((ROOT / "compiler/parse" / table).read_text(encoding="utf-8")):
            found.setdefault(role, []).append(word)
    return found


def words(names):
    return r"\b(?:" + "|".join(sorted(names)) + r")\b"


def string(name, begin, end, patterns):
    return {"name": name, "begin": begin, "end": end, "patterns": patterns}


def grammar():
    by_role = keywords()
    escape = {"name": "constant.character.escape.dhp", "match": ESCAPE}
    braces = {"name": "constant.character.escape.dhp", "match": r"\{\{|\}\}"}
    hole = {
        "name": "meta.interpolation.dhp",
        "begin": r"\{",
        "end": r"\}",
        "beginCaptures": {"0": {"name": "punctuation.section.interpolation.begin.dhp"}},
        "endCaptures": {"0": {"name": "punctuation.section.interpolation.end.dhp"}},
        "patterns": [{"include": "#block_in_value"}, {"include": "$self"}],
    }
    # Its braces do not end the value: `f"{if a { b } else { c }}"`.
    nested = {
        "begin": r"\{",
        "end": r"\}",
        "patterns": [{"include": "#block_in_value"}, {"include": "$self"}],
    }
    declarations = [word for word in by_role["kDeclaration"] if word != "import"] + ["const", "init", "let", "var"]
    others = {word for found in by_role.values() for word in found} - set(declarations) - CONSTANTS
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "DHPVM",
        "scopeName": "source.dhp",
        "fileTypes": ["dhp"],
        "patterns": [{"include": f"#{name}"} for name in ("comments", "strings", "code")],
        "repository": {
            "comments": {
                "patterns": [
                    {"name": "comment.line.double-slash.dhp", "match": r"//.*$"},
                    {"include": "#block"},
                ]
            },
            "block": string("comment.block.dhp", r"/\*", r"\*/", [{"include": "#block"}]),
            "strings": {
                "patterns": [
                    string("string.quoted.triple.raw.dhp", r'\br"""', r'"""', []),
                    string("string.quoted.triple.interpolated.dhp", r'\bf"""', r'"""', [escape, braces, hole]),
                    string("string.quoted.triple.dhp", r'"""', r'"""', [escape]),
                    string("string.quoted.double.raw.dhp", r'\br"', r'"|$', []),
                    string("string.quoted.double.interpolated.dhp", r'\bf"', r'"|$', [escape, braces, hole]),
                    string("string.quoted.double.dhp", r'"', r'"|$', [escape]),
                    {"name": "string.quoted.single.dhp", "match": rf"'(?:{ESCAPE}|[^'\\])'"},
                ]
            },
            "block_in_value": nested,
            "code": {
                "patterns": [
                    {"name": "storage.modifier.annotation.dhp", "match": rf"@{NAME}"},
                    {
                        "match": rf"\b(fn|class|struct|enum|interface|type)\s+({NAME})",
                        "captures": {"1": {"name": "storage.type.dhp"}, "2": {"name": "entity.name.dhp"}},
                    },
                    {"name": "keyword.control.dhp", "match": words(others)},
                    {"name": "storage.type.dhp", "match": words(declarations)},
                    {"name": "constant.language.dhp", "match": words(CONSTANTS)},
                    {"name": "keyword.control.dhp", "match": words(PLACED_WORDS) + r"(?=\s*[(\w-])"},
                    {"name": "support.type.dhp", "match": words(TYPES)},
                    {"name": "constant.numeric.dhp", "match": NUMBER},
                    {"name": "entity.name.type.dhp", "match": r"\b[A-Z]\w*\b"},
                    {"name": "entity.name.function.dhp", "match": rf"\b{NAME}(?=\s*\()"},
                    {"name": "keyword.operator.dhp", "match": r"[-+*/%&|^~<>=!?]+|\.\.=?"},
                ]
            },
        },
    }


def language_configuration():
    pairs = [["{", "}"], ["[", "]"], ["(", ")"]]
    return {
        "comments": {"lineComment": "//", "blockComment": ["/*", "*/"]},
        "brackets": pairs,
        "autoClosingPairs": [*pairs, ['"', '"']],
        "surroundingPairs": [*pairs, ['"', '"']],
        "indentationRules": {"increaseIndentPattern": r"^.*[\{\[\(]\s*$", "decreaseIndentPattern": r"^\s*[\}\]\)]"},
    }


def version():
    text = (ROOT / "include/dhpvm/version.h").read_text(encoding="utf-8")
    return re.search(r'define DHPVM_VERSION "([0-9.]+)"', text)[1]


def package():
    return {
        "name": "dhpvm",
        "displayName": "DHPVM",
        "description": DESCRIPTION,
        "version": version(),
        "publisher": "dhpvm",
        "license": "Apache-2.0",
        "engines": {"vscode": "^1.75.0"},  # which starts extensions for the languages that they contribute
        "categories": ["Programming Languages"],
        "main": "./extension.js",
        "activationEvents": ["onLanguage:dhp"],
        # The settings name a program to be started: a folder that is not trusted must not choose it.
        "capabilities": {"untrustedWorkspaces": {"supported": False, "description": "A folder can name the compiler."}},
        "contributes": {
            "commands": [{"command": "dhpvm.restartServer", "title": "DHPVM: Restart the language server"}],
            "configuration": {
                "title": "DHPVM",
                "properties": {
                    "dhpvm.compiler": {
                        "type": "string",
                        "default": "dhpvmc",
                        "description": "The compiler, which is the language server as well.",
                    },
                    "dhpvm.importPaths": {
                        "type": "array",
                        "items": {"type": "string"},
                        "default": [],
                        "description": "Folders in which imported modules are looked for.",
                    },
                },
            },
            "languages": [
                {"id": "dhp", "aliases": ["DHPVM"], "extensions": [".dhp"], "configuration": "./language-configuration.json"}
            ],
            "grammars": [{"language": "dhp", "scopeName": "source.dhp", "path": "./dhp.tmLanguage.json"}],
        },
    }


DESCRIPTION = "Colours, brackets and comments of DHPVM's language, and its language server"

CONTENT_TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension=".json" ContentType="application/json"/>
  <Default Extension=".js" ContentType="application/javascript"/>
  <Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>
"""
MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="dhpvm" Version="{version}" Publisher="dhpvm"/>
    <DisplayName>DHPVM</DisplayName>
    <Description xml:space="preserve">{description}</Description>
    <Categories>Programming Languages</Categories>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def vim_syntax():
    by_role = keywords()
    every = {word for found in by_role.values() for word in found} - CONSTANTS
    placed = "\\|".join(PLACED_WORDS)
    return f"""" Syntax of DHPVM's language. Made by tools/editors/make_extensions.py.
if exists("b:current_syntax") | finish | endif
syn keyword dhpKeyword {" ".join(sorted(every))}
syn keyword dhpConstant {" ".join(sorted(CONSTANTS))}
syn keyword dhpType {" ".join(TYPES)}
syn match dhpPlaced "\\<\\%({placed}\\)\\>\\ze\\s*[(A-Za-z0-9_-]"
syn match dhpAnnotation "@\\h\\w*"
syn match dhpNumber "\\<\\d[0-9_]*\\%(\\.\\d[0-9_]*\\)\\?\\%([eE][+-]\\?\\d\\+\\)\\?\\%([iuf]\\d\\+\\)\\?\\>"
syn match dhpNumber "\\<0[xX]\\x[0-9a-fA-F_]*\\%([iu]\\d\\+\\)\\?\\>"
syn match dhpTypeName "\\<[A-Z]\\w*\\>"
syn match dhpEscape contained "\\\\\\%(u{{\\x\\+}}\\|x\\x\\x\\|.\\)"
syn region dhpHole contained start="{{" end="}}" contains=TOP
syn match dhpBraces contained "{{{{\\|}}}}"
syn region dhpString start=+"+ end=+"\\|$+ skip=+\\\\.+ contains=dhpEscape
syn region dhpString start=+\\<f"+ end=+"\\|$+ skip=+\\\\.+ contains=dhpEscape,dhpHole,dhpBraces
syn region dhpString start=+\\<r"+ end=+"\\|$+
syn region dhpString start=+"\"\"+ end=+"\"\"+ contains=dhpEscape
syn region dhpString start=+\\<f"\"\"+ end=+"\"\"+ contains=dhpEscape,dhpHole,dhpBraces
syn region dhpString start=+\\<r"\"\"+ end=+"\"\"+
syn match dhpString "'\\%(\\\\.\\|[^'\\\\]\\)'"
syn match dhpComment "//.*$" contains=@Spell
syn region dhpComment start="/\\*" end="\\*/" contains=dhpComment,@Spell
hi def link dhpKeyword Keyword
hi def link dhpPlaced Keyword
hi def link dhpConstant Constant
hi def link dhpType Type
hi def link dhpTypeName Type
hi def link dhpAnnotation PreProc
hi def link dhpNumber Number
hi def link dhpString String
hi def link dhpEscape SpecialChar
hi def link dhpBraces SpecialChar
hi def link dhpComment Comment
let b:current_syntax = "dhp"
"""


NEOVIM_SERVER = """\
-- The language server, for `vim.lsp.enable("dhpvm")`. Made by tools/editors/make_extensions.py.
return {
  cmd = { "dhpvmc", "lsp" },
  filetypes = { "dhp" },
  root_markers = { ".git" },
}
"""


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_extensions.py FOLDER")
    folder = Path(sys.argv[1])
    for name in ("vim/syntax", "vim/ftdetect", "vim/ftplugin", "vim/lsp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    text = json.dumps(grammar(), indent=2)
    (folder / "dhp.tmLanguage.json").write_text(text + "\n", encoding="utf-8")
    with zipfile.ZipFile(folder / "dhpvm.vsix", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", CONTENT_TYPES)
        archive.writestr("extension.vsixmanifest", MANIFEST.format(version=version(), description=DESCRIPTION))
        archive.writestr("extension/package.json", json.dumps(package(), indent=2))
        archive.writestr("extension/language-configuration.json", json.dumps(language_configuration(), indent=2))
        archive.writestr("extension/dhp.tmLanguage.json", text)
        for script in ("extension.js", "client.js"):
            archive.write(Path(__file__).with_name("vscode") / script, f"extension/{script}")
    (folder / "vim/syntax/dhp.vim").write_text(vim_syntax(), encoding="utf-8")
    (folder / "vim/lsp/dhpvm.lua").write_text(NEOVIM_SERVER, encoding="utf-8")
    (folder / "vim/ftdetect/dhp.vim").write_text("au BufRead,BufNewFile *.dhp set filetype=dhp\n", encoding="utf-8")
    (folder / "vim/ftplugin/dhp.vim").write_text(
        "setlocal commentstring=//\\ %s shiftwidth=4 expandtab equalprg=dhpvmc\\ fmt\\ -\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
