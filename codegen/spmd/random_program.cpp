// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/random_program.h"

#include <fmt/format.h>

#include <random>
#include <vector>

namespace dhpvm::codegen::spmd {
namespace {

constexpr unsigned kIntegers = 6;  // variables %v0 to %v5
constexpr unsigned kFloats = 3;    // %f0 to %f2
constexpr unsigned kMaxDepth = 4;  // nesting of statements
constexpr unsigned kMaxLoops = 3;  // nesting of loops
constexpr unsigned kMaxTrips = 6;  // of one loop
constexpr unsigned kStatements = 40;

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  std::string make() {
    for (unsigned v = 0; v < kIntegers; ++v) line("%v{} = alloca i32", v);
    for (unsigned f = 0; f < kFloats; ++f) line("%f{} = alloca float", f);
    for (unsigned loop = 0; loop <= kMaxLoops; ++loop) line("%count{} = alloca i32", loop);
    line("%local = alloca [8 x i32], align 4");
    line("call void @llvm.memset.p0.i64(ptr align 4 %local, i8 {}, i64 32, i1 false)", below(3));
    line("%i32 = trunc i64 %i to i32");
    line("%n32 = trunc i64 %n to i32");
    for (unsigned loop = 0; loop <= kMaxLoops; ++loop) line("store i32 0, ptr %count{}", loop);
    line("%i4 = shl i64 %i, 2");
    for (unsigned f = 0; f < kFloats; ++f) line("store float {}.0, ptr %f{}", f, f);
    for (unsigned v = 0; v < kIntegers; ++v) line("store i32 {}, ptr %v{}", v, v);
    for (unsigned v = 0; v < kIntegers; ++v) line("store i32 {}, ptr %v{}", integer(), v);
    block(0);
    leave(0);
    return "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
           "declare i32 @llvm.ctpop.i32(i32)\ndeclare i32 @llvm.smax.i32(i32, i32)\n"
           "declare i32 @llvm.smin.i32(i32, i32)\ndeclare i32 @llvm.umin.i32(i32, i32)\n"
           "declare i32 @llvm.umax.i32(i32, i32)\ndeclare i32 @llvm.abs.i32(i32, i1)\n"
           "declare i32 @llvm.fptosi.sat.i32.f32(float)\n"
           "declare {i32, i1} @llvm.sadd.with.overflow.i32(i32, i32)\n"
           "define {i32, i32, i32, i32, i32} @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {\nentry:\n" +
           text_ + "}\n";
  }

 private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += "  " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  template <typename... Args>
  std::string value(fmt::format_string<Args...> format, Args&&... args) {
    std::string name = fmt::format("%x{}", next_++);
    text_ += "  " + name + " = " + fmt::format(format, std::forward<Args>(args)...) + "\n";
    return name;
  }
  std::string label() { return fmt::format("l{}", next_++); }
  void begin(const std::string& name) { text_ += name + ":\n"; }

  // An i32 that is uniform as long as only such values were stored.
  std::string uniform() {
    switch (below(5)) {
      case 0: return "%n32";
      case 1: return std::to_string(below(20));
      case 2: return value("load i32, ptr {}", value("getelementptr i32, ptr %c, i64 {}", below(16)));
      case 3: return value("load i32, ptr %count{}", loops_);
      default: return value("add i32 %n32, {}", below(5));
    }
  }

  std::string index(unsigned limit) {
    const std::string narrow = value("and i32 {}, {}", below(3) == 0 ? uniform() : variable(), limit - 1);
    return value("zext i32 {} to i64", narrow);
  }

  std::string variable() { return value("load i32, ptr %v{}", below(kIntegers)); }

  std::string address() {
    switch (below(6)) {
      case 0: return value("getelementptr i32, ptr %b, i64 {}", value("add i64 %i, {}", below(50)));
      case 1: return value("getelementptr i32, ptr %b, i64 {}", value("sub i64 300, %i"));
      case 2: return value("getelementptr i32, ptr %c, i64 {}", index(64));
      case 3: return value("getelementptr i32, ptr %b, i64 {}", value("mul i64 %i, {}", below(4)));
      case 4: return own();
      default: return value("getelementptr [8 x i32], ptr %local, i64 0, i64 {}", index(8));
    }
  }

  // An element that no other iteration accesses.
  std::string own() {
    if (below(2) == 0) return value("getelementptr i32, ptr %a, i64 {}", value("add i64 %i4, {}", below(4)));
    return value("getelementptr i32, ptr %a, i64 {}", value("add i64 %i, {}", 1024 + 512 * below(3)));
  }

  // An i32 made of a number of 8 or 16 bits, whose upper bits are zero or copies of the sign.
  std::string small() {
    const unsigned bits = below(2) == 0 ? 8 : 16;
    const std::string cut = value("trunc i32 {} to i{}", variable(), bits);
    return value("{} i{} {} to i32", below(2) == 0 ? "zext" : "sext", bits, cut);
  }

