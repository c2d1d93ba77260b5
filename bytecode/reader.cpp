// SPDX-License-Identifier: Apache-2.0
#include "bytecode/reader.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "base/crc32c.h"
#include "base/error.h"
#include "bytecode/bytes.h"
#include "bytecode/format.h"

namespace dhpvm::bytecode {
namespace {

std::string_view section_name(std::uint32_t kind) {
  switch (kind) {
#define X(kind, name, number, required) \
  case number: return name;
    DHPVM_SECTIONS(X)
#undef X
    default: return "custom";
  }
}

// Where a section of a known kind lies; `present` is false when the file has none.
struct Place {
  std::span<const std::byte> bytes;
  std::size_t offset = 0;
  bool present = false;
};
using Places = Place[kSectionKinds + 1];

// Decodes the sections into a module. One function per section; each leaves its failure in the reader.
class Decoder {
 public:
  Decoder(const Places& places, Module& module) : places_(places), module_(module) {}

  Status run() {
    DHPVM_TRY(section(Section::kStrings, &Decoder::strings));
    DHPVM_TRY(section(Section::kTypes, &Decoder::types));
    DHPVM_TRY(section(Section::kImports, &Decoder::imports));
    DHPVM_TRY(section(Section::kFunctions, &Decoder::functions));
    DHPVM_TRY(section(Section::kCode, &Decoder::code));
    DHPVM_TRY(section(Section::kKernels, &Decoder::kernels));
    DHPVM_TRY(section(Section::kLines, &Decoder::lines));
    DHPVM_TRY(section(Section::kNames, &Decoder::names));
    DHPVM_TRY(section(Section::kLoops, &Decoder::loops));
    DHPVM_TRY(section(Section::kStructs, &Decoder::structs));
    if (module_.code.size() != code_words_)
      return error(ErrorCode::kMalformed, "the functions have {} words of code, the code section has {}",
                   code_words_, module_.code.size());
    return {};
  }

 private:
  Status section(Section kind, void (Decoder::*decode)(ByteReader&)) {
    const Place& place = places_[static_cast<std::uint32_t>(kind)];
    if (!place.present) return {};
    ByteReader in(place.bytes, place.offset);
    (this->*decode)(in);
    if (in.ok() && in.remaining() != 0) in.fail("bytes left over");
    if (in.ok()) return {};
    return error(ErrorCode::kMalformed, "section {}, offset {}: {}",
                 section_name(static_cast<std::uint32_t>(kind)), in.failed_at(), in.failure());
  }

  // An enumeration stored in a byte, `last` being its last value.
  template <typename E>
  static E enumeration(ByteReader& in, E last, std::string_view what) {
    const std::uint8_t value = in.u8();
    if (value > static_cast<std::uint8_t>(last))
      in.fail("unknown " + std::string(what) + " " + std::to_string(value));
    return in.ok() ? static_cast<E>(value) : E{};
  }
  static bool flag(ByteReader& in) {
    const std::uint8_t value = in.u8();
    if (value > 1) in.fail("a flag is neither 0 nor 1");
    return value == 1;
  }
  static std::uint32_t optional_index(ByteReader& in) { return in.varint() - 1; }  // 0 stands for kNoIndex
  static std::uint16_t u16(ByteReader& in, std::string_view what) {
    const std::uint32_t value = in.varint();
    if (value > 0xffff) in.fail("more than 65535 " + std::string(what));
    return static_cast<std::uint16_t>(value);
  }

  static ValueType value(ByteReader& in) {
    ValueType type;
    type.kind = enumeration(in, Kind::kRef, "kind");
    if (type.is_ref()) type.type = in.varint();
    return type;
  }
  static void values(ByteReader& in, std::vector<ValueType>& out, std::string_view what) {
    const std::uint32_t count = in.count(kMaxMembers, 1, what);
    out.reserve(count);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) out.push_back(value(in));
  }
  static void signature(ByteReader& in, Signature& out) {
    values(in, out.parameters, "parameters");
    values(in, out.results, "results");
  }

