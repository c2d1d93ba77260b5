// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "offload/ptx/lexer.h"
#include "offload/ptx/syntax.h"

namespace dhpvm::ptx {
namespace {

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 32;
constexpr unsigned kDeepest = 64;

std::optional<Type> type_of(std::string_view directive) {
#define X(name, text, bytes) \
  if (directive == "." text) return Type::name;
  DHPVM_PTX_TYPES(X)
#undef X
  return std::nullopt;
}

bool is_space(std::string_view text) {
  constexpr std::array<std::string_view, 6> kSpaces = {".reg",   ".local",  ".shared",
                                                       ".param", ".global", ".const"};
  return std::ranges::find(kSpaces, text) != kSpaces.end();
}

// After the first error the parser reads nothing more and keeps that error.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<WrittenModule> run() {
    WrittenModule module;
    header();
    while (ok() && now().kind != TokenKind::kEnd) top_level(module);
    if (!ok()) return *std::move(problem_);
    return module;
  }

 private:
  bool ok() const { return !problem_; }
  const Token& now() const { return tokens_[at_]; }
  bool is(std::string_view text) const { return now().text == text && now().kind != TokenKind::kString; }
  Token take() { return now().kind == TokenKind::kEnd ? now() : tokens_[at_++]; }
  bool accept(std::string_view text) {
    if (!ok() || !is(text)) return false;
    ++at_;
    return true;
  }
  void fail(Place at, const std::string& message) {
    if (ok()) problem_ = Error(ErrorCode::kCompile, placed(at, message));
  }
  std::string shown() const {
    return now().kind == TokenKind::kEnd ? "the end of the text" : fmt::format("'{}'", now().text);
  }
  void expect(std::string_view text) {
    if (ok() && !accept(text)) fail(now().at, fmt::format("'{}' is missing before {}", text, shown()));
  }
  std::string_view expect_name(std::string_view role) {
    if (now().kind != TokenKind::kName) {
      fail(now().at, fmt::format("the name of {} is missing before {}", role, shown()));
      return {};
    }
    return take().text;
  }
  std::uint64_t expect_count(std::string_view role) {
    const Place at = now().at;
    const Operand number = parse_number();
    if (ok() && (number.is_float || number.bits > kMostElements))
      fail(at, fmt::format("{} must be a whole number of at most {}", role, kMostElements));
    return number.bits;
  }

  void header() {
    if (!is(".version")) return fail(now().at, "PTX begins with .version, as in '.version 7.0'");
    take();
    take();
    if (!accept(".target")) return fail(now().at, "'.target' is missing after .version");
    do expect_name("the target");
    while (accept(","));
    if (accept(".address_size")) {
      const Place at = now().at;
      if (expect_count("the size of addresses") != 64)
        fail(at, "addresses of 64 bits are supported, no others");
    }
  }

  void top_level(WrittenModule& module) {
    while (is(".visible") || is(".extern") || is(".weak") || is(".common")) take();
    if (is(".entry") || is(".func")) {
      module.functions.push_back(parse_function());
    } else if (is(".file") || is(".pragma")) {
      skip_line();
    } else if (is_space(now().text)) {
      parse_declaration(module.variables);
    } else {
      fail(now().at, fmt::format("{} is no directive that is supported here", shown()));
    }
  }

  // .file and .pragma do not affect the computation.
  void skip_line() {
    const std::uint32_t line = now().at.line;
    while (now().kind != TokenKind::kEnd && now().at.line == line) {
      if (take().text == ";") return;
    }
  }

  WrittenFunction parse_function() {
    WrittenFunction function;
    function.is_entry = take().text == ".entry";
    if (!function.is_entry && is("(")) function.results = parse_parameters();
    function.at = now().at;
    function.name = expect_name("the function");
    if (is("(")) function.parameters = parse_parameters();
    attributes(function);
    if (accept(";")) return function;
    function.has_body = true;
    expect("{");
    block(function.body, 0);
    return function;
  }

  std::vector<Declared> parse_parameters() {
    std::vector<Declared> parameters;
    expect("(");
    while (ok() && !is(")")) {
      const Place at = now().at;
      if (!is(".param") && !is(".reg")) return fail(at, "a parameter begins with .param"), parameters;
      parameters.push_back(parse_variable(take().text));
      if (!is(")")) expect(",");
    }
    expect(")");
    return parameters;
  }

  void attributes(WrittenFunction& function) {
    while (ok() && now().kind == TokenKind::kDirective) {
      const Token directive = take();
      if (directive.text == ".reqntid") {
        function.required_block = parse_extent();
      } else if (directive.text == ".maxntid") {
        function.largest_block = parse_extent();
      } else if (directive.text == ".minnctapersm" || directive.text == ".maxnreg") {
        expect_count("the number");
      } else if (directive.text != ".noreturn") {
        fail(directive.at, fmt::format("{} is not supported for functions", directive.text));
      }
    }
  }

