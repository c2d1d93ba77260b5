// SPDX-License-Identifier: Apache-2.0
// The error bounds that docs/language.md states for the functions of `math`, on every executor that this machine has:
// the interpreter, compiled functions, compiled parallel loops, and OpenCL. The reference has 113 bits: glibc's
// functions for _Float128. Places are the edges of each type and of each function, and random ones of every magnitude.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "vm/api/test_program.h"

#if defined(__GLIBC__) && defined(__x86_64__)

namespace dhpvm {
namespace {

__extension__ typedef __float128 Quad;

// Declared here because the headers do so for some compilers only.
// clang-format off: a list
#define DHPVM_ONE_NUMBER(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) \
  X(sinh) X(cosh) X(tanh) X(cbrt) X(erf)
// clang-format on
#define DHPVM_TWO_NUMBERS(X) X(pow) X(atan2) X(hypot)
extern "C" {
#define X(name) Quad name##f128(Quad) noexcept;
DHPVM_ONE_NUMBER(X)
#undef X
#define X(name) Quad name##f128(Quad, Quad) noexcept;
DHPVM_TWO_NUMBERS(X)
#undef X
int ilogbf128(Quad) noexcept;
Quad scalbnf128(Quad, int) noexcept;
}

// The documented error bounds, in units in the last place: for f64 and f32 in ordinary calls, for both in parallel
// loops on the host, and for both on OpenCL devices.
struct Bound {
  std::string_view name;
  double f64, f32, vectors, opencl;
};
constexpr Bound kBounds[] = {
    {"exp", 1, 1, 4, 6},   {"exp2", 1, 1, 4, 6},  {"expm1", 1, 1, 4, 6}, {"log", 1, 1, 4, 6},
    {"log2", 1, 1, 4, 6},  {"log10", 3, 3, 4, 6}, {"log1p", 1, 1, 4, 6}, {"sin", 1, 1, 4, 6},
    {"cos", 1, 1, 4, 6},   {"tan", 1, 2, 4, 6},   {"asin", 1, 1, 4, 6},  {"acos", 1, 1, 4, 6},
    {"atan", 1, 1, 4, 6},  {"sinh", 2, 2, 4, 6},  {"cosh", 2, 2, 4, 6},  {"tanh", 3, 3, 4, 6},
    {"cbrt", 4, 1, 4, 6},  {"erf", 2, 2, 4, 16},  {"pow", 1, 1, 4, 16},  {"atan2", 1, 2, 4, 6},
    {"hypot", 1, 1, 4, 6},
};
const Bound& bound_of(std::string_view name) {
  return *std::ranges::find_if(kBounds, [&](const Bound& bound) { return bound.name == name; });
}

constexpr double kWrong = std::numeric_limits<double>::infinity();

// Distance from the exact result in units in the last place, which are those of subnormal numbers below the smallest
// normal one. A result that is rounded to infinity must be infinite, or the largest number.
template <typename T>
double ulps(T got, Quad exact) {
  using Limits = std::numeric_limits<T>;
  const T rounded = static_cast<T>(exact);
  if (std::isnan(got) || std::isnan(rounded)) return std::isnan(got) == std::isnan(rounded) ? 0 : kWrong;
  if (std::isinf(got) && std::isinf(rounded)) return got == rounded ? 0 : kWrong;
  Quad reference = exact;
  if (std::isinf(rounded)) reference = static_cast<Quad>(std::copysign(Limits::max(), rounded));
  const int exponent = exact == 0 ? Limits::min_exponent - 1 : ilogbf128(reference);
  const Quad unit = scalbnf128(1, std::max(exponent, Limits::min_exponent - 1) - (Limits::digits - 1));
  // Infinity stands where the next number would.
  const Quad value =
      std::isinf(got) ? scalbnf128(got > 0 ? 1 : -1, Limits::max_exponent) : static_cast<Quad>(got);
  const Quad distance = value < reference ? reference - value : value - reference;
  return static_cast<double>(distance / unit);
}

// f64 numbers next to multiples of pi / 2, nearer than 3e-17 of it, for exponents all over the range: m * 2^e.
constexpr struct {
  std::int64_t mantissa;
  int exponent;
} kNearMultiples[] = {
    {7763785107565477, -26}, {6617649673795284, 15},  {6311013172270677, 38},  {7564982981241832, 61},
    {5916243447979695, 79},  {6336483603786205, 111}, {8583082635084172, 145}, {5404249928806930, 171},
    {6366906923947931, 194}, {7636753411044619, 201}, {7958046405119485, 243}, {5706025885963129, 262},
    {7170689879210510, 289}, {6967132704357733, 311}, {5102024830784693, 338}, {8510948914910667, 356},
    {7486741073707015, 386}, {7535588378805083, 406}, {7750232865711478, 435}, {6197980835934673, 451},
    {5060726120945734, 483}, {6951690029616219, 503}, {5850965514341686, 525}, {6808218460873451, 562},
    {5878477358074333, 597}, {5660697349493277, 609}, {8360820580228475, 628}, {6972056218669119, 673},
    {8448144137933516, 685}, {8264535151636159, 707}, {6448461629705574, 742}, {4879987748633955, 761},
    {6381956970095103, 797}, {6381956970095103, 799}, {7225941459705196, 845}, {4559880479651994, 856},
    {5648695676206402, 887}, {8472317217439238, 899}, {8444920710073313, 939}, {6221301883130153, 969},
};

// Where functions overflow, underflow, or change the way in which they compute.
constexpr double kThresholds[] = {
    709.782712893384,
    709.78,
    -745.133219101941,
    -744.44,
    -708.396418532264,
    710.475860073944,
    88.7228394,
    88.72,
    -103.972084,
    -103.27893,
    -87.3365448,
    89.4159851,
    1024,
    -1022,
    -1074,
    -1075,
    128,
    -126,
    -149,
    -150,
    22,
    19.0615475,
    9.01091385,
    5.92158699,
    3.91920590,
    27.2,
    0.346573590,
    1e-8,
    1e-20,
    1e8,
    8388608,
    36.7368006,
    0.5,
    1,
    2,
    10,
    1000,
    1e22,
};

template <typename T>
class Places {
 public:
  static std::vector<T> edges() {
    using Limits = std::numeric_limits<T>;
    Places places;
    for (const T x : {T(0), Limits::denorm_min(), Limits::min(), Limits::epsilon(), Limits::max()})
      places.around(x);
    for (const double x : kThresholds) places.around(static_cast<T>(x));
    for (int k = 1; k < 100'000; k += 1 + k / 8) places.around(static_cast<T>(k * 1.5707963267948966));
    if constexpr (Limits::digits == 53) {
      for (const auto& [mantissa, exponent] : kNearMultiples) {
        places.around(std::ldexp(static_cast<T>(mantissa), exponent));
      }
    }
    for (int e = Limits::min_exponent - Limits::digits; e < Limits::max_exponent; ++e) {
      for (int i = 0; i < 4; ++i) places.add(std::ldexp(places.one_to_two(), e));
    }
    // Where most numbers of programs are.
    for (int i = 0; i < 4000; ++i) places.add(std::ldexp(places.one_to_two(), i % 16 - 10));
    places.numbers_.push_back(Limits::infinity());
    places.numbers_.push_back(-Limits::infinity());
    places.numbers_.push_back(Limits::quiet_NaN());
    return std::move(places.numbers_);
  }

 private:
  void add(T x) {
    numbers_.push_back(x);
    numbers_.push_back(-x);
  }
  void around(T x) {
    T below = x, above = x;
    add(x);
    for (int i = 0; i < 2; ++i) {
      add(below = std::nextafter(below, -std::numeric_limits<T>::infinity()));
      add(above = std::nextafter(above, std::numeric_limits<T>::infinity()));
    }
  }
  T one_to_two() { return static_cast<T>(1 + std::ldexp(static_cast<double>(random_() >> 11), -53)); }

  std::mt19937_64 random_{1};
  std::vector<T> numbers_;
};

// Pairs of such numbers: any two, two of about the same magnitude, and powers that are next to the largest and the
// smallest number.
template <typename T>
void add_pairs(const std::vector<T>& edges, std::vector<T>& x, std::vector<T>& y) {
  std::mt19937_64 random(2);
  const double overflow = std::log(static_cast<double>(std::numeric_limits<T>::max()));
  for (int i = 0; i < 20'000; ++i) {
    const T a = edges[random() % edges.size()];
    const double unit = std::ldexp(static_cast<double>(random() >> 11), -53);
    T b = edges[random() % edges.size()];
    if (i % 4 == 1) b = static_cast<T>((4 * unit - 2) * static_cast<double>(a));
    if (i % 4 == 2) b = static_cast<T>(static_cast<int>(random() % 41) - 20);
    if (i % 4 == 3) {
      const double edge = overflow / std::log(std::fabs(static_cast<double>(a)));
      b = static_cast<T>(edge * (1 - 1e-3 * unit) * (random() % 2 == 0 ? 1 : -1.02));
    }
    x.push_back(a);
    y.push_back(b);
  }
}

enum class Kind { kScalar, kVectors, kOpenCl };

double bound(const Bound& row, Kind kind, bool wide) {
  switch (kind) {
    case Kind::kScalar: return wide ? row.f64 : row.f32;
    case Kind::kVectors: return row.vectors;
    case Kind::kOpenCl: break;
  }
  return row.opencl;
}

using Function1 = Quad (*)(Quad);
using Function2 = Quad (*)(Quad, Quad);
struct Unary {
  std::string_view name;
  Function1 exact;
};
struct Binary {
  std::string_view name;
  Function2 exact;
};
constexpr Unary kUnary[] = {
#define X(name) {#name, &name##f128},
    DHPVM_ONE_NUMBER(X)
#undef X
};
constexpr Binary kBinary[] = {
#define X(name) {#name, &name##f128},
    DHPVM_TWO_NUMBERS(X)
#undef X
};

// For each type, all functions of one number, and all of two, in a serial loop and in a parallel one.
std::string program() {
  std::string text = "import math;\n";
  for (const std::string type : {"f64", "f32"}) {
    for (const std::string loop : {"for", "parallel for"}) {
      const std::string suffix = type + (loop == "for" ? "" : "_parallel");
      text += fmt::format("fn one_{}(x: [{}], out: [{}, 2]) {{\n  {} i in 0..x.len {{\n    let v = x[i];\n",
                          suffix, type, type, loop);
      for (std::size_t k = 0; k < std::size(kUnary); ++k)
        text += fmt::format("    out[i, {}] = math.{}(v);\n", k, kUnary[k].name);
      text += fmt::format("  }}\n}}\nfn two_{}(x: [{}], y: [{}], out: [{}, 2]) {{\n  {} i in 0..x.len {{\n",
                          suffix, type, type, type, loop);
      for (std::size_t k = 0; k < std::size(kBinary); ++k)
        text += fmt::format("    out[i, {}] = math.{}(x[i], y[i]);\n", k, kBinary[k].name);
      text += "  }\n}\n";
    }
  }
  return text;
}

template <typename T>
Object array_of(Isolate& isolate, const std::vector<T>& values) {
  Object array = need(isolate.make_array<T>({static_cast<std::int64_t>(values.size())}));
  std::ranges::copy(values, need(array.elements<T>()).begin());
  return array;
}

// The worst of a function's results, and where it was.
template <typename T>
struct Worst {
  double error = 0;
  std::string place;
  void take(double e, T got, Quad exact, T x, std::optional<T> y) {
    if (!(e > error)) return;
    error = e;
    char text[160];
    std::snprintf(text, sizeof text, "at %a%s is %a and should be %a", static_cast<double>(x),
                  y ? (", " + std::to_string(*y)).c_str() : "", static_cast<double>(got),
                  static_cast<double>(exact));
    place = text;
  }
};

class MathAccuracy : public ::testing::Test {
 protected:
  MathAccuracy()
      : engine_({.threads = 2, .code_cache_directory = ::testing::TempDir() + "dhpvm-math-test"}),
        module_(need(Module::compile(engine_, program()))) {}

