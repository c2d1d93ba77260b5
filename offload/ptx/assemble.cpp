// SPDX-License-Identifier: Apache-2.0
// Assembles the functions and variables of a module, and resolves their names.
#include <algorithm>
#include <cstring>
#include <map>

#include "base/error.h"
#include "offload/ptx/encode.h"
#include "offload/ptx/lexer.h"

namespace dhpvm::ptx {
namespace {

// Assemblers for GPUs refuse larger declarations for any architecture.
constexpr std::uint64_t kMostShared = 48 << 10;
constexpr std::uint64_t kMostRegisters = 1 << 17;
constexpr std::uint64_t kMostGlobals = std::uint64_t{256} << 20;

std::uint64_t aligned(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

Error problem(Place at, const std::string& message, ErrorCode code = ErrorCode::kCompile) {
  return Error(code, placed(at, message));
}

std::uint64_t alignment_of(const Declared& declared) {
  return std::max<std::uint64_t>({declared.align, size_of(declared.type), 1});
}

class Assembler {
 public:
  Status run(const WrittenModule& module) {
    scopes_.open();
    for (const Declared& variable : module.variables) {
      if (variable.space == ".shared") DHPVM_TRY(declare(variable));
    }
    for (const WrittenFunction& written : module.functions) DHPVM_TRY(declare_function(written));
    DHPVM_TRY(lay_out_globals(module.variables));
    for (const WrittenFunction& written : module.functions) {
      if (written.has_body) DHPVM_TRY(assemble_function(written));
    }
    return {};
  }

  std::shared_ptr<Program> program() { return program_; }

 private:
  struct Reference {
    std::size_t op = 0;
    std::string_view label;
    Place at;
  };
  struct LabelScope {
    std::map<std::string_view, std::uint32_t> places;
    std::map<std::string_view, const BranchTargets*> tables;
    std::vector<Reference> open;
  };

  Status lay_out_globals(const std::vector<Declared>& variables);
  Status fill(const Declared& variable, std::uint64_t offset);
  Status declare(const Declared& declared);
  Status declare_register(const Declared& declared);
  Status declare_function(const WrittenFunction& written);
  Status lay_out(const std::vector<Declared>& written, std::vector<Variable>& out, std::uint32_t begin);
  Status assemble_function(const WrittenFunction& written);
  Status assemble_statement(const Statement& statement);
  Status assemble_instruction(const Written& written);
  Status assemble_call(const Written& written, Op& op);
  Status assemble_indirect_call(const Written& written, const Symbol& target, Op& op);
  Status pass(const std::vector<Operand>& given, const std::vector<Variable>* wanted,
              std::vector<Passed>& out, Place at);
  Status close_labels();
  Status resolve(const Reference& reference, const LabelScope& scope, bool& found);

  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  Scopes scopes_;
  Function* function_ = nullptr;
  std::vector<LabelScope> labels_;
};

Status Assembler::lay_out_globals(const std::vector<Declared>& variables) {
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> offsets;
  for (const Declared& variable : variables) {
    bytes = aligned(bytes, alignment_of(variable));
    offsets.push_back(bytes);
    if (variable.space == ".global" || variable.space == ".const")
      bytes += variable.count * size_of(variable.type);
    if (bytes > kMostGlobals)
      return problem(variable.at, "the variables of the module are larger than 256 MiB");
  }
  if (bytes == 0) return {};
  program_->globals = Allocation::create(bytes);
  if (program_->globals == nullptr)
    return Error(ErrorCode::kOutOfMemory, "no memory for the variables of the module");
  std::memset(program_->globals->bytes(), 0, bytes);
  program_->globals->mark_written(0, bytes);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Declared& variable = variables[i];
    if (variable.space != ".global" && variable.space != ".const") continue;
    Symbol symbol;
    symbol.kind = Symbol::Kind::kGlobal;
    symbol.offset = program_->globals->address() + offsets[i];
    if (!scopes_.declare(variable.name, symbol))
      return problem(variable.at, fmt::format("'{}' is declared twice", variable.name));
  }
  // Their initialisers may contain addresses of one another.
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].space == ".global" || variables[i].space == ".const")
      DHPVM_TRY(fill(variables[i], offsets[i]));
  }
  return {};
}