  Extent parse_extent() {
    Extent extent;
    extent.x = static_cast<std::uint32_t>(expect_count("an extent"));
    if (accept(",")) extent.y = static_cast<std::uint32_t>(expect_count("an extent"));
    if (accept(",")) extent.z = static_cast<std::uint32_t>(expect_count("an extent"));
    return extent;
  }

  // Parses up to the closing brace.
  void block(std::vector<Statement>& body, unsigned depth) {
    if (depth > kDeepest) return fail(now().at, fmt::format("blocks are nested deeper than {}", kDeepest));
    while (ok() && !is("}")) {
      if (now().kind == TokenKind::kEnd) return fail(now().at, "the function has no '}' at its end");
      if (accept("{")) {
        body.emplace_back(ScopeBegin{});
        block(body, depth + 1);
        body.emplace_back(ScopeEnd{});
      } else {
        statement(body);
      }
    }
    expect("}");
  }

  void statement(std::vector<Statement>& body) {
    if (accept(";")) return;
    if (is(".loc") || is(".pragma")) return skip_line();
    if (is_space(now().text)) {
      std::vector<Declared> declared;
      parse_declaration(declared);
      for (Declared& each : declared) body.emplace_back(std::move(each));
    } else if (now().kind == TokenKind::kName && at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == ":") {
      const Token label = take();
      take();
      if (is(".branchtargets")) {
        body.emplace_back(parse_targets(label));
      } else if (is(".callprototype") || is(".calltargets")) {
        // The prototype is skipped: a call is checked against the function that it finds.
        while (now().kind != TokenKind::kEnd && !is(";")) take();
        expect(";");
      } else {
        body.emplace_back(Label{label.text, label.at});
      }
    } else {
      body.emplace_back(parse_instruction());
    }
  }

  BranchTargets parse_targets(const Token& label) {
    BranchTargets targets{label.text, {}, label.at};
    take();
    do targets.labels.push_back(expect_name("a label"));
    while (accept(","));
    expect(";");
    return targets;
  }

  void parse_declaration(std::vector<Declared>& out) {
    const std::string_view space = take().text;
    Declared first = parse_variable(space);
    const Type type = first.type;
    out.push_back(std::move(first));
    while (accept(",")) {
      Declared next;
      next.space = space;
      next.type = type;
      named(next);
      out.push_back(std::move(next));
    }
    expect(";");
  }

  // After the space: alignment, type, name, size, values.
  Declared parse_variable(std::string_view space) {
    Declared declared;
    declared.space = space;
    while (ok() && now().kind == TokenKind::kDirective) {
      const Token directive = take();
      if (directive.text == ".align") {
        declared.align = expect_count("an alignment");
        if (declared.align == 0 || declared.align > 4096 || !std::has_single_bit(declared.align))
          fail(directive.at, "an alignment is a power of two up to 4096");
      } else if (directive.text == ".ptr") {
        pointer_attributes();
      } else if (const std::optional<Type> type = type_of(directive.text)) {
        declared.type = *type;
      } else {
        fail(directive.at, fmt::format("the type {} is not supported", directive.text));
      }
    }
    if (ok() && declared.type == Type::kNone)
      fail(now().at, fmt::format("a type is missing before {}", shown()));
    named(declared);
    return declared;
  }

  // The directive .ptr gives space and alignment of the memory that a parameter points to.
  void pointer_attributes() {
    if (is(".global") || is(".shared") || is(".local") || is(".const")) take();
  }

  void named(Declared& declared) {
    declared.at = now().at;
    declared.name = expect_name("a variable");
    if (accept("<")) {
      declared.is_family = true;
      declared.count = expect_count("a number of registers");
      expect(">");
    }
    while (accept("[")) {
      if (is("]")) {
        declared.is_unsized = true;
        declared.count = 0;
      } else {
        const std::uint64_t count = expect_count("a number of elements");
        if (count != 0 && declared.count > kMostElements / count)
          fail(declared.at, "the variable is too large");
        declared.count *= count;
      }
      expect("]");
    }
    if (accept("=")) values(declared, 0);
  }

  void values(Declared& declared, unsigned depth) {
    if (depth > kDeepest) return fail(now().at, "the braces are nested too deep");
    if (!accept("{")) return declared.values.push_back(parse_value());
    while (ok() && !is("}")) {
      values(declared, depth + 1);
      if (!is("}")) expect(",");
    }
    expect("}");
  }

  // A number, or the address of a variable: name, name+4, generic(name).
  Operand parse_value() {
    Operand value = parse_operand(kDeepest);
    if (value.kind == Operand::Kind::kName && value.name == "generic" && accept("(")) {
      value = parse_operand(kDeepest);
      if (accept("+")) value.offset = static_cast<std::int64_t>(parse_number().bits);
      expect(")");
    }
    if (value.kind == Operand::Kind::kName && accept("+"))
      value.offset = static_cast<std::int64_t>(parse_number().bits);
    return value;
  }