  // Arithmetic on such numbers, near the limit of what narrow_integers can narrow.
  std::string of_small(unsigned depth) {
    if (depth == 0) return below(3) == 0 ? std::to_string(below(300)) : small();
    const std::string left = of_small(depth - 1);
    constexpr const char* kFunctions[] = {"smin", "smax", "umin", "umax"};
    constexpr const char* kByConstants[] = {"shl", "lshr", "ashr", "udiv", "sdiv", "urem", "srem"};
    constexpr const char* kOperations[] = {"add", "sub", "mul", "and", "or", "xor"};
    switch (below(6)) {
      case 0: return value("call i32 @llvm.abs.i32(i32 {}, i1 false)", left);
      case 1:
        return value("call i32 @llvm.{}.i32(i32 {}, i32 {})", kFunctions[below(4)], left,
                     of_small(depth - 1));
      case 2: return value("{} i32 {}, {}", kByConstants[below(7)], left, 1 + below(18));
      case 3: {
        const std::string less =
            value("icmp {} i32 {}, {}", below(2) == 0 ? "slt" : "ugt", left, of_small(depth - 1));
        return value("select i1 {}, i32 {}, i32 {}", less, left, of_small(0));
      }
      default: return value("{} i32 {}, {}", kOperations[below(6)], left, of_small(depth - 1));
    }
  }

  // A user that accepts the result without conversion.
  std::string from_small() {
    const std::string wide = of_small(1 + below(3));
    if (below(4) == 0) return value("zext i1 {} to i32", value("icmp ult i32 {}, {}", wide, small()));
    const unsigned bits = below(2) == 0 ? 8 : 16;
    return value("{} i{} {} to i32", below(2) == 0 ? "zext" : "sext", bits,
                 value("trunc i32 {} to i{}", wide, bits));
  }

  std::string integer() {
    switch (below(16)) {
      case 0: return uniform();
      case 1: return std::to_string(below(1000));
      case 2: return "%i32";
      case 3: return value("load i32, ptr {}", address());
      case 4: return value("load i32, ptr {}", address());
      case 5: return value("call i32 @llvm.ctpop.i32(i32 {})", variable());
      case 6: return value("call i32 @llvm.smax.i32(i32 {}, i32 {})", variable(), uniform());
      case 7:
        return value("call i32 @llvm.fptosi.sat.i32.f32(float {})",
                     value("load float, ptr %f{}", below(kFloats)));
      case 8: {
        const std::string condition = boolean();
        const std::string other = variable();
        return value("select i1 {}, i32 {}, i32 {}", condition, other, uniform());
      }
      case 9: return value("lshr i32 {}, {}", variable(), below(8));
      case 11:
      case 12: return from_small();
      case 10: {
        const std::string pair =
            value("call {{i32, i1}} @llvm.sadd.with.overflow.i32(i32 {}, i32 {})", variable(), variable());
        const std::string over = value("zext i1 {} to i32", value("extractvalue {{i32, i1}} {}, 1", pair));
        return value("add i32 {}, {}", value("extractvalue {{i32, i1}} {}, 0", pair), over);
      }
      default: {
        constexpr const char* kOperations[] = {"add", "sub", "mul", "and", "or", "xor"};
        const std::string left = variable();
        return value("{} i32 {}, {}", kOperations[below(6)], left, below(2) == 0 ? uniform() : variable());
      }
    }
  }

  std::string real() {
    switch (below(4)) {
      case 0: return value("sitofp i32 {} to float", integer());
      case 1: return fmt::format("{}.5", below(9));
      default: {
        constexpr const char* kOperations[] = {"fadd", "fsub", "fmul"};
        const std::string left = value("load float, ptr %f{}", below(kFloats));
        return value("{} float {}, {}", kOperations[below(3)], left,
                     value("load float, ptr %f{}", below(kFloats)));
      }
    }
  }

  std::string boolean() {
    constexpr const char* kPredicates[] = {"slt", "sgt", "eq", "ne", "ult", "uge"};
    switch (below(6)) {
      case 0:
      case 1: return value("icmp {} i32 {}, {}", kPredicates[below(6)], uniform(), uniform());
      case 2: return value("fcmp olt float {}, {}", value("load float, ptr %f{}", below(kFloats)), real());
      case 3: return value("trunc i32 {} to i1", variable());
      default: return value("icmp {} i32 {}, {}", kPredicates[below(6)], variable(), integer());
    }
  }

  void block(unsigned depth) {
    const unsigned count = 1 + below(5);
    for (unsigned i = 0; i < count && statements_ < kStatements; ++i) statement(depth);
  }

  void statement(unsigned depth) {
    ++statements_;
    const unsigned kind = below(depth >= kMaxDepth ? 8 : 14);
    switch (kind) {
      case 0:
      case 1:
      case 2: line("store i32 {}, ptr %v{}", integer(), below(kIntegers)); break;
      case 3: line("store float {}, ptr %f{}", real(), below(kFloats)); break;
      case 4:
        for (unsigned stores = 1 + below(4); stores > 0; --stores) {
          line("store i32 {}, ptr {}", integer(), own());
        }
        break;
      case 5:
        line("store i32 {}, ptr {}", integer(),
             value("getelementptr [8 x i32], ptr %local, i64 0, i64 {}", index(8)));
        break;
      case 6: divide(); break;
      case 7: jump(); break;
      case 8:
      case 9:
      case 10: choose(depth); break;
      default: loops_ < kMaxLoops ? repeat(depth) : choose(depth);
    }
  }

