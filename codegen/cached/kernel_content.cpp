// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/kernel_content.h"

#include <algorithm>

#include "bytecode/instruction.h"
#include "codegen/cached/cache_codec.h"

namespace dhpvm::codegen {
namespace {

void write_types(CacheWriter& writer, const bytecode::Module& module,
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
  CacheWriter writer;
  writer.number(record.dimensions);
  writer.number(record.fast_math ? 1 : 0);
  writer.number(static_cast<std::uint64_t>(request.tier));
  writer.number(request.tier == KernelTier::kBaseline ? 1 : request.most_lanes);
  writer.number(record.source.iterated.size());
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
      const bytecode::Instruction i = decode(module, function, pc);
      if (i.op == bytecode::Op::kCall && std::ranges::find(functions, i.c) == functions.end()) {
        functions.push_back(i.c);
      }
      pc = i.next();
    }
  }
  writer.number(request.has_small_indices ? 1 : 0);
  writer.number(request.dimensions.size());
  for (const KnownDimension& known : request.dimensions) {
    writer.number(known.array);
    writer.number(known.dimension);
    writer.number(static_cast<std::uint64_t>(known.value));
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
  CacheWriter writer;
  writer.number(static_cast<std::uint64_t>(description.tier));
  writer.number(description.width);
  writer.number(description.rows);
  writer.number(description.staged_operands);
  writer.number(description.packed_operands);
  writer.number(description.panel_bytes);
  writer.text(description.scalar_reason);
  write_sites(writer, description.sites);
  return writer.take_bytes();
}

std::optional<KernelDescription> decode_description(std::span<const std::byte> bytes) {
  CacheReader reader(bytes);
  KernelDescription description;
  description.tier = static_cast<KernelTier>(reader.number());
  description.width = static_cast<unsigned>(reader.number());
  description.rows = static_cast<unsigned>(reader.number());
  description.staged_operands = static_cast<unsigned>(reader.number());
  description.packed_operands = static_cast<unsigned>(reader.number());
  description.panel_bytes = reader.number();
  description.scalar_reason = reader.text();
  description.sites = read_sites(reader);
  if (!reader.done()) return std::nullopt;
  return description;
}

}  // namespace dhpvm::codegen
