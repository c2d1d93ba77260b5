// SPDX-License-Identifier: Apache-2.0
// Random programs of consecutive parallel loops over a few arrays: loops that can run together, and everything that may
// come between them.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace dhpvm {

class ChainPrograms {
 public:
  explicit ChainPrograms(std::uint64_t seed) : random_(seed) {}

  // `run(n)`, for n >= 5, returns a hash of every bit of every array.
  std::string make();

 private:
  struct Array {
    std::string name;
    std::string type;
    bool is_float = false;
  };

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  const Array& any() { return arrays_[below(arrays_.size())]; }
  void declare(const std::string& name);
  void statement();
  void loop();
  void short_life();
  std::string value(const Array& to, const std::string& index);
  static std::string read(const Array& from, const Array& to, const std::string& index);
  static std::string bits(const Array& array, const std::string& index);

  std::mt19937_64 random_;
  std::vector<Array> arrays_;
  std::string text_;
};

inline void ChainPrograms::declare(const std::string& name) {
  static constexpr const char* kTypes[] = {"f32", "f64", "i32", "i64", "i16"};
  const std::uint64_t type = below(5);
  arrays_.push_back({name, kTypes[type], type < 2});
  text_ += "    let " + name + " = [" + arrays_.back().type + "](n);\n";
}

// An element of `from` as a value of the type of `to`: numbers that have a fraction do not become integers.
inline std::string ChainPrograms::read(const Array& from, const Array& to, const std::string& index) {
  if (from.is_float && !to.is_float) return "(" + index + " as " + to.type + ")";
  return "(" + from.name + "[" + index + "] as " + to.type + ")";
}

inline std::string ChainPrograms::bits(const Array& array, const std::string& index) {
  const std::string element = array.name + "[" + index + "]";
  if (array.is_float)
    return std::string(array.type == "f32" ? "math.bits_f32(" : "math.bits(") + element + ") as i64";
  return element + " as i64";
}

inline std::string ChainPrograms::value(const Array& to, const std::string& index) {
  const std::string first = read(any(), to, index);
  const std::string second = read(any(), to, index);
  if (to.is_float)
    return first + " * 0.5 + " + second + " * 0.25 + (t[" + index + " & 15] as " + to.type + ")";
  return "(" + first + " * 3 - " + second + " + (k[" + index + " & 15] as " + to.type + "))";
}

inline void ChainPrograms::loop() {
  const Array& to = any();
  const std::string head = "    parallel for i in 0..n { ";
  switch (below(12)) {
    case 0:  // neighbours
      text_ += "    parallel for i in 1..n - 1 { " + to.name + "[i] = " + value(to, "i") + "; }\n";
      return;
    case 1: {
      const Array& from = any();
      if (from.name == to.name) break;
      text_ += head + "if i > 0 { " + to.name + "[i] = " + read(from, to, "(i - 1)") + "; } }\n";
      return;
    }
    case 2: {
      const Array& from = any();
      if (from.name == to.name) break;
      text_ += head + "if i < n - 2 { " + to.name + "[i] = " + read(from, to, "(i + 2)") + "; } }\n";
      return;
    }
    case 3:  // from the end
      text_ += head + to.name + "[n - 1 - i] = " + value(to, "(n - 1 - i)") + "; }\n";
      return;
    case 4:  // some of them
      text_ += head + "if i & 3 == 1 { " + to.name + "[i] = " + value(to, "i") + "; } }\n";
      return;
    case 5: {  // all over the place
      const Array& from = any();
      if (from.name == to.name) break;
      text_ += head + to.name + "[i] = " + read(from, to, "((i * 7) % n)") + "; }\n";
      return;
    }
    case 6: {  // at positions that the host mostly knows
      const Array& from = any();
      if (from.name == to.name) break;
      text_ += head + to.name + "[i] = " + read(from, to, "p[i & 15]") + "; }\n";
      return;
    }
    case 7:
      text_ += "    parallel for i in 0..n reduce(+: sum) { sum += i * 3; " + to.name +
               "[i] = " + value(to, "i") + "; }\n";
      return;
    default: break;
  }
  text_ += head + to.name + "[i] = " + value(to, "i") + "; }\n";
}

// An array that dies while loops on it may still be deferred.
inline void ChainPrograms::short_life() {
  const std::vector<Array> before = arrays_;
  text_ += "    if n > 3 {\n";
  declare("short");
  loop();
  text_ += "    parallel for i in 0..n { short[i] = " + value(arrays_.back(), "i") + "; }\n";
  loop();
  loop();
  if (below(2) == 0) text_ += "    short.close();\n";
  text_ += "    }\n";
  arrays_ = before;
}

inline void ChainPrograms::statement() {
  switch (below(12)) {
    case 3: text_ += "    p[" + std::to_string(below(16)) + "] = " + std::to_string(below(5)) + ";\n"; return;
    case 4: text_ += "    parallel for i in 0..16 { p[i] = (p[i] + 1) % 5; }\n"; return;
    case 0: text_ += "    sum = mix(sum, " + bits(any(), "n / 2") + ");\n"; return;
    case 1: text_ += "    " + any().name + "[n / 3] = 5;\n"; return;
    case 2: return short_life();
    default:
      for (std::uint64_t loops = 1 + below(5); loops != 0; --loops) loop();
  }
}

inline std::string ChainPrograms::make() {
  arrays_.clear();
  text_ =
      "fn run(n: i64) -> i64 {\n    var sum = 1;\n    let t = [f32](16);\n    let k = [i32](16);\n"
      "    let p = [i64](16);\n"
      "    for i in 0..16 { t[i] = i as f32 * 0.125; k[i] = (i * 77) as i32; p[i] = (i * 3) % 5; }\n";
  for (std::uint64_t n = 0, count = 2 + below(4); n < count; ++n) {
    declare(std::string(1, static_cast<char>('a' + n)));
    const Array& array = arrays_.back();
    text_ += "    for i in 0..n { " + array.name + "[i] = ((i * 7919) % 1000) as " + array.type + "; }\n";
  }
  for (std::uint64_t statements = 2 + below(5); statements != 0; --statements) statement();
  for (const Array& array : arrays_)
    text_ += "    for i in 0..n { sum = mix(sum, " + bits(array, "i") + "); }\n";
  text_ += "    return sum;\n}\n";
  return "import math;\nfn mix(h: i64, v: i64) -> i64 { return (h ^ v) * 1099511628211 + (h >> 29); }\n" +
         text_;
}

}  // namespace dhpvm
