# SPDX-License-Identifier: Apache-2.0
"""The page about the Python package: signatures from its stubs, texts from the docstrings of its sources."""

import ast

HEAD = """# Python reference

All that `import dhpvm` has; [Python](python.md) explains how it belongs together. Options are those of
[Engines and limits](python.md#engines-and-limits).
"""
# The modules that users import themselves.
MODULES = ("dask", "ray")


def docstrings(package):
    """Docstrings of the package's sources by name, `Engine.compile` for example."""
    found = {}

    def add(node, name):
        text = ast.get_docstring(node)
        if text:
            found.setdefault(name, text)
        for each in node.body:
            if isinstance(each, (ast.ClassDef, ast.FunctionDef)):
                add(each, f"{name}.{each.name}" if isinstance(node, ast.ClassDef) else each.name)

    for path in sorted(package.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                add(node, node.name)
    return found


def signature(node):
    """The first line of a definition."""
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, node.bases))
        return f"class {node.name}" + (f"({bases})" if bases else "")
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({ast.unparse(node.args)}){result}"


def entries(body, names, texts, prefix=""):
    """The Markdown of definitions, in the order of their names; overloads stand together."""
    groups = {}
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and (not node.name.startswith("_") or node.name in (
                "__init__", "__call__")):
            groups.setdefault(node.name, []).append(node)
    for name in sorted(groups, key=lambda each: (names.get(each, 0), each)):
        nodes = groups[name]
        if prefix:
            yield "\n".join(f"* `{signature(node)}`" for node in nodes) + _behind(texts.get(f"{prefix}.{name}"))
            continue
        yield f"## {name}\n\n" + "```python\n" + "\n".join(map(signature, nodes)) + "\n```\n\n" + texts.get(name, "")
        if isinstance(nodes[0], ast.ClassDef):
            fields = [f"* `{ast.unparse(each)}`" for each in nodes[0].body if isinstance(each, ast.AnnAssign)]
            yield "\n".join([*fields, *entries(nodes[0].body, {}, texts, name)])


def _behind(text):
    return "" if not text else ": " + " ".join(text.split())


def exceptions(texts, path):
    """The table of exceptions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    rows = [f"| `{node.name}` | {', '.join(f'`{ast.unparse(base)}`' for base in node.bases)} | "
            f"{' '.join(texts.get(node.name, '').split())} |"
            for node in tree.body if isinstance(node, ast.ClassDef) and node.bases and node.name != "Frame"]
    return "## Exceptions\n\n| exception | is a | |\n|---|---|---|\n" + "\n".join(rows)


def page(package):
    """The Markdown of the whole page."""
    texts = docstrings(package)
    stubs = ast.parse((package / "__init__.pyi").read_text(encoding="utf-8"))
    parts = [HEAD, *entries(stubs.body, {}, texts), exceptions(texts, package / "errors.py")]
    for name in MODULES:
        tree = ast.parse((package / f"{name}.py").read_text(encoding="utf-8"))
        own = {node.name: ast.get_docstring(node) or "" for node in tree.body
               if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        parts += [f"## dhpvm.{name}\n\n{ast.get_docstring(tree)}",
                  *(each.replace("## ", "### ", 1) for each in entries(tree.body, {}, own))]
    return "\n\n".join(parts) + "\n"
