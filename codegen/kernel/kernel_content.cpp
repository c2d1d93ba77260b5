// SPDX-License-Identifier: Apache-2.0
#include "codegen/kernel/kernel_content.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "codegen/lower/instruction.h"

namespace dhpvm::codegen {
namespace {

class Writer {
 public:
  void number(std::uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  void text(std::string_view text) {
    number(text.size());
    bytes_ += text;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    if (bytes_.size() < sizeof(value)) {
      failed_ = true;
      return 0;
    }
    std::memcpy(&value, bytes_.data(), sizeof(value));
    bytes_ = bytes_.subspan(sizeof(value));
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > bytes_.size()) {
      failed_ = true;
      return {};
    }
    std::string text(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return text;
  }
  // How many elements follow, each of at least one number.
  std::uint64_t count() {
    const std::uint64_t value = number();
    if (value > bytes_.size() / sizeof(value)) failed_ = true;
    return failed_ ? 0 : value;
  }
  bool done() const { return !failed_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

void write_types(Writer& writer, const bytecode::Module& module,
                 const std::vector<bytecode::ValueType>& types) {
  writer.number(types.size());
  for (const bytecode::ValueType& type : types) {
    writer.number(static_cast<std::uint64_t>(type.kind));
    if (!type.is_ref()) continue;
    const bytecode::Type& array = module.types[type.type];
    writer.number(array.rank);
    writer.number(static_cast<std::uint64_t>(array.element.kind));
  }
}

}  // namespace

std::string kernel_content(const KernelRequest& request) {
  const bytecode::Module& module = *request.module;
  const bytecode::KernelRecord& record = module.kernels[request.kernel];
  Writer writer;
  writer.number(record.dimensions);
  writer.number(record.fast_math ? 1 : 0);
  writer.number(record.reductions.size());
  for (const bytecode::Reduction& reduction : record.reductions) {
    writer.number(static_cast<std::uint64_t>(reduction.op));
    writer.number(static_cast<std::uint64_t>(reduction.kind));
  }
  std::vector<std::uint32_t> functions = {record.function};
  for (std::size_t next = 0; next < functions.size(); ++next) {
    const bytecode::Function& function = module.functions[functions[next]];
    writer.number(functions[next]);
    write_types(writer, module, function.signature.parameters);
    write_types(writer, module, function.signature.results);
    writer.number(function.primitive_registers);
    writer.number(function.reference_registers);
    writer.number(function.locals.size());
    for (const bytecode::LocalArray& local : function.locals) {
      writer.number(static_cast<std::uint64_t>(local.kind));
      writer.number(local.count);
    }
    writer.number(function.code_size);
    for (std::uint32_t pc = 0; pc < function.code_size; ++pc) {
      writer.number(module.code[function.code_offset + pc]);
    }
    for (std::uint32_t pc = 0; pc < function.code_size;) {
      const Instruction i = decode(module, function, pc);
      if (i.op == bytecode::Op::kCall && std::ranges::find(functions, i.c) == functions.end()) {
        functions.push_back(i.c);
      }
      pc = i.next();
    }
  }
  for (const CallPath& path : request.proven) {
    writer.number(path.size());
    for (const CodePosition& position : path) {
      writer.number(position.function);
      writer.number(position.pc);
    }
  }
  return writer.take();
}

std::vector<std::byte> encode_description(const KernelDescription& description) {
  Writer writer;
  writer.number(description.width);
  writer.text(description.scalar_reason);
  writer.number(description.sites.size());
  for (const KernelSite& site : description.sites) {
    writer.number(static_cast<std::uint64_t>(site.kind));
    writer.number(static_cast<std::uint64_t>(site.trap));
    writer.number(site.calls.size());
    for (const CodePosition& call : site.calls) {
      writer.number(call.function);
      writer.number(call.pc);
    }
  }
  const std::string text = writer.take();
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

std::optional<KernelDescription> decode_description(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  KernelDescription description;
  description.width = static_cast<unsigned>(reader.number());
  description.scalar_reason = reader.text();
  description.sites.resize(reader.count());
  for (KernelSite& site : description.sites) {
    site.kind = static_cast<KernelSite::Kind>(reader.number());
    site.trap = static_cast<TrapKind>(reader.number());
    site.calls.resize(reader.count());
    for (CodePosition& call : site.calls) {
      call.function = static_cast<std::uint32_t>(reader.number());
      call.pc = static_cast<std::uint32_t>(reader.number());
    }
  }
  if (!reader.done()) return std::nullopt;
  return description;
}

}  // namespace dhpvm::codegen