  void divide() {
    constexpr const char* kOperations[] = {"udiv", "sdiv", "urem", "srem"};
    const std::string divisor = value("and i32 {}, 15", integer());
    const std::string dividend = integer();
    const std::string condition = value("icmp ne i32 {}, 0", divisor);
    const std::string then = label();
    const std::string join = label();
    line("br i1 {}, label %{}, label %{}", condition, then, join);
    begin(then);
    line("store i32 {}, ptr %v{}", value("{} i32 {}, {}", kOperations[below(4)], dividend, divisor),
         below(kIntegers));
    line("br label %{}", join);
    begin(join);
  }

  // break, continue, an immediate next turn, or return; the code after it is dead and removed by prepare.
  void jump() {
    const std::string condition = boolean();
    const std::string out = label();
    const std::string stay = label();
    line("br i1 {}, label %{}, label %{}", condition, out, stay);
    begin(out);
    const unsigned kind = below(5);
    if (kind == 0 || targets_.empty()) {
      leave(1 + below(9));
    } else if (kind == 4) {
      go_back(targets_.back());
    } else {
      const Targets& targets =
          targets_[kind == 1 ? below(static_cast<unsigned>(targets_.size())) : targets_.size() - 1];
      line("br label %{}", kind == 2 ? targets.next : targets.done);
    }
    begin(stay);
  }

  struct Targets {
    std::string next;  // the target of continue
    std::string done;  // the target of break
    std::string head;
    unsigned loop = 0;
    unsigned trips = 0;
  };

  void go_back(const Targets& targets) {
    const std::string count = value("add i32 {}, 1", value("load i32, ptr %count{}", targets.loop));
    line("store i32 {}, ptr %count{}", count, targets.loop);
    const std::string more = value("icmp ult i32 {}, {}", count, targets.trips);
    line("br i1 {}, label %{}, label %{}", more, targets.head, targets.done);
  }

  void leave(unsigned site) {
    std::string result = fmt::format("{{i32 {}, i32 poison, i32 poison, i32 poison, i32 poison}}", site);
    for (unsigned v = 0; v < 4; ++v) {
      const std::string element =
          v < 3 ? value("load i32, ptr %v{}", v)
                : value("call i32 @llvm.fptosi.sat.i32.f32(float {})", value("load float, ptr %f0"));
      result = value("insertvalue {{i32, i32, i32, i32, i32}} {}, i32 {}, {}", result, element, v + 1);
    }
    line("ret {{i32, i32, i32, i32, i32}} {}", result);
  }

  void choose(unsigned depth) {
    const std::string condition = boolean();
    const std::string then = label();
    const std::string otherwise = label();
    const std::string join = label();
    const bool has_else = below(2) == 0;
    // Both sides store to the same element, whose address is computed before them or on each side.
    const unsigned element = below(12);
    const auto address_of_element = [&] {
      return value("getelementptr i32, ptr %a, i64 {}", value("add i64 %i4, {}", element));
    };
    const std::string shared = element < 2 ? address_of_element() : std::string();
    const auto end = [&] {
      if (element < 4)
        line("store i32 {}, ptr {}", integer(), shared.empty() ? address_of_element() : shared);
      line("br label %{}", join);
    };
    line("br i1 {}, label %{}, label %{}", condition, then, has_else ? otherwise : join);
    begin(then);
    block(depth + 1);
    end();
    if (has_else) {
      begin(otherwise);
      block(depth + 1);
      end();
    }
    begin(join);
  }

  // At most kMaxTrips iterations, fewer where a random condition says so; tested before or after the body.
  void repeat(unsigned depth) {
    ++loops_;
    const unsigned loop = loops_;
    const Targets targets{label(), label(), label(), loop, 1 + below(kMaxTrips)};
    const std::string& head = targets.head;
    const std::string body = label();
    line("store i32 0, ptr %count{}", loop);
    line("br label %{}", head);
    begin(head);
    const std::string condition = below(2) == 0 ? boolean() : value("icmp sge i32 {}, 0", uniform());
    line("br i1 {}, label %{}, label %{}", condition, body, targets.done);
    begin(body);
    targets_.push_back(targets);
    block(depth + 1);
    targets_.pop_back();
    line("br label %{}", targets.next);
    begin(targets.next);
    go_back(targets);
    begin(targets.done);
    --loops_;
  }

  std::mt19937 random_;
  std::string text_;
  unsigned next_ = 0;
  unsigned statements_ = 0;
  unsigned loops_ = 0;
  std::vector<Targets> targets_;
};

}  // namespace

std::string random_program(std::uint32_t seed) { return Generator(seed).make(); }

}  // namespace dhpvm::codegen::spmd