Status Assembler::fill(const Declared& variable, std::uint64_t offset) {
  const unsigned size = size_of(variable.type);
  if (variable.values.size() > variable.count)
    return problem(variable.at, "there are more values than elements");
  for (std::size_t i = 0; i < variable.values.size(); ++i) {
    const Operand& value = variable.values[i];
    std::uint64_t bits = value.bits;
    if (value.kind != Operand::Kind::kNumber) {
      Symbol symbol;
      if (value.kind != Operand::Kind::kName || size != 8 || !scopes_.find(value.name, symbol))
        return problem(value.at, "a value is a number, or the address of a variable or function in 64 bits");
      bits = symbol.offset + static_cast<std::uint64_t>(value.offset);
    }
    if (value.is_float && !value.is_single && variable.type == Type::kF32)
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    std::memcpy(program_->globals->bytes() + offset + i * size, &bits, size);
  }
  return {};
}

Status Assembler::declare_register(const Declared& declared) {
  Symbol symbol;
  symbol.type = declared.type;
  symbol.count = declared.is_family ? declared.count : 0;
  const bool is_predicate = declared.type == Type::kPred;
  symbol.kind = is_predicate ? Symbol::Kind::kPredicate : Symbol::Kind::kRegister;
  std::uint32_t& used = is_predicate ? function_->predicates : function_->registers;
  if (declared.count > kMostRegisters - used)
    return problem(declared.at, "the function has too many registers");
  symbol.slot = static_cast<std::int32_t>(used);
  used += static_cast<std::uint32_t>(declared.count);
  if (!scopes_.declare(declared.name, symbol))
    return problem(declared.at, fmt::format("'{}' is declared twice", declared.name));
  return {};
}

Status Assembler::declare(const Declared& declared) {
  if (declared.space == ".reg") return declare_register(declared);
  Symbol symbol;
  symbol.type = declared.type;
  symbol.bytes = declared.count * size_of(declared.type);
  if (declared.is_unsized && declared.space != ".shared")
    return problem(declared.at, fmt::format("'{}' has no size", declared.name));
  if (!declared.values.empty()) return problem(declared.at, "variables of functions have no values");
  if (declared.space == ".shared") {
    symbol.kind = Symbol::Kind::kShared;
    symbol.offset = aligned(program_->shared_bytes, alignment_of(declared));
    if (symbol.bytes > kMostShared || symbol.offset > kMostShared - symbol.bytes)
      return problem(declared.at, fmt::format("shared memory is larger than {} bytes", kMostShared));
    program_->shared_bytes = static_cast<std::uint32_t>(symbol.offset + symbol.bytes);
  } else if (declared.space == ".local" || declared.space == ".param") {
    symbol.kind = Symbol::Kind::kFrame;
    symbol.offset = aligned(function_->local_bytes, alignment_of(declared));
    if (symbol.bytes > kMostLocal || symbol.offset > kMostLocal - symbol.bytes)
      return problem(declared.at, fmt::format("local memory is larger than {} bytes", kMostLocal));
    function_->local_bytes = static_cast<std::uint32_t>(symbol.offset + symbol.bytes);
  } else {
    return problem(declared.at, fmt::format("{} variables of functions are not supported", declared.space),
                   ErrorCode::kUnsupported);
  }
  if (!scopes_.declare(declared.name, symbol))
    return problem(declared.at, fmt::format("'{}' is declared twice", declared.name));
  return {};
}

Status Assembler::lay_out(const std::vector<Declared>& written, std::vector<Variable>& out,
                          std::uint32_t begin) {
  std::uint64_t offset = begin;
  for (const Declared& each : written) {
    if (each.space == ".reg")
      return problem(each.at, "parameters in registers are not supported", ErrorCode::kUnsupported);
    offset = aligned(offset, alignment_of(each));
    const std::uint64_t bytes = each.count * size_of(each.type);
    if (bytes > kMostLocal || offset > kMostLocal - bytes)
      return problem(each.at, "the parameters are too large");
    out.push_back({std::string(each.name), static_cast<std::uint32_t>(offset),
                   static_cast<std::uint32_t>(bytes), each.type});
    offset += bytes;
  }
  return {};
}

