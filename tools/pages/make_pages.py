#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes man pages, and completion for bash, zsh and fish, from what the tools say of themselves.

usage: make_pages.py BIN_DIR FOLDER

The tools print their one table of options with --help; this reads it, so that there is no second one. FOLDER gets
man/man1, bash, zsh and fish.
"""

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

# The commands of each tool that have a --help of their own.
TOOLS = {"dhpvm-run": [], "dhpvmc": ["fmt", "lsp"], "dhpvm-bench": [], "dhpvm-ptx": [], "dhpvm-lab": []}
SUMMARIES = {
    "dhpvm-run": "run a program of DHPVM",
    "dhpvmc": "compile, check and format programs of DHPVM",
    "dhpvm-bench": "measure loops on devices",
    "dhpvm-ptx": "run kernels of GPUs in an interpreter",
    "dhpvm-lab": "try programs and workers on machines and networks that fail",
}
# A value follows `=`, or, as Python's tools say it, a blank.
OPTION = re.compile(
    r"  (?:-(?P<letter>\w), )?(?P<name>--[\w-]+)"
    r"(?P<value>\[?=(?P<what>[^\s\]]+)\]?| (?P<word>[A-Z{]\S*)(?=  |$))?(?: +(?P<help>.*))?$"
)
GROUP = re.compile(r"\S.*:$")


@dataclass
class Option:
    name: str
    letter: str
    what: str  # the placeholder of the value; empty: it takes none
    optional: bool
    help: str


@dataclass
class Page:
    """The contents of a --help."""

    usage: list
    description: str
    groups: dict = field(default_factory=dict)  # options by heading
    closing: str = ""

    def options(self):
        return [option for group in self.groups.values() for option in group]


def read_page(text):
    lines = text.splitlines()
    usage = []
    while lines and (lines[0].startswith("usage: ") or (usage and lines[0].startswith("       "))):
        usage.append(lines.pop(0).removeprefix("usage: ").strip())
    page = Page(usage, "")
    prose, group = [], None
    for index, line in enumerate(lines):
        option = OPTION.match(line)
        if option and group is not None:
            value = option["value"] or ""
            page.groups[group].append(
                Option(option["name"], option["letter"] or "", option["what"] or option["word"] or "", value.startswith("["), option["help"] or "")
            )
        elif line.startswith("    ") and group is not None and page.groups[group]:
            last = page.groups[group][-1]
            last.help = f"{last.help} {line.strip()}".strip()
        elif GROUP.fullmatch(line) and index + 1 < len(lines) and OPTION.match(lines[index + 1]):
            group = line.removesuffix(":")
            page.groups[group] = []
        else:
            if line:
                group = None if page.groups else group
            prose.append((bool(page.groups), line))
    page.description = "\n".join(line for behind, line in prose if not behind).strip()
    page.closing = "\n".join(line for behind, line in prose if behind).strip()
    return page


def help_of(binary, command=None):
    words = [binary] + ([command] if command else []) + ["--help"]
    return read_page(subprocess.run(words, capture_output=True, encoding="utf-8", check=True).stdout)


# ------------------------------------------------------------------------------------------------- man pages


def roff(text):
    """Text that roff prints as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in {".", "'"} else line for line in escaped.splitlines())


def man_section(page):
    lines = [".P", roff(page.description)]
    for group, options in page.groups.items():
        lines += [".SS " + roff(group)]
        for option in options:
            value = f"={option.what}" if option.what else ""
            value = f"[{value}]" if option.optional else value
            letter = f"\\-{option.letter}, " if option.letter else ""
            lines += [".TP", f".B {letter}{roff(option.name + value)}", roff(option.help)]
    return lines + ([".P", roff(page.closing)] if page.closing else [])


def man_page(tool, version, pages):
    lines = [f'.TH {tool.upper()} 1 "" "DHPVM {version}" "DHPVM"', ".SH NAME", f"{roff(tool)} \\- {SUMMARIES[tool]}"]
    lines += [".SH SYNOPSIS", ".nf", *(roff(usage) for usage in pages[None].usage), ".fi"]
    for command, page in pages.items():
        lines += [f".SH {'DESCRIPTION' if command is None else roff(f'{tool} {command}').upper()}", *man_section(page)]
    others = ", ".join(f"{roff(other)}(1)" for other in TOOLS if other != tool)
    return "\n".join([*lines, ".SH SEE ALSO", others]) + "\n"


# ------------------------------------------------------------------------------------------------ completion


def words_of(page):
    """Options as a shell completes them: `--name=` where a value must follow."""
    found = []
    for option in page.options():
        found.append(option.name + ("=" if option.what and not option.optional else ""))
    return found


