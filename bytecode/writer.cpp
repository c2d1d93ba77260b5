// SPDX-License-Identifier: Apache-2.0
#include "bytecode/writer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <span>

#include "base/crc32c.h"
#include "bytecode/bytes.h"
#include "bytecode/field_place.h"
#include "bytecode/format.h"

namespace dhpvm::bytecode {
namespace {

using Bytes = std::vector<std::byte>;

void write_value(ByteWriter& out, const ValueType& value) {
  out.u8(static_cast<std::uint8_t>(value.kind));
  if (value.is_ref()) out.varint(value.type);
}

void write_values(ByteWriter& out, const std::vector<ValueType>& values) {
  out.varint(values.size());
  for (const ValueType& value : values) write_value(out, value);
}

void write_signature(ByteWriter& out, const Signature& signature) {
  write_values(out, signature.parameters);
  write_values(out, signature.results);
}

bool has_structs(const Function& function) { return !function.structs.empty(); }

// The strings that are still needed without names and lines: constants and the names of exports.
std::vector<bool> used_strings(const Module& module) {
  std::vector<bool> used(module.strings.size());
  const auto use = [&](std::uint32_t index) {
    if (index < used.size()) used[index] = true;
  };
  for (const Function& function : module.functions) {
    if (function.exported) use(function.name);
    for (std::uint32_t pc = 0; pc < function.code_size;) {
      const Word word = module.code[function.code_offset + pc];
      const bool is_known = op_of(word) < kOpCount;
      const OpInfo& row = info(is_known ? static_cast<Op>(op_of(word)) : Op::kNop);
      if (row.b == Operand::kString) use(static_cast<std::uint32_t>(bc_of(word)));
      pc += row.words();
    }
  }
  return used;
}

Bytes write_strings(const Module& module, bool strip) {
  Bytes bytes;
  ByteWriter out(bytes);
  const std::vector<bool> used =
      strip ? used_strings(module) : std::vector<bool>(module.strings.size(), true);
  out.varint(module.strings.size());
  for (std::size_t i = 0; i < module.strings.size(); ++i)
    out.text(used[i] ? module.strings[i] : std::string());
  return bytes;
}

Bytes write_types(const Module& module) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.varint(module.types.size());
  for (const Type& type : module.types) {
    out.u8(static_cast<std::uint8_t>(type.kind));
    out.text(type.name);
    if (type.kind == TypeKind::kClass || type.kind == TypeKind::kStruct) {
      out.varint(type.fields.size());
      for (const Field& field : type.fields) {
        out.text(field.name);
        write_value(out, field.type);
      }
    }
    if (type.kind == TypeKind::kClass) {
      out.varint(type.implementations.size());
      for (const Implementation& implementation : type.implementations) {
        out.varint(implementation.interface);
        out.varint(implementation.functions.size());
        for (const std::uint32_t function : implementation.functions) out.varint(function);
      }
    }
    if (type.kind == TypeKind::kInterface) {
      out.varint(type.methods.size());
      for (const Method& method : type.methods) {
        out.text(method.name);
        write_signature(out, method.signature);
      }
    }
    if (type.kind == TypeKind::kArray || type.kind == TypeKind::kWeak) write_value(out, type.element);
    if (type.kind == TypeKind::kArray) out.u8(type.rank);
  }
  return bytes;
}

Bytes write_imports(const Module& module) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.varint(module.imports.size());
  for (const Import& import : module.imports) {
    out.text(import.name);
    write_signature(out, import.signature);
  }
  return bytes;
}

Bytes write_functions(const Module& module) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.varint(module.functions.size());
  for (const Function& function : module.functions) {
    out.u8(function.exported ? 1 : 0);
    if (function.exported) out.varint(std::uint64_t{function.name + 1});
    write_signature(out, function.signature);
    out.varint(function.primitive_registers);
    out.varint(function.reference_registers);
    out.varint(function.locals.size());
    for (const LocalArray& local : function.locals) {
      out.u8(static_cast<std::uint8_t>(local.kind));
      out.varint(local.count);
    }
    out.varint(function.code_size);
  }
  out.varint(std::uint64_t{module.entry + 1});  // 0 when there is none
  return bytes;
}