  template <typename T>
  void check(const IsolateOptions& options, Kind kind, std::string_view loop) {
    Isolate isolate = need(Isolate::create(module_, options));
    const bool wide = sizeof(T) == 8;
    const std::string suffix = (wide ? "f64" : "f32") + std::string(loop);
    const auto expect = [&](std::string_view name, const Worst<T>& worst) {
      EXPECT_LE(worst.error, bound(bound_of(name), kind, wide))
          << name << " in " << suffix << " " << worst.place;
    };
    const auto columns = [&](std::size_t n) { return static_cast<std::int64_t>(n); };

    const std::vector<T> edges = Places<T>::edges();
    const Object x = array_of(isolate, edges);
    const Object one = need(isolate.make_array<T>({columns(edges.size()), columns(std::size(kUnary))}));
    const Status ran_one = need(isolate.function<void(Object, Object)>("one_" + suffix))(x, one);
    ASSERT_TRUE(ran_one.ok()) << ran_one.error().to_string();
    const auto ones = need(one.elements<const T>());
    for (std::size_t k = 0; k < std::size(kUnary); ++k) {
      Worst<T> worst;
      for (std::size_t i = 0; i < edges.size(); ++i) {
        const T got = ones[i * std::size(kUnary) + k];
        const Quad exact = kUnary[k].exact(static_cast<Quad>(edges[i]));
        worst.take(ulps(got, exact), got, exact, edges[i], {});
      }
      expect(kUnary[k].name, worst);
    }

    std::vector<T> a, b;
    add_pairs(edges, a, b);
    const Object two = need(isolate.make_array<T>({columns(a.size()), columns(std::size(kBinary))}));
    const Status ran_two = need(isolate.function<void(Object, Object, Object)>("two_" + suffix))(
        array_of(isolate, a), array_of(isolate, b), two);
    ASSERT_TRUE(ran_two.ok()) << ran_two.error().to_string();
    const auto twos = need(two.elements<const T>());
    for (std::size_t k = 0; k < std::size(kBinary); ++k) {
      Worst<T> worst;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const T got = twos[i * std::size(kBinary) + k];
        const Quad exact = kBinary[k].exact(static_cast<Quad>(a[i]), static_cast<Quad>(b[i]));
        worst.take(ulps(got, exact), got, exact, a[i], b[i]);
      }
      expect(kBinary[k].name, worst);
    }
    if (kind == Kind::kOpenCl) {
      EXPECT_EQ(isolate.statistics().device_loops, 2u) << isolate.explain_loops();
    }
  }
  void check(const IsolateOptions& options, Kind kind, std::string_view loop = "") {
    check<double>(options, kind, loop);
    check<float>(options, kind, loop);
  }