def files_of(tool):
    """The suffixes of the files that the tool takes."""
    return {"dhpvm-run": ("dhp", "bc", "dasm"), "dhpvmc": ("dhp", "dasm"), "dhpvm-ptx": ("ptx",)}.get(tool, ())


def bash_completion(tool, pages):
    function = "_" + tool.replace("-", "_")
    cases = [f'    {command}) words="{" ".join(words_of(page))}" ;;' for command, page in pages.items() if command]
    commands = " ".join(command for command in pages if command)
    pattern = "|".join(files_of(tool))
    names = f"$(compgen -f -X '!*.@({pattern})' -- \"$word\") $(compgen -d -- \"$word\")" if pattern else ""
    command_names = f'$(compgen -W "{commands}" -- "$word")' if commands else ""
    return "\n".join(
        [
            f"# Completion of {tool} for bash.",
            f"{function}() {{",
            '  local word="${COMP_WORDS[COMP_CWORD]}" words',
            '  # The shell takes `=` for a word of its own: what follows it is the name of a file.',
            '  if [[ $word == "=" || ${COMP_WORDS[COMP_CWORD-1]} == "=" ]]; then',
            '    COMPREPLY=($(compgen -f -- "${word#=}"))',
            "    return",
            "  fi",
            '  case "${COMP_WORDS[1]}" in',
            *cases,
            f'    *) words="{" ".join(words_of(pages[None]))}" ;;',
            "  esac",
            "  if [[ $word == -* ]]; then",
            '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
            "    [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace",
            "    return",
            "  fi",
            "  compopt -o filenames 2>/dev/null",
            f"  COMPREPLY=({names})",
            *([f'  [[ $COMP_CWORD -ne 1 ]] || COMPREPLY+=({command_names})'] if command_names else []),
            "}",
            f"shopt -s extglob\ncomplete -F {function} {tool}\n",
        ]
    )


def zsh_text(text):
    return re.sub(r"([\[\]:'\\])", r"\\\1", text).replace("\\'", "'\\''")


def zsh_arguments(page, tool):
    lines = []
    for option in page.options():
        value = f":{zsh_text(option.what)}:_files" if option.what else ""
        equals = "=-" if option.optional else "=" if option.what else ""
        value = ":" + value if option.optional else value
        lines.append(f"    '{option.name}{equals}[{zsh_text(option.help)}]{value}'")
    endings = "|".join(files_of(tool))
    files = f'_files -g "*.({endings})"' if endings else "_files"
    return [*lines, f"    '*:file:{files}'"]


def zsh_completion(tool, pages):
    lines = [f"#compdef {tool}", f"# Completion of {tool} for zsh."]
    for command, page in pages.items():
        if command:
            lines += [f"if (( CURRENT > 2 )) && [[ $words[2] == {command} ]]; then", "  shift words", "  (( CURRENT-- ))"]
            lines += ["  _arguments \\", " \\\n".join(zsh_arguments(page, tool)), "  return", "fi"]
    commands = " ".join(command for command in pages if command)
    if commands:
        lines += [f"(( CURRENT == 2 )) && compadd -- {commands}"]
    return "\n".join([*lines, "_arguments \\", " \\\n".join(zsh_arguments(pages[None], tool)), ""])


def fish_text(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_completion(tool, pages):
    lines = [f"# Completion of {tool} for fish."]
    commands = [command for command in pages if command]
    for command, page in pages.items():
        seen = f"__fish_seen_subcommand_from {command}" if command else "not __fish_seen_subcommand_from " + " ".join(commands)
        condition = f" -n {fish_text(seen)}" if commands else ""
        if command:
            summary = " ".join(page.description.split(". ")[0].split())
            lines.append(f"complete -c {tool} -n __fish_use_subcommand -a {command} -d {fish_text(summary)}")
        for option in page.options():
            letter = f" -s {option.letter}" if option.letter else ""
            value = " -r" if option.what and not option.optional else ""
            lines.append(f"complete -c {tool}{condition} -l {option.name[2:]}{letter}{value} -d {fish_text(option.help)}")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: make_pages.py BIN_DIR FOLDER")
    binaries, folder = Path(sys.argv[1]), Path(sys.argv[2])
    command = [binaries / "dhpvm-run", "--version"]
    version = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    for tool, commands in TOOLS.items():
        pages = {command: help_of(binaries / tool, command) for command in [None, *commands]}
        texts = {
            f"man/man1/{tool}.1": man_page(tool, version.split()[-1], pages),
            f"bash/{tool}": bash_completion(tool, pages),
            f"zsh/_{tool}": zsh_completion(tool, pages),
            f"fish/{tool}.fish": fish_completion(tool, pages),
        }
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