Bytes write_code(const Module& module) {
  Bytes bytes;
  bytes.reserve(module.code.size() * sizeof(Word));
  ByteWriter out(bytes);
  for (const Function& function : module.functions) {
    const std::span<const Word> words(module.code.data() + function.code_offset, function.code_size);
    if constexpr (std::endian::native == std::endian::little) {
      const auto raw = std::as_bytes(words);
      bytes.insert(bytes.end(), raw.begin(), raw.end());
    } else {
      for (const Word word : words) out.fixed<Word>(word);
    }
  }
  return bytes;
}

Bytes write_kernels(const Module& module) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.varint(module.kernels.size());
  for (const KernelRecord& kernel : module.kernels) {
    out.varint(kernel.function);
    out.u8(kernel.dimensions);
    out.u8(kernel.fast_math ? 1 : 0);
    out.varint(kernel.reductions.size());
    for (const Reduction& reduction : kernel.reductions) {
      out.u8(static_cast<std::uint8_t>(reduction.op));
      out.u8(static_cast<std::uint8_t>(reduction.kind));
    }
    out.text(kernel.device_hint);
    out.varint(kernel.batch_hint);
  }
  return bytes;
}

// Per function: the number of entries, then each as the difference from the one before.
Bytes write_lines(const Module& module) {
  Bytes bytes;
  ByteWriter out(bytes);
  for (const Function& function : module.functions) {
    out.varint(function.lines.size());
    Line last;
    for (const Line& line : function.lines) {
      out.varint(line.pc - last.pc);
      out.varint(std::uint64_t{line.file + 1});
      out.signed_varint(std::int64_t{line.line} - last.line);
      out.varint(line.column);
      last = line;
    }
  }
  return bytes;
}

Bytes write_names(const Module& module) {
  Bytes bytes;
  ByteWriter out(bytes);
  for (const Function& function : module.functions) {
    if (!function.exported) out.varint(std::uint64_t{function.name + 1});
  }
  return bytes;
}

Bytes write_loops(const Module& module) {
  Bytes bytes;
  ByteWriter out(bytes);
  for (const KernelRecord& kernel : module.kernels) {
    const KernelSource& source = kernel.source;
    out.varint(source.arrays.size());
    for (const KernelSource::Array& array : source.arrays) {
      out.varint(array.name);
      out.u8(array.is_parts ? 1 : 0);
    }
    out.varint(source.iterated.size());
    for (const std::uint16_t counter : source.iterated) out.varint(counter);
    out.varint(source.block_rows);
  }
  return bytes;
}

// Functions without struct values are left out.
Bytes write_structs(const Module& module) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.varint(static_cast<std::uint64_t>(std::ranges::count_if(module.functions, has_structs)));
  for (std::size_t id = 0; id < module.functions.size(); ++id) {
    const Function& function = module.functions[id];
    if (!has_structs(function)) continue;
    out.varint(id);
    out.varint(function.structs.size());
    for (const StructValue& value : function.structs) {
      out.varint(value.first);
      out.varint(value.type);
    }
  }
  return bytes;
}

bool has_loops(const Module& module) {
  const auto is_named = [](const KernelRecord& kernel) { return kernel.source != KernelSource{}; };
  return std::ranges::any_of(module.kernels, is_named);
}

bool has_lines(const Module& module) {
  for (const Function& function : module.functions) {
    if (!function.lines.empty()) return true;
  }
  return false;
}

bool has_names(const Module& module) {
  for (const Function& function : module.functions) {
    if (!function.exported && function.name != kNoIndex) return true;
  }
  return false;
}

// Version 1.2 lets atomic updates change fields, and replace the bits of floats, with opcodes that are older.
constexpr auto kFirstWithNewerForms = static_cast<std::uint16_t>(Op::kTrapText);