  void strings(ByteReader& in) {
    const std::uint32_t count = in.count(kMaxStrings, 1, "strings");
    module_.strings.reserve(count);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) module_.strings.push_back(in.text());
  }

  void fields(ByteReader& in, Type& type) {
    const std::uint32_t count = in.count(kMaxMembers, 2, "fields");
    type.fields.reserve(count);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      Field& field = type.fields.emplace_back();
      field.name = in.text();
      field.type = value(in);
    }
  }
  void implementations(ByteReader& in, Type& type) {
    const std::uint32_t count = in.count(kMaxMembers, 2, "implementations");
    type.implementations.reserve(count);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      Implementation& implementation = type.implementations.emplace_back();
      implementation.interface = in.varint();
      const std::uint32_t functions = in.count(kMaxMembers, 1, "implementing functions");
      for (std::uint32_t f = 0; f < functions && in.ok(); ++f)
        implementation.functions.push_back(in.varint());
    }
  }
  void methods(ByteReader& in, Type& type) {
    const std::uint32_t count = in.count(kMaxMembers, 3, "methods");
    type.methods.reserve(count);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      Method& method = type.methods.emplace_back();
      method.name = in.text();
      signature(in, method.signature);
    }
  }
  void types(ByteReader& in) {
    const std::uint32_t count = in.count(kMaxTypes, 2, "types");
    module_.types.reserve(count);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      Type& type = module_.types.emplace_back();
      type.kind = enumeration(in, TypeKind::kWeak, "kind of type");
      type.name = in.text();
      switch (type.kind) {
        case TypeKind::kString:
        case TypeKind::kResource: break;
        case TypeKind::kClass:
          fields(in, type);
          implementations(in, type);
          break;
        case TypeKind::kInterface: methods(in, type); break;
        case TypeKind::kStruct: fields(in, type); break;
        case TypeKind::kArray:
          type.element = value(in);
          type.rank = in.u8();
          break;
        case TypeKind::kWeak: type.element = value(in); break;
      }
      layout(type);
    }
  }

  void imports(ByteReader& in) {
    const std::uint32_t count = in.count(kMaxImports, 3, "imports");
    module_.imports.reserve(count);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      Import& import = module_.imports.emplace_back();
      import.name = in.text();
      signature(in, import.signature);
    }
  }

  void functions(ByteReader& in) {
    const std::uint32_t count = in.count(kMaxFunctions, 7, "functions");
    module_.functions.reserve(count);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      Function& function = module_.functions.emplace_back();
      function.exported = flag(in);
      if (function.exported) function.name = optional_index(in);
      signature(in, function.signature);
      function.primitive_registers = u16(in, "primitive registers");
      function.reference_registers = u16(in, "reference registers");
      const std::uint32_t locals = in.count(kMaxMembers, 2, "local arrays");
      function.locals.reserve(locals);
      for (std::uint32_t l = 0; l < locals && in.ok(); ++l) {
        const Kind kind = enumeration(in, Kind::kRef, "kind");
        function.locals.push_back({kind, in.varint()});
      }
      function.code_offset = code_words_;
      function.code_size = in.varint();
      if (function.code_size > kMaxCodeWords - code_words_) in.fail("more code than a module may have");
      code_words_ += in.ok() ? function.code_size : 0;
    }
    module_.entry = optional_index(in);
  }

  void code(ByteReader& in) {
    const std::size_t size = in.remaining();
    if (size % sizeof(Word) != 0) return in.fail("the size is not a multiple of 8");
    if (size / sizeof(Word) != code_words_)
      return in.fail("the functions have " + std::to_string(code_words_) + " words of code");
    module_.code.resize(size / sizeof(Word));
    in.words(module_.code);
  }

  void kernels(ByteReader& in) {
    const std::uint32_t count = in.count(kMaxKernels, 6, "kernels");
    module_.kernels.reserve(count);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      KernelRecord& kernel = module_.kernels.emplace_back();
      kernel.function = in.varint();
      kernel.dimensions = in.u8();
      kernel.fast_math = flag(in);
      const std::uint32_t reductions = in.count(kMaxMembers, 2, "reductions");
      for (std::uint32_t r = 0; r < reductions && in.ok(); ++r) {
        const ReductionOp op = enumeration(in, ReductionOp::kXor, "reduction");
        kernel.reductions.push_back({op, enumeration(in, Kind::kRef, "kind")});
      }
      kernel.device_hint = in.text();
      kernel.batch_hint = in.varint64();
    }
  }

  void lines(ByteReader& in) {
    for (Function& function : module_.functions) {
      const std::uint32_t count = in.count(kMaxCodeWords, 4, "line entries");
      function.lines.reserve(count);
      Line last;
      for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        Line line;
        line.pc = last.pc + in.varint();  // may wrap; the verifier insists on rising offsets
        line.file = optional_index(in);
        line.line = static_cast<std::uint32_t>(last.line + in.signed_varint());
        line.column = in.varint();
        function.lines.push_back(line);
        last = line;
      }
      if (!in.ok()) return;
    }
  }

  void names(ByteReader& in) {
    for (Function& function : module_.functions) {
      if (!function.exported) function.name = optional_index(in);
    }
  }

  // The reader accepts any 16-bit number; the verifier checks that the register exists.
  static std::uint16_t register_number(ByteReader& in) {
    const std::uint32_t value = in.varint();
    if (value > 0xffff) in.fail("register " + std::to_string(value) + " does not exist");
    return static_cast<std::uint16_t>(value);
  }

  void loops(ByteReader& in) {
    for (KernelRecord& kernel : module_.kernels) {
      KernelSource& source = kernel.source;
      const std::uint32_t arrays = in.count(kMaxMembers, 2, "arrays");
      for (std::uint32_t i = 0; i < arrays && in.ok(); ++i) {
        const std::uint32_t name = in.varint();
        source.arrays.push_back({name, flag(in)});
      }
      const std::uint32_t counters = in.count(kMaxDimensions, 1, "counters");
      for (std::uint32_t i = 0; i < counters && in.ok(); ++i) source.iterated.push_back(register_number(in));
      source.block_rows = register_number(in);
    }
  }

  void structs(ByteReader& in) {
    const std::uint32_t count = in.count(kMaxFunctions, 4, "functions");
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      const std::uint32_t id = in.varint();
      if (id >= module_.functions.size())
        return in.fail("function " + std::to_string(id) + " does not exist");
      std::vector<StructValue>& values = module_.functions[id].structs;
      const std::uint32_t structs = in.count(kMaxMembers, 2, "structs");
      for (std::uint32_t s = 0; s < structs && in.ok(); ++s) {
        const std::uint32_t first = in.varint();
        values.push_back({first, in.varint()});
      }
    }
  }

  const Places& places_;
  Module& module_;
  std::uint32_t code_words_ = 0;
};

