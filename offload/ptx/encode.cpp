// SPDX-License-Identifier: Apache-2.0
#include "offload/ptx/encode.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "offload/ptx/lane_values.h"
#include "offload/ptx/lexer.h"
#include "offload/ptx/special.h"

namespace dhpvm::ptx {
namespace {

constexpr Select kFloatSelect = Select::float_;
constexpr Select select_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Select>, 7> kNames = {{{"A", Select::A},
                                                                          {"integer", Select::integer},
                                                                          {"float", kFloatSelect},
                                                                          {"compare", Select::compare},
                                                                          {"convert", Select::convert},
                                                                          {"memory", Select::memory},
                                                                          {"threads", Select::threads}}};
  for (const auto& [text, select] : kNames) {
    if (text == name) return select;
  }
  return Select::none;
}

constexpr InstructionRow kRows[] = {
#define X(name, operands, types, modifiers, select, flow) \
  {#name, operands, types, modifiers, select_of(#select), Flow::flow},
#include "offload/ptx/instructions.def"
#undef X
};

// Modifiers without effect on the interpreter: caches, scopes, and its default behaviour.
constexpr std::string_view kWithoutEffect =
    " uni aligned sync nc ca cg cs lu cv wb wt weak gl cta gpu sys sc clamp noftz warp red L1 L2 ";

bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t at = list.find(word); at != std::string_view::npos; at = list.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

// Cache hints such as L1::evict_last; L2::cache_hint comes with one more operand.
bool is_cache_hint(std::string_view word, const InstructionRow& row) {
  return row.select == Select::memory && (word.starts_with("L1::") || word.starts_with("L2::")) &&
         word != "L2::cache_hint";
}

bool fits(Type type, std::string_view classes) {
  char letter = "-yhwx"[std::min(size_of(type), 8U) == 8 ? 4 : size_of(type) == 4 ? 3 : size_of(type)];
  if (is_half(type)) letter = is_half_pair(type) ? 'E' : 'e';
  if (type == Type::kF32) letter = 'f';
  if (type == Type::kF64) letter = 'g';
  if (type == Type::kPred) letter = 'p';
  if (type == Type::kNone) letter = '-';
  return classes.find(letter) != std::string_view::npos;
}

Execute select(const InstructionRow& row, const Op& op) {
  switch (row.select) {
    case Select::A:
      if (is_half(op.type)) return select_half(row.name, op);
      return is_float(op.type) ? select_float(row.name, op) : select_integer(row.name, op);
    case Select::integer: return select_integer(row.name, op);
    case Select::float_: return is_half(op.type) ? select_half(row.name, op) : select_float(row.name, op);
    case Select::compare: return select_compare(row.name, op);
    case Select::convert: return select_convert(row.name, op);
    case Select::memory: return select_memory(row.name, op);
    case Select::threads: return select_threads(row.name, op);
    case Select::none: break;
  }
  return nullptr;
}

std::string text_of(const Written& written) {
  std::string text(written.name);
  for (const std::string_view modifier : written.modifiers) text += modifier;
  return text;
}

// bar.warp and bar.red have rows of their own.
std::string row_name(const Written& written) {
  std::string name(written.name);
  if (name != "bar" && name != "barrier") return name;
  const auto is_kind = [](std::string_view word) { return word == ".warp" || word == ".red"; };
  const auto kind = std::ranges::find_if(written.modifiers, is_kind);
  return kind == written.modifiers.end() ? name : "bar_" + std::string(kind->substr(1));
}

bool set_rounding(std::string_view word, Op& op) {
  constexpr std::array<std::string_view, 9> kWords = {"", "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"};
  const auto found = std::ranges::find(kWords, word);
  if (found == kWords.end()) return false;
  op.rounding = static_cast<Rounding>(found - kWords.begin());
  return true;
}

bool set_flag(std::string_view word, Op& op) {
  constexpr std::array<std::pair<std::string_view, FlagBit>, 15> kFlags = {
      {{"ftz", FlagBit::kFtz},
       {"sat", FlagBit::kSat},
       {"approx", FlagBit::kApprox},
       {"full", FlagBit::kFull},
       {"cc", FlagBit::kCarryOut},
       {"NaN", FlagBit::kNan},
       {"wrap", FlagBit::kWrap},
       {"to", FlagBit::kTo},
       {"volatile", FlagBit::kStrong},
       {"relaxed", FlagBit::kStrong},
       {"acquire", FlagBit::kStrong},
       {"release", FlagBit::kStrong},
       {"acq_rel", FlagBit::kStrong},
       {"relu", FlagBit::kRelu},
       {"shiftamt", FlagBit::kShiftAmount}}};
  for (const auto& [text, flag] : kFlags) {
    if (text == word) return op.flags |= bit_of(flag), true;
  }
  return false;
}

}  // namespace

bool Encoder::fail(Place at, const std::string& message, ErrorCode code) {
  if (!problem_) problem_ = Error(code, placed(at, message));
  return false;
}

std::int32_t Encoder::constant(std::uint64_t bits) {
  for (std::size_t i = 0; i < program_.constants.size(); ++i) {
    if (program_.constants[i].v[0] == bits) return ~static_cast<std::int32_t>(i);
  }
  Lanes lanes;
  lanes.v.fill(bits);
  program_.constants.push_back(lanes);
  return ~static_cast<std::int32_t>(program_.constants.size() - 1);
}

bool Encoder::type_modifier(std::string_view word, Op& op) const {
#define X(name, text, bytes) \
  if (word == text) return (op.type == Type::kNone ? op.type : op.from_type) = Type::name, true;
  DHPVM_PTX_TYPES(X)
#undef X
  return false;
}

bool Encoder::modifier(std::string_view word, Op& op) const {
  constexpr std::array<std::pair<std::string_view, Space>, 5> kSpaces = {{{"global", Space::kGlobal},
                                                                          {"const", Space::kConst},
                                                                          {"shared", Space::kShared},
                                                                          {"local", Space::kLocal},
                                                                          {"param", Space::kParam}}};
  for (const auto& [text, space] : kSpaces) {
    if (text == word) return op.space = space, true;
  }
  if (set_rounding(word, op) || set_flag(word, op)) return true;
  if (word == "v2" || word == "v4") return op.count = word == "v2" ? 2 : 4, true;
#define X(name, text) \
  if (word == text) return (op.mode == 0 ? op.mode : op.logic) = static_cast<std::uint8_t>(Mode::name), true;
  DHPVM_PTX_MODES(X)
#undef X
  return false;
}

bool Encoder::modifiers(const Written& written, const InstructionRow& row, Op& op) {
  for (std::string_view word : written.modifiers) {
    word.remove_prefix(1);
    const bool is_vote = row.name == "vote" && word == "uni";
    if (type_modifier(word, op) || is_cache_hint(word, row)) continue;
    if (!has_word(row.modifiers, word))
      return fail(written.at, fmt::format("'{}' is not supported: .{} is unknown", text_of(written), word),
                  ErrorCode::kUnsupported);
    if (has_word(kWithoutEffect, word) && !is_vote) continue;
    if (!modifier(word, op))
      return fail(written.at, fmt::format("'.{}' is not supported", word), ErrorCode::kUnsupported);
  }
  if (!fits(op.type, row.types))
    return fail(written.at,
                fmt::format("'{}' is not supported: {}", text_of(written),
                            op.type == Type::kNone ? "it has no type" : "it has no such type"),
                ErrorCode::kUnsupported);
  return true;
}

bool Encoder::predicate(const Operand& written, std::int32_t& slot) {
  if (written.kind == Operand::Kind::kNumber) return slot = written.bits != 0 ? kTrue : kFalse, true;
  if (written.name == "_") return slot = kNoSlot, true;
  Symbol symbol;
  if (written.kind != Operand::Kind::kName || !scopes_.find(written.name, symbol) ||
      symbol.kind != Symbol::Kind::kPredicate)
    return fail(written.at, fmt::format("'{}' is no predicate", written.name));
  slot = symbol.slot;
  return true;
}

// A name that is no register: %tid.x, or a variable, whose address is meant.
bool Encoder::special_or_symbol(const Operand& written, std::int32_t& slot, Op& op) {
#define X(special, text) \
  if (written.name == text) return op.mode = static_cast<std::uint8_t>(Special::special), slot = 0, true;
  DHPVM_PTX_SPECIALS(X)
#undef X
  if (written.name == "WARP_SZ") return slot = constant(kWarpSize), true;
  Symbol symbol;
  if (!scopes_.find(written.name, symbol))
    return fail(written.at, fmt::format("'{}' is not declared", written.name));
  switch (symbol.kind) {
    case Symbol::Kind::kFrame:
      op.flags |= bit_of(FlagBit::kFrame);
      op.offset = static_cast<std::int64_t>(symbol.offset);
      slot = 0;
      return true;
    case Symbol::Kind::kShared:
    case Symbol::Kind::kGlobal: return slot = constant(symbol.offset), true;
    case Symbol::Kind::kEntryParameter:
      return fail(written.at, "the address of a kernel's parameter is not supported",
                  ErrorCode::kUnsupported);
    default: return fail(written.at, fmt::format("the predicate '{}' is no number", written.name));
  }
}

bool Encoder::source(const Operand& written, Type type, std::int32_t& slot, Op& op) {
  ++sources_;
  if (type == Type::kPred) return predicate(written, slot);
  if (written.kind == Operand::Kind::kNumber) {
    std::uint64_t bits = written.bits;
    if (written.is_float && is_half(type))
      return fail(written.at, "numbers of 16 bits are written as bits, as 0x3C00");
    if (written.is_float && is_float(type) && written.is_single != (type == Type::kF32)) {
      bits = written.is_single ? std::bit_cast<std::uint64_t>(double{value_of<float>(bits)})
                               : bits_of<float>(static_cast<float>(value_of<double>(bits)));
    } else if (!written.is_float && is_float(type)) {
      return fail(written.at, "a floating-point number is expected, as 0f3F800000 or 1.0");
    }
    const unsigned size = size_of(type);
    return slot = constant(size == 0 || size >= 8 ? bits : bits & ((std::uint64_t{1} << size * 8) - 1)), true;
  }
  if (written.kind != Operand::Kind::kName || written.negated)
    return fail(written.at, "a register or number is expected");
  Symbol symbol;
  if (!scopes_.find(written.name, symbol) || symbol.kind != Symbol::Kind::kRegister) {
    if (op.to[0] == kNoSlot || sources_ != 1)
      return fail(written.at, fmt::format("'{}' is no register", written.name));
    return special_or_symbol(written, slot, op);
  }
  if (size_of(symbol.type) < size_of(type))
    return fail(written.at, fmt::format("the register '{}' of type {} is too narrow", written.name,
                                        text_of(symbol.type)));
  slot = symbol.slot;
  return true;
}

bool Encoder::result(char role, const Operand& written, Op& op) {
  const Operand& first = written.kind == Operand::Kind::kPair ? written.parts[0] : written;
  if (written.kind == Operand::Kind::kPair) {
    if (role != 'q' && role != 'v') return fail(written.at, "there is one result only");
    if (!predicate(written.parts[1], op.to[1])) return false;
  }
  if (role == 'q' || op.type == Type::kPred) return predicate(first, op.to[0]);
  if (first.name == "_") return op.to[0] = kNoSlot, true;
  Symbol symbol;
  if (first.kind != Operand::Kind::kName || !scopes_.find(first.name, symbol) ||
      symbol.kind != Symbol::Kind::kRegister)
    return fail(first.at, fmt::format("'{}' is no register", first.name));
  op.to[0] = symbol.slot;
  op.width = static_cast<std::uint8_t>(size_of(symbol.type));
  return true;
}

bool Encoder::vector(const Operand& written, bool is_result, Op& op) {
  const std::size_t count = written.parts.size();
  if (count != 2 && count != 4) return fail(written.at, "a vector has 2 or 4 elements");
  op.count = static_cast<std::uint8_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Operand& part = written.parts[i];
    if (!is_result) {
      std::int32_t& slot = op.from[sources_ > 0 || op.to[0] != kNoSlot ? sources_ : i];
      if (!source(part, op.space == Space::kGeneric && op.to[0] != kNoSlot ? Type::kNone : op.type, slot, op))
        return false;
      continue;
    }
    if (part.name == "_") continue;
    Symbol symbol;
    if (!scopes_.find(part.name, symbol) || symbol.kind != Symbol::Kind::kRegister)
      return fail(part.at, fmt::format("'{}' is no register", part.name));
    op.to[i] = symbol.slot;
    op.width = static_cast<std::uint8_t>(size_of(symbol.type));
    op.flags |= bit_of(FlagBit::kTo);
  }
  return true;
}

