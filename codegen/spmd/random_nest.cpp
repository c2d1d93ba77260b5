// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/random_nest.h"

#include <fmt/format.h>

#include <random>

namespace dhpvm::codegen::spmd {
namespace {

constexpr unsigned kMostOuterTurns = 3;
constexpr std::int64_t kMostElements = kNestWords;

class NestGenerator {
 public:
  explicit NestGenerator(std::uint32_t seed) : random_(seed), type_(nest_type(seed)) {}

  std::string make() {
    const char* const zero = is_integer() ? "7" : "0.5";
    line("%sum = alloca {}", name());
    line("store {} {}, ptr %sum", name(), zero);
    writes_ = below(2) == 0;
    const bool is_chosen = below(3) == 0;
    if (is_chosen) {
      const std::string rest = value("urem i64 %i, 3");
      line("br i1 {}, label %chosen, label %end", value("icmp ne i64 {}, 1", rest));
      begin("chosen");
    }
    loop(below(3));
    line("br label %end");
    begin("end");
    line("ret {} {}", name(), value("load {}, ptr %sum", name()));
    return fmt::format(
        "define {} @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {{\nentry:\n{}}}\n"
        "declare i64 @llvm.smin.i64(i64, i64)\n",
        name(), text_);
  }

 private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  bool is_integer() const { return type_ == NestType::kInteger; }
  const char* name() const { return is_integer() ? "i32" : type_ == NestType::kFloat ? "float" : "double"; }

  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += "  " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  template <typename... Args>
  std::string value(fmt::format_string<Args...> format, Args&&... args) {
    std::string made = fmt::format("%x{}", next_++);
    text_ += "  " + made + " = " + fmt::format(format, std::forward<Args>(args)...) + "\n";
    return made;
  }
  void begin(const std::string& label) { text_ += label + ":\n"; }

  // `outer` loops of few turns, and the innermost one in them, with counters as wide as those of the language.
  void loop(unsigned outer) {
    const unsigned number = loops_++;
    const std::string index = fmt::format("%k{}", number);
    const std::string turns = outer == 0 ? innermost_turns() : std::to_string(1 + below(kMostOuterTurns));
    line("br label %before{}", number);
    begin(fmt::format("before{}", number));
    line("%any{0} = icmp slt i64 0, {1}", number, turns);
    line("br i1 %any{0}, label %head{0}, label %after{0}", number);
    begin(fmt::format("head{}", number));
    line("{} = phi i64 [ 0, %before{} ], [ %next{}, %latch{} ]", index, number, number, number);
    if (outer > 0) {
      loop(outer - 1);
    } else {
      const unsigned operations = 1 + below(3);
      for (unsigned n = 0; n < operations; ++n) combine(index);
      if (writes_) {
        const std::string sum = value("load {}, ptr %sum", name());
        line("store {} {}, ptr {}", name(), sum, own_place(index));
        // Rarely a second store, after a load.
        if (below(6) == 0) line("store {} {}, ptr {}", name(), element(index), own_place(index));
      }
    }
    line("br label %latch{}", number);
    begin(fmt::format("latch{}", number));
    line("%next{} = add nsw i64 {}, 1", number, index);
    line("%more{0} = icmp slt i64 %next{0}, {1}", number, turns);
    line("br i1 %more{0}, label %head{0}, label %after{0}", number);
    begin(fmt::format("after{}", number));
  }

  // Mostly uniform.
  std::string innermost_turns() {
    switch (below(6)) {
      case 0: return value("sub i64 %n, {}", below(3));
      case 1: return value("sub i64 %n, {}", value("and i64 %i, 3"));
      case 2: {
        // Or the remainder for the iteration, as in the last of several blocks.
        const std::string done = value("mul nsw i64 %i, {}", kMostNestTurns / kLastNestIteration);
        return value("call i64 @llvm.smin.i64(i64 %n, i64 {})",
                     value("sub i64 {}, {}", kMostNestTurns - below(8), done));
      }
      default: return "%n";
    }
  }