Error damaged(std::size_t offset, std::string_view what) {
  return error(ErrorCode::kMalformed, "section table, offset {}: {}", offset, what);
}

// Magic, version, features; then the number of sections.
Result<std::uint32_t> read_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kMagic.size() || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return error(ErrorCode::kMalformed, "not a DHPVM module: it does not begin with \"DHPV\"");
  ByteReader in(bytes.subspan(kMagic.size()), kMagic.size());
  const auto major = in.fixed<std::uint16_t>();
  const auto minor = in.fixed<std::uint16_t>();
  const auto features = in.fixed<std::uint32_t>();
  const auto sections = in.fixed<std::uint32_t>();
  if (!in.ok() || bytes.size() < kHeaderBytes)
    return error(ErrorCode::kMalformed, "header, offset {}: cut off", bytes.size());
  if (major > kMajorVersion || (major == kMajorVersion && minor > kMinorVersion))
    return error(
        ErrorCode::kUnsupported,
        "the module has format version {}.{}, and this build reads up to {}.{}: use a newer DHPVM, or "
        "compile the program again with this one",
        major, minor, kMajorVersion, kMinorVersion);
  if (major < kMajorVersion)
    return error(ErrorCode::kUnsupported,
                 "the module has format version {}.{}, and this build reads {}.x: compile the program again",
                 major, minor, kMajorVersion);
  if ((features & ~kKnownFeatures) != 0)
    return error(ErrorCode::kUnsupported,
                 "the module needs feature bits {:#x}, which this build does not have: use a newer DHPVM",
                 features & ~kKnownFeatures);
  if (sections > kMaxSections)
    return damaged(12, fmt::format("{} sections, the most is {}", sections, kMaxSections));
  if (sections > (bytes.size() - kHeaderBytes) / kSectionEntryBytes)
    return damaged(12, fmt::format("{} sections in {} bytes", sections, bytes.size()));
  return sections;
}