bool Encoder::address(const Operand& written, Op& op) {
  if (written.kind != Operand::Kind::kAddress) return fail(written.at, "an address in brackets is expected");
  ++sources_;
  op.offset = written.offset;
  op.from[0] = constant(0);
  if (written.name.empty()) return true;
  Symbol symbol;
  if (!scopes_.find(written.name, symbol))
    return fail(written.at, fmt::format("'{}' is not declared", written.name));
  switch (symbol.kind) {
    case Symbol::Kind::kRegister:
      op.from[0] = symbol.slot;
      if (size_of(symbol.type) < 8 && op.space != Space::kShared && op.space != Space::kLocal)
        return fail(written.at, fmt::format("the address '{}' has less than 64 bits", written.name));
      if (size_of(symbol.type) < 8) op.flags |= bit_of(FlagBit::kShortAddress);
      return true;
    case Symbol::Kind::kPredicate: return fail(written.at, fmt::format("'{}' is no address", written.name));
    case Symbol::Kind::kFrame:
      op.flags |= bit_of(FlagBit::kFrame);
      op.space = Space::kLocal;
      op.offset += static_cast<std::int64_t>(symbol.offset);
      return true;
    case Symbol::Kind::kEntryParameter:
      if (op.space != Space::kParam) return fail(written.at, "a kernel's parameter is read by ld.param");
      op.offset += static_cast<std::int64_t>(symbol.offset);
      return true;
    default:
      if (op.space == Space::kGeneric && symbol.kind == Symbol::Kind::kShared) op.space = Space::kShared;
      op.offset += static_cast<std::int64_t>(symbol.offset);
      return true;
  }
}