  Engine engine_;
  Module module_;
};

TEST_F(MathAccuracy, OfTheInterpreter) { check({.jit = Jit::kOff}, Kind::kScalar); }

TEST_F(MathAccuracy, OfCompiledFunctions) { check({.jit = Jit::kEager, .jit_wait = true}, Kind::kScalar); }

TEST_F(MathAccuracy, OfCompiledParallelLoops) {
  check({.jit = Jit::kEager, .jit_wait = true, .device = "host"}, Kind::kVectors, "_parallel");
}

TEST_F(MathAccuracy, OfOpenClDevices) {
  const std::vector<DeviceEntry> devices = engine_.devices();
  const auto found = std::ranges::find_if(devices, [](const DeviceEntry& device) {
    return device.name.starts_with("opencl") && device.problem.empty();
  });
  if (found == devices.end()) GTEST_SKIP() << "no OpenCL device here";
  check({.jit_wait = true, .device = found->name}, Kind::kOpenCl, "_parallel");
}

// The measure itself.
TEST(Ulps, Counts) {
  EXPECT_EQ(ulps(1.0, Quad{1}), 0);
  EXPECT_EQ(ulps(std::nextafter(1.5, 2.0), Quad{1.5}), 1);
  EXPECT_EQ(ulps(1.0f, Quad{1 + 0x1p-24}), 0.5);
  EXPECT_EQ(ulps(std::numeric_limits<double>::infinity(), scalbnf128(1, 1200)), 0);
  EXPECT_EQ(ulps(-std::numeric_limits<double>::infinity(), scalbnf128(1, 1200)), kWrong);
  EXPECT_GT(ulps(std::numeric_limits<double>::infinity(), Quad{1}), 1e300);
  EXPECT_EQ(
      ulps(std::numeric_limits<double>::infinity(), static_cast<Quad>(std::numeric_limits<double>::max())),
      1);
  EXPECT_EQ(ulps(std::numeric_limits<double>::denorm_min(), Quad{0}), 1);
  EXPECT_EQ(ulps(std::nan(""), Quad{0}), kWrong);
}

}  // namespace
}  // namespace dhpvm

#endif