  Written parse_instruction() {
    Written written;
    if (accept("@")) {
      written.guard_negated = accept("!");
      written.guard = expect_name("a predicate");
    }
    written.at = now().at;
    written.name = expect_name("an instruction");
    while (ok() && now().kind == TokenKind::kDirective) written.modifiers.push_back(take().text);
    if (written.name == "call") {
      call_operands(written);
    } else if (!is(";")) {
      do written.operands.push_back(parse_operand(0));
      while (accept(","));
    }
    expect(";");
    return written;
  }

  // (results), function, (arguments)
  void call_operands(Written& call) {
    if (is("(")) {
      call.results = parse_list();
      expect(",");
    }
    call.operands.push_back(parse_operand(0));
    if (!accept(",")) return;
    if (is("(")) {
      call.arguments = parse_list();
      if (!accept(",")) return;
    }
    call.operands.push_back(parse_operand(0));  // the prototype, or the list, of an indirect call
  }

  std::vector<Operand> parse_list() {
    std::vector<Operand> list;
    expect("(");
    while (ok() && !is(")")) {
      list.push_back(parse_operand(0));
      if (!is(")")) expect(",");
    }
    expect(")");
    return list;
  }

  Operand parse_operand(unsigned depth) {
    Operand operand;
    operand.at = now().at;
    if (accept("[")) {
      parse_address(operand);
    } else if (is("{") && depth == 0) {
      take();
      operand.kind = Operand::Kind::kVector;
      do operand.parts.push_back(parse_operand(1));
      while (accept(","));
      expect("}");
    } else if (accept("!")) {
      operand.name = expect_name("a predicate");
      operand.negated = true;
    } else if (now().kind == TokenKind::kNumber || is("-") || is("+") || is("~")) {
      operand = parse_number();
    } else {
      operand.name = expect_name("an operand");
      if (now().kind == TokenKind::kDirective && now().text.begin() == operand.name.end()) {  // %tid.x
        const std::string_view suffix = take().text;
        operand.name = std::string_view(operand.name.begin(), suffix.end());
      }
      if (depth == 0 && accept("|")) {
        Operand first = operand;
        operand.kind = Operand::Kind::kPair;
        operand.parts.push_back(std::move(first));
        operand.parts.push_back(parse_operand(1));
      }
    }
    return operand;
  }

  void parse_address(Operand& operand) {
    operand.kind = Operand::Kind::kAddress;
    if (now().kind == TokenKind::kName) {
      operand.name = take().text;
      if (accept("+")) {
        operand.offset = static_cast<std::int64_t>(parse_number().bits);
      } else if (is("-")) {
        operand.offset = static_cast<std::int64_t>(parse_number().bits);
      }
    } else {
      operand.offset = static_cast<std::int64_t>(parse_number().bits);
    }
    expect("]");
  }

  Operand parse_number() {
    Operand operand;
    operand.kind = Operand::Kind::kNumber;
    operand.at = now().at;
    bool minus = false;
    while (is("-") || is("+")) minus ^= take().text == "-";
    if (now().kind != TokenKind::kNumber) {
      fail(now().at, fmt::format("a number is missing before {}", shown()));
      return operand;
    }
    const Token token = take();
    if (!read(token.text, operand)) {
      fail(token.at, fmt::format("'{}' is no number", token.text));
    } else if (minus && operand.is_float) {
      operand.bits ^= std::uint64_t{1} << (operand.is_single ? 31 : 63);
    } else if (minus) {
      operand.bits = 0 - operand.bits;
    }
    return operand;
  }

  static bool read(std::string_view text, Operand& number) {
    const auto read_digits = [&](std::string_view digits, int base) {
      if (!digits.empty() && (digits.back() == 'U' || digits.back() == 'u')) digits.remove_suffix(1);
      const char* const end = digits.data() + digits.size();
      const auto [rest, problem] = std::from_chars(digits.data(), end, number.bits, base);
      return problem == std::errc() && rest == end && !digits.empty();
    };
    const char kind = text.size() > 2 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
    if (kind == 'x') return read_digits(text.substr(2), 16);
    if (kind == 'b') return read_digits(text.substr(2), 2);
    if (kind == 'f' || kind == 'd') {
      number.is_float = true;
      number.is_single = kind == 'f';
      return text.size() == (kind == 'f' ? 10U : 18U) && read_digits(text.substr(2), 16);
    }
    if (text.find_first_of(".eE") != std::string_view::npos) {
      double value = 0;
      const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
      number.is_float = true;
      number.bits = std::bit_cast<std::uint64_t>(value);
      return problem == std::errc() && rest == text.data() + text.size();
    }
    return read_digits(text, text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '7' ? 8 : 10);
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::optional<Error> problem_;
};

}  // namespace

Result<WrittenModule> parse(std::string_view text) {
  DHPVM_ASSIGN(std::vector<Token> tokens, tokens_of(text));
  return Parser(std::move(tokens)).run();
}

}  // namespace dhpvm::ptx
