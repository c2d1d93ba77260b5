// SPDX-License-Identifier: Apache-2.0
// Declarations. Two passes: the first collects the names that may be used before they are declared.
#include "bytecode/assembler.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "bytecode/assembler_internal.h"
#include "bytecode/names.h"

namespace dhpvm::bytecode {
namespace {

using assembly::Body;
using assembly::Cursor;
using assembly::Mistakes;
using assembly::Scope;

class Assembler {
 public:
  explicit Assembler(std::string_view text) : stream_(tokenize(text)) {}

  Result<Module> run() {
    collect();
    if (!mistakes_.any()) {
      for (const TokenLine& line : stream_.lines) {
        Cursor in(stream_, line, mistakes_);
        statement(in);
      }
      if (body_) mistakes_.add(stream_.lines.back().number, "the last function has no 'end'");
    }
    if (mistakes_.any()) return error(ErrorCode::kCompile, "{}", mistakes_.text());
    for (Type& type : module_.types) layout(type);
    return std::move(module_);
  }

 private:
  // Types, imports and functions by name; the strings, whose order is that of their statements.
  void collect() {
    bool first_type = true;
    bool in_function = false;
    std::uint32_t types = 0;
    std::uint32_t imports = 0;
    std::uint32_t functions = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> named_by_index;  // string, function
    for (const TokenLine& line : stream_.lines) {
      Cursor in(stream_, line, mistakes_);
      if (in_function) {
        in_function = !(line.count == 1 && in.accept_word("end"));
        continue;
      }
      if (in.accept_word("string")) {
        const std::string text = in.text("a string");
        in.expect_end();
        if (!in.ok()) continue;
        scope_.strings.emplace(text, static_cast<std::uint32_t>(module_.strings.size()));
        module_.strings.push_back(text);
      } else if (in.accept_word("type")) {
        const TypeKind kind = in.enumerator<TypeKind>(kTypeKindNames, "a kind of type");
        const std::string name = in.name("a name");
        if (!in.ok()) continue;
        // Texts written by hand leave out the two types that every module has.
        if (first_type && kind != TypeKind::kString) types = predefine();
        first_type = false;
        scope_.types.add(name, types++);
      } else if (in.accept_word("import")) {
        scope_.imports.add(in.name("a name"), imports++);
      } else if (in.accept_word("function")) {
        in_function = true;
        // A name given by its string's index is known once all strings are.
        const Token* next = in.peek();
        if (next != nullptr && next->kind == Token::Kind::kStringIndex) {
          named_by_index.emplace_back(scope_.string(in, true), functions);
        } else if (next != nullptr && !next->is(Token::Kind::kWord, "_")) {
          scope_.functions.add(in.name("a name"), functions);
        }
        ++functions;
      }
    }
    if (first_type) predefine();
    for (const auto& [string, function] : named_by_index) {
      if (string < module_.strings.size()) scope_.functions.add(module_.strings[string], function);
    }
  }

  std::uint32_t predefine() {
    for (const TypeKind kind : {TypeKind::kString, TypeKind::kResource}) {
      Type& type = module_.types.emplace_back();
      type.kind = kind;
      type.name = kind == TypeKind::kString ? "str" : "resource";
      scope_.types.add(type.name, static_cast<std::uint32_t>(module_.types.size() - 1));
    }
    return 2;
  }

  void statement(Cursor& in) {
    if (body_) {
      const Token* next = in.peek();
      if (next != nullptr && next->is(Token::Kind::kWord, "end")) {
        in.take("");
        in.expect_end();
        body_->finish();
        body_.reset();
      } else if (in.accept_word("local")) {
        local(in);
      } else if (in.accept_word("struct")) {
        struct_value(in);
      } else {
        body_->line(in);
      }
      return;
    }
    const Token* first = in.take("a statement");
    if (first == nullptr) return;
    const std::string_view word = first->kind == Token::Kind::kWord ? first->text : std::string_view();
    if (word == "module") return version(in);
    if (word == "string") return;  // collected already
    if (word == "type") return type(in);
    if (word == "field") return field(in);
    if (word == "method") return method(in);
    if (word == "implements") return implements(in);
    if (word == "import") return import(in);
    if (word == "function") return function(in);
    if (word == "kernel") return kernel(in);
    if (word == "entry") return entry(in);
    in.fail("'{}' does not begin a statement", first->text);
  }

  // The text names the version whose opcodes it uses, as a file does: 1.0 is the number 1.0. Older ones are fine.
  void version(Cursor& in) {
    const Token* token = in.take("a version");
    const auto is_named = [&](const Version& known) {
      return token->text == fmt::format("{}.{}", known.major_number, known.minor_number);
    };
    if (token != nullptr && std::none_of(std::begin(kVersions), std::end(kVersions), is_named))
      in.fail("version {} is not known; the newest is {}.{}", token->text, kMajorVersion, kMinorVersion);
    in.expect_end();
  }

  ValueType value(Cursor& in) {
    if (const Token* next = in.peek(); next != nullptr && next->kind == Token::Kind::kWord) {
      const auto kind = find_name<Kind>(kKindNames, next->text);
      if (kind && *kind != Kind::kRef) return in.take(""), ValueType{*kind, kNoIndex};
    }
    return {Kind::kRef, scope_.types.find(in)};
  }
  Signature signature(Cursor& in) {
    Signature out;
    in.expect_mark("(");
    if (!in.accept_mark(")")) {
      do {
        out.parameters.push_back(value(in));
      } while (in.accept_mark(","));
      in.expect_mark(")");
    }
    if (in.accept_mark("->")) {
      do {
        out.results.push_back(value(in));
      } while (in.accept_mark(","));
    }
    return out;
  }

