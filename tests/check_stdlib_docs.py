#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/stdlib.md names every public function, constant, class and method of stdlib/*.dhp, and none that is not there.

usage: check_stdlib_docs.py ROOT
"""

import re
import sys
from pathlib import Path

# Modules that only other modules import.
INTERNAL_MODULES = {
    "fft_stages",
    "linalg_factors",
    "linalg_general",
    "linalg_spectra",
    "regex_automaton",
    "regex_backtracker",
    "regex_program",
    "regex_simulation",
}
# What the modules keep to themselves; everything else is public.
INTERNAL = {
    "args": {"ArgumentKind", "Declared", "distance", "help_line", "nearest", "Parsed.add"}
    | {f"Arguments.{name}" for name in "add find_option find_short find_declared is_negative_number take unknown wrong".split()},
    "array": {"small", "merge_sort", "merge_sort_by"},
    "bits": {"BitSet.check", "BitSet.same_limit"},
    "columns": {"parse_i64_native", "parse_f64_native", "before", "combine", "spread", "powers_of_ten", "field_text", "skip_quoted", "QuotedPart",
                "Columns.codes", "Columns.same", "Columns.wrong_field", "Groups.check", "Columns.size", "Columns.width", "Columns.text"},
    "compress": {"pack_native", "unpack_native", "Packed", "begins", "format_of_file", "bytes_of"},
    "csv": {"parse_f64_native", "field_end", "read_quoted", "plain_end", "begin_of", "column_named", "Quoted"},
    "datetime": {"Scanner", "check_offset", "date_of", "day_micros", "days_before", "first_monday", "floor_div", "floor_mod", "hour_micros",
                 "local", "minute_micros", "month_names", "most_years", "offset_text", "second_micros", "weekday_names", "DateTime.of_day", "compared"},
    "errors": {"NativeResult", "NativeOutcome", "from_native", "text_of", "CaughtTrap", "PassedOn", "from_trap", "passed_on", "take_trap"},
    "fft": {"Plan.stages", "all_of", "both_of", "divide", "divide_matrix", "flat", "put_back", "rows_of", "same", "same_matrix", "transform"},
    "hash": {"padded", "bytes_of", "rotated_left", "rotated_right", "big_endian", "little_endian", "sha256_block", "sha1_block",
             "md5_block", "sha256_constants", "sha512_from", "sha512_block", "sha512_constants", "rotated_right_64", "md5_constants", "base64_digits", "url_digits"},
    "image": {"parse_samples", "scale", "skip_blanks", "shape_native", "decode_native", "encode_native", "NativeShape", "NativeDecoded",
              "NativeEncoded", "decode_by_library", "decode_portable", "error_of", "format_named"},
    "io": {"open_native", "close_native"} | {f"file_{name}" for name in "read read_line write write_text flush seek position size".split()},
    "json": {"max_depth", "read_number", "read_floats", "read_ints", "count_commas", "first_wrong", "same_elements", "Number",
             "Elements", "Field", "Parser", "Writer", "Json.unexpected", "Json.described", "JsonObject.find", "JsonObject.has_repeated", "JsonObject.unrepeated",
             "JsonObject.resize", "JsonObject.described"},
    "lazy": {"Elements", "Numbers", "Filtered", "Mapped", "Taken", "Skipped", "TakenWhile", "Enumerated", "Paired"},
    "linalg": {"check_product", "check_square", "check_vectors", "not_converged", "scale_all", "scale_of"}
    | {f"{name}_native" for name in "gemm_f64 gemm_f32 gemv_f64 gemv_f32 lu cholesky qr qr_q svd eigen_symmetric eigenvalues".split()},
    "list": {"List.grow", "List.check", "List.wrong_index", "List.items", "List.size"},
    "log": {"append", "quoted", "Logger.fields", "Logger.sink", "Logger.write"},
    "map": {"spread", "Pair", "Map.find", "Map.is_removed", "Map.missing", "Map.home", "Map.next", "Map.close_gap", "Map.place", "entry_mask", "Map.entry_of", "Map.entry_value", "Map.set_entry",
            "Map.reset", "Map.respread", "Map.rebuild"},
    "npy": {"Head", "Kind", "Npz.file", "Npz.files", "central_head", "damaged_head", "damaged_zip", "elements", "end_of_directory", "entry",
            "kind_named", "kind_of", "little_endian", "local_head", "malformed", "most_elements", "most_head", "parse_head", "put", "put_entry", "unzip",
            "with_head", "zip"}
    | {f"{way}code{what}" for way in ("de", "en") for what in ("", "_matrix", "_cube", "_bools")},
    "os": {"stat_native", "is_terminal_native", "NativeInfo", "walk_into"},
    "path": {"below", "end_of", "dot_of"},
    "process": {"NativeFinished", "run_native", "settings"},
    "random": {"Pair", "normal_at"},
    "regex": {"least_text", "TemplatePiece", "Match.nth", "Match.known_places", "Match.regex", "Match.in_text"}
    | {f"Regex.{name}" for name in "parsed_template find_end places_of simulated backward_automaton tune".split()},
    "queue": {"Deque.check", "Deque.wrong_index", "Deque.grow", "Deque.place", "Deque.take", "Heap.rise", "Heap.sink"},
    "scan": {"Max", "Min", "Product", "Sum", "block", "scan_blocks", "scan_with"},
    "sort": {"digit_places", "insert", "key", "least_part", "most_inserted", "most_parts", "move_digits", "sort_pairs", "varying_bits"},
    "sorted": {"Chunk", "SortedEntry", "SortedPlace", "half_chunk", "SortedMap.place_of", "SortedMap.drop_last"},
    "stats": {"JointMoments", "Moments", "divisor", "edge_of", "joint_moments", "moments", "pairs",
              "rough_mean", "select", "some", "without_nan"},
    "str": {"join_part", "parse_i64_native", "parse_f64_native", "ParsedInt", "ParsedFloat", "CodePoint", "Builder.grow",
            "Part", "first_word", "count_words", "fill_parts", "fill_lines", "fill_words"}
    | {f"{way}_{what}" for way in ("iterate", "next") for what in "split part lines line words word".split()}
    | {"TextParts", "NextTextPart", "TextLines", "NextTextLine", "TextWords", "NextTextWord"},
    "test": {"Check.failures", "Check.says", "Test", "Tests.tests"},
    "unicode": {"Cases", "Cases.begin", "Cases.has", "add_changed", "change", "find_text", "is_ascii", "lower_changes", "upper_changes", "upper_texts"},
}  # fmt: skip
# Methods that are operators, `hash` of keys among them: the page shows the operators.
OPERATORS = {"plus", "minus", "times", "divided_by", "negated", "equals", "compare", "hash"}
DECLARATION = re.compile(
    r'^(?P<indent> *)(?:intrinsic |extern (?:"[^"]*" )?)?(?P<kind>fn|const|class|struct|enum) (?P<name>\w+)'
)
CODE = re.compile(r"`([^`]+)`")


def names_of(source):
    """Names that a module declares at its top level, and Class.method."""
    names, owner = set(), ""
    for line in source.splitlines():
        declaration = DECLARATION.match(line)
        if not declaration:
            continue
        name = declaration["name"]
        if declaration["indent"]:
            names.add(f"{owner}.{name}")
        else:
            names.add(name)
            if declaration["kind"] in ("class", "struct", "enum"):
                owner = name
    return names


def sections_of(page):
    """The text below each `## NAME`, without the examples."""
    page = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    parts = re.split(r"^## (\w+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def words_in_code(section):
    return {word for code in CODE.findall(section) for word in re.findall(r"\w+", code)}


def problems(root):
    sections = sections_of((root / "docs/stdlib.md").read_text(encoding="utf-8"))
    modules = {path.stem: path for path in sorted((root / "stdlib").glob("*.dhp")) if path.stem not in INTERNAL_MODULES}
    for name in sorted(sections.keys() - modules.keys()):
        yield f"docs/stdlib.md describes a module '{name}' that is not there"
    for name, path in modules.items():
        if name not in sections:
            yield f"docs/stdlib.md does not describe the module '{name}'"
            continue
        source = path.read_text(encoding="utf-8")
        declared, internal = names_of(source), INTERNAL.get(name, set())
        described = words_in_code(sections[name])
        for public in sorted(declared - internal):
            owner, _, method = public.partition(".")
            if owner in internal or method in OPERATORS:
                continue
            if public.rpartition(".")[2] not in described:
                yield f"docs/stdlib.md does not describe '{public}' of '{name}'"
        known = set(re.findall(r"\w+", source))
        for called in sorted(set(re.findall(r"`(\w+)\(", sections[name])) - known):
            yield f"docs/stdlib.md describes '{called}()', which '{name}' does not have"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    found = list(problems(Path(arguments[0])))
    for problem in found:
        print(problem)
    print(f"{len(found)} differences between docs/stdlib.md and the modules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