Status Assembler::declare_function(const WrittenFunction& written) {
  const auto known = std::ranges::find(program_->functions, written.name, &Function::name);
  if (known != program_->functions.end()) {
    if (known->is_defined && written.has_body)
      return problem(written.at, fmt::format("function '{}' is defined twice", written.name));
    known->is_defined |= written.has_body;
    return {};
  }
  Function function;
  function.name = written.name;
  function.is_entry = written.is_entry;
  function.is_defined = written.has_body;
  function.required_block = written.required_block;
  function.largest_block = written.largest_block;
  DHPVM_TRY(lay_out(written.parameters, function.parameters, 0));
  if (!function.is_entry) {
    if (!function.parameters.empty())
      function.local_bytes = function.parameters.back().offset + function.parameters.back().bytes;
    DHPVM_TRY(lay_out(written.results, function.results, function.local_bytes));
    if (!function.results.empty())
      function.local_bytes = function.results.back().offset + function.results.back().bytes;
  }
  Symbol symbol;
  symbol.kind = Symbol::Kind::kGlobal;
  symbol.offset = kFunctionWindow | program_->functions.size();
  if (!scopes_.declare(written.name, symbol))
    return problem(written.at, fmt::format("'{}' is declared twice", written.name));
  program_->functions.push_back(std::move(function));
  return {};
}

Status Assembler::assemble_function(const WrittenFunction& written) {
  function_ = &*std::ranges::find(program_->functions, written.name, &Function::name);
  function_->begin = static_cast<std::uint32_t>(program_->ops.size());
  scopes_.open();
  labels_.emplace_back();
  const auto name_all = [&](const std::vector<Declared>& declared, const std::vector<Variable>& variables) {
    // The definition's names count: an earlier declaration may have other names.
    for (std::size_t i = 0; i < std::min(declared.size(), variables.size()); ++i) {
      Symbol symbol;
      symbol.kind = function_->is_entry ? Symbol::Kind::kEntryParameter : Symbol::Kind::kFrame;
      symbol.offset = variables[i].offset;
      symbol.bytes = variables[i].bytes;
      scopes_.declare(declared[i].name, symbol);
    }
  };
  name_all(written.parameters, function_->parameters);
  name_all(written.results, function_->results);
  for (const Statement& statement : written.body) DHPVM_TRY(assemble_statement(statement));
  DHPVM_TRY(close_labels());
  scopes_.close();
  // The implicit return at the end.
  Op end;
  end.flow = Flow::kReturn;
  end.at = written.at;
  program_->ops.push_back(end);
  return {};
}

Status Assembler::assemble_statement(const Statement& statement) {
  if (const auto* const written = std::get_if<Written>(&statement)) return assemble_instruction(*written);
  if (const auto* const declared = std::get_if<Declared>(&statement)) return declare(*declared);
  if (const auto* const label = std::get_if<Label>(&statement)) {
    if (!labels_.back().places.emplace(label->name, program_->ops.size()).second)
      return problem(label->at, fmt::format("label '{}' is declared twice", label->name));
  } else if (const auto* const targets = std::get_if<BranchTargets>(&statement)) {
    labels_.back().tables.emplace(targets->name, targets);
  } else if (std::holds_alternative<ScopeBegin>(statement)) {
    scopes_.open();
    labels_.emplace_back();
  } else {
    DHPVM_TRY(close_labels());
    scopes_.close();
  }
  return {};
}

Status Assembler::assemble_instruction(const Written& written) {
  std::string_view label;
  Encoder encoder(scopes_, *program_);
  DHPVM_ASSIGN(Op op, encoder.encode(written, label));
  if (op.flow == Flow::kCall) DHPVM_TRY(assemble_call(written, op));
  if (op.flow == Flow::kBranch || op.flow == Flow::kBranchIndex)
    labels_.back().open.push_back({program_->ops.size(), label, written.at});
  program_->ops.push_back(op);
  return {};
}

