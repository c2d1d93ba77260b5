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
    """The words after the brackets at the beginning of `words`."""
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


def declared_name(words):
    """The name of the type, function or variable that a declaration of these words is about, as far as this can tell;
    None for those that have none of their own, and for members of classes."""
    if words[:1] == ["typedef"]:
        # That of a pointer to a function ends the first brackets.
        return words[words.index(")") - 1] if ")" in words else words[-1]
    if words[:1] == ["using"]:
        return words[1] if words[2:3] == ["="] else words[-1] if words[1:2] != ["namespace"] else None
    name = declared_type(words)
    if name or words[:1] in (["struct"], ["class"], ["enum"], ["friend"], ["extern"], ["static_assert"]):
        return name
    if words[:1] == ["template"]:
        words = after_brackets(words[1:], "<", ">")
    end = next((at for at, word in enumerate(words) if word in ("(", "=", "[")), len(words))
    if end < 2 or not words[end - 1].isidentifier() or words[end - 2] == "::":
        return None
    return words[end - 1]


def namespace_of(words):
    """`dhpvm::detail`, also for `namespace dhpvm::inline v0_1::detail`: what an inline one holds is in the one around
    it, too."""
    names = [word for word in words[words.index("namespace") + 1 :] if word != "::"]
    return "::".join(name for at, name in enumerate(names) if name != "inline" and names[at - 1 : at] != ["inline"])


def scan(text):
    """Every declaration and definition outside functions and types: namespaces ("" for an unnamed one), its words up
    to the brace or semicolon, line, whether it has a body."""
    scopes, words = [], []  # None for a scope that is no namespace
    for match in WORD.finditer(text):
        word = match.group()
        if match["nothing"]:
            continue
        if word in "{;" and words and None not in scopes and "namespace" not in words[:2]:
            yield scopes[:], words, text.count("\n", 0, match.start()) + 1, word == "{"
        if word == "{":
            is_namespace = "namespace" in words[:2] and None not in scopes
            scopes.append(namespace_of(words) if is_namespace else None)
            words = []
        elif word == "}":
            if scopes:
                scopes.pop()
            words = []
        elif word == ";":
            words = []
        elif None not in scopes:
            words.append(word)


def types_of(text):
    """The types that `text` defines outside functions and other types: namespaces, name, line."""
    for scopes, words, line, has_body in scan(text):
        name = declared_type(words) if has_body else None
        if name:
            yield scopes, name, line


def declarations(text):
    """The declarations of `text` outside functions and types: namespaces, name, and the origin in a using
    declaration or an alias, None for a name of its own; whether it is static."""
    for scopes, words, _, _ in scan(text):
        name = declared_name(words)
        if name:
            is_taken = words[0] == "using"
            yield scopes, name, "".join(words[3 if "=" in words else 1 :]) if is_taken else None, "static" in words[:2]


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