  // An element of row i, of column i, a uniform one, or another; with strides around powers of two, and primes.
  std::string element(const std::string& index) {
    constexpr unsigned kStrides[] = {1, 2, 3, 8, 16, 17, 31, 64, 127, 512, 601, 1024, 1031};
    const auto stride = [&] { return static_cast<std::int64_t>(kStrides[below(std::size(kStrides))]); };
    std::int64_t of_lane = stride();
    std::int64_t of_turn = 1;
    if (writes_ && below(3) == 0) return value("load {}, ptr {}", name(), own_place(index));
    // If a row is written, most loads are of rows.
    switch (below(writes_ ? 30 : 6)) {
      case 0: of_lane = 0; break;
      case 1:
        of_lane = 1;
        of_turn = stride();
        break;
      case 2: of_turn = stride(); break;
      default: break;
    }
    while (of_turn > 1 && of_turn * kMostNestTurns > kMostElements / 2) of_turn /= 2;
    while (of_lane > 1 && of_lane * kLastNestIteration > kMostElements / 3) of_lane /= 2;
    std::string place = value("add i64 {}, {}", value("mul nsw i64 %i, {}", of_lane),
                              value("mul nsw i64 {}, {}", index, of_turn));
    for (unsigned outer = 0; outer + 1 < loops_; ++outer) {
      place = value("add i64 {}, {}", place, value("mul nsw i64 %k{}, {}", outer, 1 + below(40)));
    }
    place = value("add i64 {}, {}", place, below(70));
    const char* const array = below(3) == 0 ? "%b" : "%a";
    return value("load {}, ptr {}", name(), value("getelementptr {}, ptr {}, i64 {}", name(), array, place));
  }

  // Near an element of the iteration's own row of %c.
  std::string own_place(const std::string& index) {
    const std::string row = value("mul nsw i64 %i, {}", kMostNestTurns + 10);
    const std::string place = value("add i64 {}, {}", value("add i64 {}, {}", row, index), below(3));
    return value("getelementptr {}, ptr %c, i64 {}", name(), place);
  }

  void combine(const std::string& index) {
    const std::string one = element(index);
    const std::string sum = value("load {}, ptr %sum", name());
    const auto store = [&](const std::string& result) { line("store {} {}, ptr %sum", name(), result); };
    switch (below(5)) {
      case 0: {
        const std::string less = is_integer() ? value("icmp slt i32 {}, {}", one, sum)
                                              : value("fcmp olt {} {}, {}", name(), one, sum);
        store(value("select i1 {}, {} {}, {} {}", less, name(), sum, name(), one));
        break;
      }
      case 1: {
        const std::string product =
            value("{} {} {}, {}", is_integer() ? "mul" : "fmul", name(), one, element(index));
        store(value("{} {} {}, {}", is_integer() ? "add" : "fadd", name(), sum, product));
        break;
      }
      case 2: sometimes(index, one, sum); break;
      default: store(value("{} {} {}, {}", is_integer() ? "add" : "fadd", name(), sum, one));
    }
  }

  // Reads another element in some turns only.
  void sometimes(const std::string& index, const std::string& one, const std::string& sum) {
    const unsigned number = next_++;
    const std::string is_less =
        is_integer() ? value("icmp ult i32 {}, 1000000000", one) : value("fcmp olt {} {}, 1.0", name(), one);
    line("br i1 {}, label %some{}, label %join{}", is_less, number, number);
    begin(fmt::format("some{}", number));
    line("store {} {}, ptr %sum", name(),
         value("{} {} {}, {}", is_integer() ? "sub" : "fsub", name(), sum, element(index)));
    line("br label %join{}", number);
    begin(fmt::format("join{}", number));
  }

  std::mt19937 random_;
  const NestType type_;
  std::string text_;
  unsigned next_ = 0;
  unsigned loops_ = 0;
  bool writes_ = false;
};

}  // namespace

NestType nest_type(std::uint32_t seed) {
  constexpr NestType kTypes[] = {NestType::kFloat, NestType::kDouble, NestType::kInteger, NestType::kFloat};
  return kTypes[seed / 4 % 4];
}

std::string random_nest(std::uint32_t seed) { return NestGenerator(seed).make(); }

}  // namespace dhpvm::codegen::spmd