bool Encoder::operand(char role, const Operand& written, Op& op) {
  std::int32_t ignored = 0;
  switch (role) {
    case 'D':
      if (written.kind == Operand::Kind::kVector) return vector(written, true, op);
      [[fallthrough]];
    case 'd':
    case 'q':
    case 'v': return result(role, written, op);
    case 'S':
      if (written.kind == Operand::Kind::kVector) return vector(written, false, op);
      [[fallthrough]];
    case 's': return source(written, op.type, op.from[sources_], op);
    case 'c': return source(written, op.from_type, op.from[sources_], op);
    case 'u': return source(written, Type::kU32, op.from[sources_], op);
    case 'x': return source(written, Type::kU64, op.from[sources_], op);
    case 'n':
      if (written.kind != Operand::Kind::kNumber || (sources_ == 0 && written.bits != 0))
        return fail(written.at, "barriers other than 0 are not supported", ErrorCode::kUnsupported);
      return source(written, Type::kU32, ignored, op);
    case 'P':
      if (written.negated) op.flags |= bit_of(FlagBit::kNegated);
      return predicate(written, op.from[sources_++]);
    case 'M': return source(written, Type::kU32, op.from[4], op);
    case 'a': return address(written, op);
    default: label_ = written.name; return true;
  }
}