// The table's rows lie in file order, without overlap, the gaps filled with zeros, so that every byte of a file is
// checked.
Status read_table(std::span<const std::byte> bytes, std::uint32_t sections, Places& places) {
  const std::size_t table_bytes = sections * kSectionEntryBytes;
  ByteReader head(bytes.subspan(16), 16);
  const auto stored_crc = head.fixed<std::uint32_t>();
  if (head.fixed<std::uint32_t>() != 0) return damaged(20, "the reserved field is not 0");
  const auto table = bytes.subspan(kHeaderBytes, table_bytes);
  if (crc32c(table, crc32c(bytes.first(16))) != stored_crc) return damaged(16, "the checksum does not match");

  ByteReader in(table, kHeaderBytes);
  std::size_t end = kHeaderBytes + table_bytes;
  for (std::uint32_t i = 0; i < sections; ++i) {
    const std::size_t row = in.file_offset();
    const auto kind = in.fixed<std::uint32_t>();
    const auto flags = in.fixed<std::uint32_t>();
    const auto offset = in.fixed<std::uint64_t>();
    const auto size = in.fixed<std::uint64_t>();
    const auto crc = in.fixed<std::uint32_t>();
    const auto reserved = in.fixed<std::uint32_t>();
    const std::string_view name = section_name(kind);
    if ((flags & ~kSectionRequired) != 0 || reserved != 0) return damaged(row, "unknown flags");
    if (offset < end || offset > bytes.size() || size > bytes.size() - offset)
      return damaged(
          row, fmt::format("section {} ({} bytes at {}) does not lie behind offset {} and inside the file of "
                           "{} bytes",
                           name, size, offset, end, bytes.size()));
    if (offset - end >= kSectionAlignment) return damaged(row, fmt::format("a gap before section {}", name));
    for (; end < offset; ++end) {
      if (bytes[end] != std::byte{0})
        return damaged(row, fmt::format("the gap before section {} is not zero", name));
    }
    end = offset + size;
    const auto content = bytes.subspan(offset, size);
    if (crc32c(content) != crc)
      return error(ErrorCode::kMalformed, "section {}, offset {}: the checksum does not match", name, offset);
    if (kind == 0 || kind > kSectionKinds) {
      if ((flags & kSectionRequired) == 0) continue;
      return error(ErrorCode::kUnsupported,
                   "the module needs a section of kind {}, which this build does not know: use a newer DHPVM",
                   kind);
    }
    if (places[kind].present) return damaged(row, fmt::format("a second section {}", name));
    places[kind] = {content, offset, true};
  }
  if (end != bytes.size())
    return damaged(end, fmt::format("{} bytes behind the last section", bytes.size() - end));
  return {};
}

}  // namespace

Result<Module> read_module(std::span<const std::byte> bytes) {
  DHPVM_ASSIGN(const std::uint32_t sections, read_header(bytes));
  Places places;
  DHPVM_TRY(read_table(bytes, sections, places));
  Module module;
  DHPVM_TRY(Decoder(places, module).run());
  return module;
}

}  // namespace dhpvm::bytecode