// `wanted` is null where the function is not known.
Status Assembler::pass(const std::vector<Operand>& given, const std::vector<Variable>* wanted,
                       std::vector<Passed>& out, Place at) {
  if (wanted != nullptr && given.size() != wanted->size())
    return problem(
        at, fmt::format("{} values are passed where the function has {}", given.size(), wanted->size()));
  for (std::size_t i = 0; i < given.size(); ++i) {
    Symbol symbol;
    const std::uint32_t bytes = wanted == nullptr ? 1 : (*wanted)[i].bytes;
    if (!scopes_.find(given[i].name, symbol) || symbol.kind != Symbol::Kind::kFrame || symbol.bytes < bytes)
      return problem(given[i].at,
                     fmt::format("'{}' is no .param variable of {} bytes", given[i].name, bytes));
    out.push_back({static_cast<std::uint32_t>(symbol.offset), static_cast<std::uint32_t>(symbol.bytes)});
  }
  return {};
}

// Each thread finds the number of the callee in a register.
Status Assembler::assemble_indirect_call(const Written& written, const Symbol& target, Op& op) {
  if (target.kind != Symbol::Kind::kRegister || size_of(target.type) != 8)
    return problem(written.at,
                   fmt::format("'{}' is no function, and no register of 64 bits", written.operands[0].name));
  op.from[0] = target.slot;
  CallSite site;
  site.is_indirect = true;
  DHPVM_TRY(pass(written.arguments, nullptr, site.arguments, written.at));
  DHPVM_TRY(pass(written.results, nullptr, site.results, written.at));
  op.target = static_cast<std::uint32_t>(program_->calls.size());
  program_->calls.push_back(std::move(site));
  return {};
}

Status Assembler::assemble_call(const Written& written, Op& op) {
  const auto callee = std::ranges::find(program_->functions, written.operands[0].name, &Function::name);
  if (callee == program_->functions.end()) {
    Symbol target;
    if (!scopes_.find(written.operands[0].name, target))
      return problem(written.at, fmt::format("there is no function '{}'", written.operands[0].name));
    return assemble_indirect_call(written, target, op);
  }
  if (callee->is_entry) return problem(written.at, "a kernel cannot be called");
  CallSite site;
  site.function = static_cast<std::uint32_t>(callee - program_->functions.begin());
  DHPVM_TRY(pass(written.arguments, &callee->parameters, site.arguments, written.at));
  DHPVM_TRY(pass(written.results, &callee->results, site.results, written.at));
  op.target = static_cast<std::uint32_t>(program_->calls.size());
  program_->calls.push_back(std::move(site));
  return {};
}

Status Assembler::resolve(const Reference& reference, const LabelScope& scope, bool& found) {
  Op& op = program_->ops[reference.op];
  if (op.flow == Flow::kBranch) {
    const auto place = scope.places.find(reference.label);
    found = place != scope.places.end();
    if (found) op.target = place->second;
    return {};
  }
  const auto table = scope.tables.find(reference.label);
  found = table != scope.tables.end();
  if (!found) return {};
  std::vector<std::uint32_t> targets;
  for (const std::string_view label : table->second->labels) {
    const auto place = scope.places.find(label);
    if (place == scope.places.end())
      return problem(table->second->at, fmt::format("label '{}' is not declared", label));
    targets.push_back(place->second);
  }
  op.target = static_cast<std::uint32_t>(program_->tables.size());
  program_->tables.push_back(std::move(targets));
  return {};
}

// Labels that this block does not declare belong to the enclosing one.
Status Assembler::close_labels() {
  const LabelScope scope = std::move(labels_.back());
  labels_.pop_back();
  for (const Reference& reference : scope.open) {
    bool found = false;
    DHPVM_TRY(resolve(reference, scope, found));
    if (found) continue;
    if (labels_.empty())
      return problem(reference.at, fmt::format("label '{}' is not declared", reference.label));
    labels_.back().open.push_back(reference);
  }
  return {};
}

}  // namespace

const Function* Program::find_entry(std::string_view name) const {
  const auto found = std::ranges::find(functions, name, &Function::name);
  return found == functions.end() || !found->is_entry || !found->is_defined ? nullptr : &*found;
}

Result<std::shared_ptr<const Program>> assemble(std::string_view text) {
  DHPVM_ASSIGN(const WrittenModule module, parse(text));
  Assembler assembler;
  DHPVM_TRY(assembler.run(module));
  return std::shared_ptr<const Program>(assembler.program());
}

}  // namespace dhpvm::ptx