// Whether the instruction needs version 1.2 although its opcode is older.
bool is_newer_form(const OpInfo& row, Word x) {
  const bool replaces_bits = row.operation == Operation::kExchange || row.operation == Operation::kCas;
  return row.family == Family::kAtomic && (replaces_bits || field_place(row.family, row.x, x));
}

// The oldest version that has all opcodes of the module.
const Version& version_of(const Module& module) {
  std::uint16_t newest = 0;
  for (const Function& function : module.functions) {
    for (std::uint32_t pc = 0; pc < function.code_size;) {
      const std::uint16_t op = op_of(module.code[function.code_offset + pc]);
      newest = std::max(newest, op);
      const std::uint32_t words = op < kOpCount ? info(static_cast<Op>(op)).words() : 1;
      if (words == 2 && pc + 1 < function.code_size &&
          is_newer_form(info(static_cast<Op>(op)), module.code[function.code_offset + pc + 1]))
        newest = std::max(newest, kFirstWithNewerForms);
      pc += words;
    }
  }
  const Version* version = std::end(kVersions) - 1;
  while (version->first > newest) --version;
  return *version;
}

struct Part {
  Section kind;
  bool required;
  Bytes bytes;
};

std::size_t aligned(std::size_t size) {
  return (size + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

}  // namespace

std::vector<std::byte> write_module(const Module& module, const WriteOptions& options) {
  std::vector<Part> parts;
  parts.push_back({Section::kStrings, true, write_strings(module, options.strip)});
  parts.push_back({Section::kTypes, true, write_types(module)});
  parts.push_back({Section::kImports, true, write_imports(module)});
  parts.push_back({Section::kFunctions, true, write_functions(module)});
  parts.push_back({Section::kCode, true, write_code(module)});
  parts.push_back({Section::kKernels, true, write_kernels(module)});
  if (!options.strip && has_lines(module)) parts.push_back({Section::kLines, false, write_lines(module)});
  if (!options.strip && has_names(module)) parts.push_back({Section::kNames, false, write_names(module)});
  if (!options.strip && has_loops(module)) parts.push_back({Section::kLoops, false, write_loops(module)});
  if (std::ranges::any_of(module.functions, has_structs))
    parts.push_back({Section::kStructs, false, write_structs(module)});

  Bytes head;
  ByteWriter out(head);
  for (const char c : kMagic) out.u8(static_cast<std::uint8_t>(c));
  const Version& version = version_of(module);
  out.fixed<std::uint16_t>(version.major_number);
  out.fixed<std::uint16_t>(version.minor_number);
  out.fixed<std::uint32_t>(0);  // features
  out.fixed<std::uint32_t>(static_cast<std::uint32_t>(parts.size()));
  Bytes table;
  ByteWriter rows(table);
  std::size_t offset = aligned(kHeaderBytes + parts.size() * kSectionEntryBytes);
  for (const Part& part : parts) {
    rows.fixed<std::uint32_t>(static_cast<std::uint32_t>(part.kind));
    rows.fixed<std::uint32_t>(part.required ? kSectionRequired : 0);
    rows.fixed<std::uint64_t>(offset);
    rows.fixed<std::uint64_t>(part.bytes.size());
    rows.fixed<std::uint32_t>(crc32c(part.bytes));
    rows.fixed<std::uint32_t>(0);
    offset = aligned(offset + part.bytes.size());
  }
  out.fixed<std::uint32_t>(crc32c(table, crc32c(head)));
  out.fixed<std::uint32_t>(0);

  Bytes file = std::move(head);
  file.reserve(offset);
  file.insert(file.end(), table.begin(), table.end());
  for (const Part& part : parts) {
    file.resize(aligned(file.size()));
    file.insert(file.end(), part.bytes.begin(), part.bytes.end());
  }
  return file;
}

}  // namespace dhpvm::bytecode
