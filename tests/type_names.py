# SPDX-License-Identifier: Apache-2.0
"""Finds two types of one name in one namespace.

Neither compiler nor linker has to say anything about two different classes `dhpvm::offload::Chunk` in two files: the
linker keeps one body of each inline member function, and one of the two classes runs with the other's. Sanitizers see
it in code that runs; this looks at what is written.
"""

import re
from collections import defaultdict

# Comments, preprocessor lines and literals are single words, so that braces and semicolons in them mean nothing.
WORD = re.compile(
    r"""(?P<nothing>//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
      | R"(?P<end>[^(\s"]*)\(.*?\)(?P=end)" | "(?:\\.|[^"\\\n])*" | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'
      | \w+ | :: | \S""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
MACRO = re.compile(r"[A-Z][A-Z0-9_]+$")


def after_brackets(words, opening, closing):
    """What follows the brackets at the beginning of `words`."""
    depth = 0
    for at, word in enumerate(words):
        depth += (word == opening) - (word == closing)
        if depth == 0:
            return words[at + 1 :]
    return []


def is_attribute_macro(words):
    return len(words) > 1 and MACRO.match(words[0]) and (words[1].isidentifier() or words[1] == "[")


def declared_type(words):
    """The name of the type that these words begin the definition of; None if they begin something else."""
    if words[:1] == ["template"]:
        words = after_brackets(words[1:], "<", ">")
    if words[:1] not in (["struct"], ["class"], ["union"], ["enum"]):
        return None
    words = words[1:]
    if words[:1] in (["struct"], ["class"]):
        words = words[1:]  # enum class
    while words[:1] in (["["], ["alignas"]) or is_attribute_macro(words):
        if words[0] == "[":
            words = after_brackets(words, "[", "]")
        elif words[0] == "alignas":
            words = after_brackets(words[1:], "(", ")")
        else:
            words = words[1:]
    is_plain = words and words[0].isidentifier() and words[1:2] not in (["<"], ["::"]) and "(" not in words
    return words[0] if is_plain else None


def types_of(text):
    """The types that `text` defines outside functions and other types: namespaces, name, line."""
    scopes, words = [], []  # a scope is the name of its namespace ("" for an unnamed one), None for anything else
    for match in WORD.finditer(text):
        word = match.group()
        if match["nothing"]:
            continue
        if word == "{":
            if words[:1] == ["inline"]:
                words = words[1:]
            if words[:1] == ["namespace"]:
                scopes.append("".join(words[1:]))
            else:
                name = None if None in scopes else declared_type(words)
                if name:
                    yield scopes[:], name, text.count("\n", 0, match.start()) + 1
                scopes.append(None)
            words = []
        elif word in "};":
            if word == "}" and scopes:
                scopes.pop()
            words = []
        else:
            words.append(word)


def check_type_names(root, files):
    """One line for each type whose name another one in the same namespace has. Types in unnamed namespaces may share
    a name with each other, but not with one that others see."""
    found = defaultdict(list)
    for path in files:
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        for scopes, name, line in types_of(text):
            namespace = "::".join(scope for scope in scopes if scope)
            found[namespace, name].append(("" in scopes, f"{path}:{line}"))
    for (namespace, name), places in sorted(found.items()):
        places.sort()
        if len(places) > 1 and not places[0][0]:
            others = ", ".join(place for _, place in places[1:])
            yield f"{places[0][1]}: the name {namespace}::{name} is used by another type, too: {others}"