  void type(Cursor& in) {
    Type& type = module_.types.emplace_back();
    type.kind = in.enumerator<TypeKind>(kTypeKindNames, "a kind of type");
    type.name = in.name("a name");
    if (type.kind == TypeKind::kArray || type.kind == TypeKind::kWeak) {
      in.expect_mark(":");
      type.element = value(in);
    }
    if (type.kind == TypeKind::kArray && in.accept_word("rank"))
      type.rank = static_cast<std::uint8_t>(in.integer("a rank", 0, 255));
    in.expect_end();
    in_type_ = true;
  }
  Type* owner(Cursor& in) {
    if (!in_type_) return in.fail("belongs to no type"), nullptr;
    return &module_.types.back();
  }
  void field(Cursor& in) {
    Type* type = owner(in);
    if (type == nullptr) return;
    Field field;
    field.name = in.name("a name");
    in.expect_mark(":");
    field.type = value(in);
    in.expect_end();
    type->fields.push_back(std::move(field));
  }
  void method(Cursor& in) {
    Type* type = owner(in);
    if (type == nullptr) return;
    Method method;
    method.name = in.name("a name");
    method.signature = signature(in);
    in.expect_end();
    type->methods.push_back(std::move(method));
  }
  void implements(Cursor& in) {
    Type* type = owner(in);
    if (type == nullptr) return;
    Implementation implementation;
    implementation.interface = scope_.types.find(in);
    if (in.accept_mark(":")) {
      do {
        implementation.functions.push_back(scope_.functions.find(in));
      } while (in.accept_mark(","));
    }
    in.expect_end();
    type->implementations.push_back(std::move(implementation));
  }

  void import(Cursor& in) {
    in_type_ = false;
    Import import;
    import.name = in.name("a name");
    import.signature = signature(in);
    in.expect_end();
    module_.imports.push_back(std::move(import));
  }

  void function(Cursor& in) {
    in_type_ = false;
    Function& function = module_.functions.emplace_back();
    function.name = scope_.string(in, true);
    function.signature = signature(in);
    for (;;) {
      if (in.accept_word("registers")) {
        function.primitive_registers = static_cast<std::uint16_t>(in.integer("a count", 0, 0xffff));
        function.reference_registers = static_cast<std::uint16_t>(in.integer("a count", 0, 0xffff));
      } else if (in.accept_word("exported")) {
        function.exported = true;
      } else {
        break;
      }
    }
    in.expect_end();
    body_.emplace(scope_, function, mistakes_);
  }
  void local(Cursor& in) {
    const Kind kind = in.enumerator<Kind>(kKindNames, "a kind");
    module_.functions.back().locals.push_back(
        {kind, static_cast<std::uint32_t>(in.integer("a count", 0, kNoIndex))});
    in.expect_end();
  }

  void struct_value(Cursor& in) {
    StructValue value;
    value.first = static_cast<std::uint32_t>(in.integer("a position", 0, kNoIndex));
    value.type = scope_.types.find(in);
    in.expect_end();
    module_.functions.back().structs.push_back(value);
  }

  void kernel(Cursor& in) {
    in_type_ = false;
    KernelRecord kernel;
    kernel.function = scope_.functions.find(in);
    for (;;) {
      if (in.accept_word("dims")) {
        kernel.dimensions = static_cast<std::uint8_t>(in.integer("a number of dimensions", 0, 255));
      } else if (in.accept_word("reduce")) {
        Reduction reduction;
        reduction.op = in.enumerator<ReductionOp>(kReductionNames, "a reduction");
        in.expect_mark(":");
        reduction.kind = in.enumerator<Kind>(kKindNames, "a kind");
        kernel.reductions.push_back(reduction);
      } else if (in.accept_word("device")) {
        kernel.device_hint = in.text("a device");
      } else if (in.accept_word("batch")) {
        kernel.batch_hint = in.bits64();
      } else if (in.accept_word("fastmath")) {
        kernel.fast_math = true;
      } else if (in.accept_word("array")) {
        kernel.source.arrays.push_back({scope_.string(in, false), false});
      } else if (in.accept_word("parts")) {
        kernel.source.arrays.push_back({scope_.string(in, false), true});
      } else if (in.accept_word("counter")) {
        kernel.source.iterated.push_back(static_cast<std::uint16_t>(in.integer("a register", 0, 0xffff)));
      } else if (in.accept_word("rows")) {
        kernel.source.block_rows = static_cast<std::uint16_t>(in.integer("a register", 0, 0xffff));
      } else {
        break;
      }
    }
    in.expect_end();
    module_.kernels.push_back(std::move(kernel));
  }

  void entry(Cursor& in) {
    module_.entry = scope_.functions.find(in);
    in.expect_end();
  }

  TokenStream stream_;
  Mistakes mistakes_;
  Module module_;
  Scope scope_{module_};
  std::optional<Body> body_;
  bool in_type_ = false;
};

}  // namespace

Result<Module> assemble(std::string_view text) { return Assembler(text).run(); }

}  // namespace dhpvm::bytecode