Result<Op> Encoder::encode(const Written& written, std::string_view& label) {
  problem_.reset();
  label_ = {};
  sources_ = 0;
  Op op;
  op.at = written.at;
  const auto* const row = std::ranges::find(kRows, row_name(written), &InstructionRow::name);
  if (row == std::end(kRows))
    return Error(ErrorCode::kUnsupported,
                 placed(written.at, fmt::format("'{}' is not supported", text_of(written))));
  op.flow = row->flow;
  if (!modifiers(written, *row, op)) return *std::move(problem_);
  std::string roles(row->operands);
  const std::size_t required = std::min(roles.find('?'), roles.size());
  std::erase(roles, '?');
  const std::size_t given = written.operands.size();
  if (op.flow != Flow::kCall && (given < required || given > roles.size()))
    return Error(ErrorCode::kCompile, placed(written.at, fmt::format("'{}' has {} operands, and {} here",
                                                                     text_of(written), roles.size(), given)));
  if (row->name == "cvt" && (given == 3) != is_half_pair(op.type))
    return Error(
        ErrorCode::kUnsupported,
        placed(written.at, fmt::format("'{}' with {} operands is not supported", text_of(written), given)));
  for (std::size_t i = 0; i < given && op.flow != Flow::kCall; ++i) {
    if (!operand(roles[i], written.operands[i], op)) return *std::move(problem_);
  }
  if (row->select == Select::A || row->select == Select::integer || row->select == Select::float_)
    op.count = static_cast<std::uint8_t>(sources_);
  if (!written.guard.empty()) {
    Operand guard;
    guard.name = written.guard;
    guard.at = written.at;
    if (!predicate(guard, op.guard)) return *std::move(problem_);
    op.guard_negated = written.guard_negated;
  }
  if (row->select != Select::none) {
    op.execute = select(*row, op);
    if (op.execute == nullptr)
      return Error(ErrorCode::kUnsupported,
                   placed(written.at, fmt::format("'{}' is not supported", text_of(written))));
  }
  label = label_;
  return op;
}

}  // namespace dhpvm::ptx
