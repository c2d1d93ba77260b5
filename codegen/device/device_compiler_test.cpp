// SPDX-License-Identifier: Apache-2.0
// Tests the texts of kernels for devices. The tests of devices check their results; tests/kernels has whole texts.
#include "codegen/device/device_compiler.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "bytecode/assembler.h"
#include "bytecode/verifier.h"
#include "codegen/group_work.h"

namespace dhpvm::codegen {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kHead[] = R"(module 1.0
string "main"
string "body"
type string str
type resource resource
type array [f32]: f32 rank 1
type array [f64]: f64 rank 1
type array [i64]: i64 rank 1
type array [f32, 2]: f32 rank 2
type array [i64, 2]: i64 rank 2
)";

// A module with one kernel, whose function has this signature and code.
bytecode::Module module_of(const std::string& signature, const std::string& code,
                           const std::string& hints = "", unsigned dimensions = 1) {
  const std::string text = fmt::format("{}\nfunction \"body\"{}\n{}\nend\nkernel \"body\" dims {} {}\n",
                                       kHead, signature, code, dimensions, hints);
  Result<bytecode::Module> module = bytecode::assemble(text);
  EXPECT_TRUE(module.ok()) << module.error().message();
  const Status status = bytecode::verify(*module);
  EXPECT_TRUE(status.ok()) << status.error().message();
  return std::move(module).value();
}

bytecode::Module gather() {
  return module_of("(i64, [f32], [f32], [i64]) registers 3 3",
                   "load.i64 p2, r2, p0\nload.f32 p1, r1, p2\nstore.f32 r0, p0, p1\nreturn");
}
bytecode::Module multiply_add(const std::string& hints = "") {
  return module_of(
      "(i64, f32, [f32]) registers 4 1",
      "load.f32 p2, r0, p0\nmul.f32 p3, p2, p1\nadd.f32 p2, p2, p3\nstore.f32 r0, p0, p2\nreturn", hints);
}
bytecode::Module sum() {
  return module_of("(i64, f64, [f64]) -> f64 registers 3 1",
                   "load.f64 p2, r0, p0\nadd.f64 p1, p1, p2\nreturn.p p1", "reduce add:f64");
}
bytecode::Module sine() {
  return module_of("(i64, [f64]) registers 3 1",
                   "load.f64 p1, r0, p0\nsin.f64 p1, p1\nstore.f64 r0, p0, p1\nreturn");
}
bytecode::Module add_atomically(const std::string& hints = "") {
  return module_of("(i64, f32, [f32]) registers 3 1", "atomic.add.f32 p2, r0, p0, p1\nreturn", hints);
}

DeviceTarget opencl() {
  DeviceTarget target;
  target.language = "opencl";
  return target;
}
DeviceTarget ptx(const std::string& processor = "sm_80") {
  DeviceTarget target;
  target.language = "ptx";
  target.processor = processor;
  return target;
}

Result<DeviceCode> compile(const bytecode::Module& module, const DeviceTarget& target) {
  DeviceCompiler compiler(nullptr, nullptr, 0);
  return compiler.compile({.module = &module, .kernel = 0, .proven = {}}, target);
}

std::string refusal(const Result<DeviceCode>& code) {
  if (code.ok()) return "not refused";
  EXPECT_EQ(code.error().code(), ErrorCode::kUnsupported);
  return std::string(code.error().message());
}

std::vector<ParameterKind> kinds(const DeviceCode& code) {
  std::vector<ParameterKind> kinds;
  for (const KernelParameter& parameter : code.parameters) kinds.push_back(parameter.kind);
  return kinds;
}

// Sets or unsets an environment variable during its lifetime.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~Environment() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(DeviceCode, TakesOnlyTheParametersThatItUses) {
  using enum ParameterKind;
  const bytecode::Module module = gather();
  const DeviceCode with_buffers = compile(module, opencl()).value();
  EXPECT_THAT(kinds(with_buffers),
              ElementsAre(kLow, kHigh, kData, kDataOffset, kWritable, kData, kDataOffset, kReadable, kData,
                          kDataOffset, kReadable, kReport, kReportOffset));
  EXPECT_EQ(with_buffers.parameters[5].index, 1U);
  EXPECT_EQ(with_buffers.sites.size(), 3U);
  EXPECT_EQ(with_buffers.group, 0U);
  EXPECT_EQ(with_buffers.dealing, Dealing::kStrides);
  const DeviceCode with_addresses = compile(module, ptx()).value();
  EXPECT_THAT(kinds(with_addresses),
              ElementsAre(kLow, kHigh, kData, kWritable, kData, kReadable, kData, kReadable, kReport));
}

// The number of sites in `code` that can trap, besides the access at its end.
std::size_t sites_besides_store(const std::string& code) {
  const bytecode::Module module =
      module_of("(i64, i64, [i64]) registers 5 1", code + "\nstore.i64 r0, p0, p2\nreturn");
  return compile(module, opencl()).value().sites.size() - 1;
}

TEST(DeviceCode, ChecksNoDivisorThatIsStated) {
  EXPECT_EQ(sites_besides_store("imm p3, 16\nrem.i64 p2, p0, p3"), 0U);
  EXPECT_EQ(sites_besides_store("imm p3, 16\nmove.p p4, p3\ndiv.u64 p2, p0, p4"), 0U);
  // The result replaces the divisor in its register.
  EXPECT_EQ(sites_besides_store("imm p3, 16\nrem.i64 p3, p0, p3\ndiv.i64 p2, p0, p3"), 1U);
  // A constant from another block, the only one ever assigned.
  EXPECT_EQ(sites_besides_store("imm p3, 16\nimm p2, 0\njump.eq.i64 p0, p1, over\ndiv.i64 p2, p0, p3\nover:"),
            0U);
  EXPECT_EQ(sites_besides_store("imm p3, 0\nrem.i64 p2, p0, p3"), 1U);
  EXPECT_EQ(sites_besides_store("imm p3, -1\ndiv.i64 p2, p0, p3"), 1U);
  EXPECT_EQ(sites_besides_store("imm p3, -1\ndiv.u64 p2, p0, p3"), 0U);
  EXPECT_EQ(sites_besides_store("rem.i64 p2, p0, p1"), 1U);
}

TEST(DeviceCode, LeavesOutWhatIsProven) {
  using enum ParameterKind;
  const bytecode::Module module = gather();
  DeviceCompiler compiler(nullptr, nullptr, 0);
  const KernelRequest request = {.module = &module, .kernel = 0, .proven = {{{0, 0}}, {{0, 1}}, {{0, 2}}}};
  const DeviceCode code = compiler.compile(request, ptx()).value();
  EXPECT_THAT(kinds(code), ElementsAre(kLow, kHigh, kData, kData, kData));
  EXPECT_THAT(code.sites, IsEmpty());
  EXPECT_THAT(code.text, Not(HasSubstr("report_trap")));
}

DeviceCode with_small_indices(const bytecode::Module& module, const DeviceTarget& target) {
  DeviceCompiler compiler(nullptr, nullptr, 0);
  const KernelRequest request = {.module = &module, .kernel = 0, .proven = {}, .has_small_indices = true};
  return compiler.compile(request, target).value();
}

// An index from its loop to its address: only the address itself has 64 bits.
TEST(DeviceCode, ComputesSmallIndicesIn32Bits) {
  const bytecode::Module module =
      module_of("(i64, i64, [f32]) registers 6 1",
                "imm p2, 3\nmul.i64 p3, p0, p2\nsub.i64 p3, p3, p1\nload.f32 p4, r0, p3\n"
                "add.imm.i64 p3, p3, 5\nstore.f32 r0, p3, p4\nreturn");
  const std::string wide = compile(module, ptx()).value().text;
  EXPECT_THAT(wide, HasSubstr("setp.ge.u64"));
  const std::string small = with_small_indices(module, ptx()).text;
  EXPECT_THAT(small, HasSubstr("mul.wide.s32"));
  EXPECT_THAT(small, Not(HasSubstr("mul.lo.s64")));
  EXPECT_THAT(with_small_indices(module, opencl()).text, HasSubstr("long"));
}

TEST(DeviceCode, DividesByParametersWithoutDividing) {
  using enum ParameterKind;
  const auto body = [](const std::string& division) {
    return module_of("(i64, i64, [i64]) registers 4 1", division + "\nstore.i64 r0, p0, p2\nreturn");
  };
  for (const char* const division : {"div.i64 p2, p0, p1", "rem.i64 p2, p0, p1"}) {
    for (const DeviceCode& code :
         {compile(body(division), ptx()).value(), with_small_indices(body(division), ptx())}) {
      EXPECT_THAT(code.text, Not(HasSubstr("div."))) << division;
      EXPECT_THAT(code.text, Not(HasSubstr("rem."))) << division;
      const KernelParameter multiplier = {kScalar, 0, 0, ParameterForm::kMultiplier};
      const KernelParameter small = {kScalar, 0, 0, ParameterForm::kSmallMultiplier};
      EXPECT_EQ(std::ranges::count(code.parameters, multiplier) + std::ranges::count(code.parameters, small),
                1);
    }
    EXPECT_THAT(with_small_indices(body(division), ptx()).text, HasSubstr("mul.hi.u32"));
    EXPECT_THAT(compile(body(division), ptx()).value().text, HasSubstr("mul.hi.u64"));
  }
  // Unsigned indices from captured numbers may have any size, and loaded ones are unknown.
  EXPECT_THAT(compile(body("div.u64 p2, p0, p1"), ptx()).value().text, HasSubstr("div.u64"));
  EXPECT_THAT(compile(body("load.i64 p3, r0, p0\nrem.i64 p2, p1, p3"), ptx()).value().text,
              HasSubstr("rem."));
}

// Fields of a struct are adjacent, and aligned for a vector access.
TEST(DeviceCode, LoadsFieldsTogether) {
  const bytecode::Module module = module_of(
      "(i64, [f32]) registers 8 1",
      "imm p1, 4\nmul.i64 p2, p0, p1\nload.f32 p3, r0, p2\nadd.imm.i64 p4, p2, 1\nload.f32 p5, r0, p4\n"
      "add.f32 p3, p3, p5\nadd.imm.i64 p4, p2, 2\nload.f32 p5, r0, p4\nadd.f32 p3, p3, p5\n"
      "add.imm.i64 p4, p2, 3\nload.f32 p5, r0, p4\nadd.f32 p3, p3, p5\nstore.f32 r0, p2, p3\nreturn");
  DeviceCompiler compiler(nullptr, nullptr, 0);
  KernelRequest request = {.module = &module, .kernel = 0, .proven = {}};
  for (std::uint32_t pc = 0; pc < module.functions[0].code_size; ++pc) request.proven.insert({{0, pc}});
  for (const bool is_small : {false, true}) {
    request.has_small_indices = is_small;
    EXPECT_THAT(compiler.compile(request, ptx()).value().text, HasSubstr("ld.global.v4.f32")) << is_small;
  }
}

// A loop that sums rows, with as many elements as `turns` puts into p7.
DeviceCode sum_rows(const std::string& turns, const DeviceTarget& target, bool can_trap = false) {
  const bytecode::Module module = module_of("(i64, i64, [f32], [f32]) registers 8 2", fmt::format(R"(
    {}
    mul.i64 p3, p0, p7
    imm p2, 0
    imm p4, 0
  next:
    add.i64 p5, p3, p2
    load.f32 p6, r0, p5
    add.f32 p4, p4, p6
    for.i64 p2, p7, next
    store.f32 r1, p0, p4
    return)",
                                                                                                  turns));
  std::set<CallPath> proven;
  for (std::uint32_t at = 0; at < 20 && !can_trap; ++at) proven.insert({{0, at}});
  DeviceCompiler compiler(nullptr, nullptr, 0);
  return compiler.compile({.module = &module, .kernel = 0, .proven = proven}, target).value();
}

TEST(DeviceCode, MovesRowsByTiles) {
  const DeviceCode code = sum_rows("move.p p7, p1", ptx());
  EXPECT_EQ(code.group, 256U);
  EXPECT_EQ(code.items, kItemsForRow);
  EXPECT_EQ(code.run, 1U);
  EXPECT_THAT(code.text, HasSubstr("bar.sync"));
  EXPECT_THAT(code.text, HasSubstr("ld.shared"));
  EXPECT_THAT(code.text, HasSubstr("ld.global.nc"));
  for (const DeviceCode& other :
       {sum_rows("move.p p7, p1", ptx(), /*can_trap=*/true), sum_rows("imm p7, 5", ptx()),
        sum_rows("imm p7, 1", ptx()), sum_rows("move.p p7, p1", opencl())}) {
    EXPECT_EQ(other.group, 0U);
    EXPECT_THAT(other.text, Not(HasSubstr("bar.sync")));
  }
}

// Sums rows of four arrays of f64, and then of four of f32.
TEST(DeviceCode, TakesNoMoreMemoryForTilesThanGroupsHave) {
  std::string code = "mul.i64 p3, p0, p1\n";
  for (const auto& [type, first] : {std::pair("f64", 0), std::pair("f32", 4)}) {
    code += "imm p2, 0\nimm p4, 0\nnext_" + std::string(type) + ":\nadd.i64 p5, p3, p2\n";
    for (int n = first; n < first + 4; ++n)
      code += fmt::format("load.{0} p6, r{1}, p5\nadd.{0} p4, p4, p6\n", type, n);
    code += fmt::format("for.i64 p2, p1, next_{0}\nstore.{0} r{1}, p0, p4\n", type, 8 + first / 4);
  }
  const bytecode::Module module = module_of(
      "(i64, i64, [f64], [f64], [f64], [f64], [f32], [f32], [f32], [f32], [f64], [f32]) registers 7 10",
      code + "return");
  std::set<CallPath> proven;
  for (std::uint32_t at = 0; at < 100; ++at) proven.insert({{0, at}});
  DeviceCompiler compiler(nullptr, nullptr, 0);
  const std::string text =
      compiler.compile({.module = &module, .kernel = 0, .proven = proven}, ptx()).value().text;
  const std::regex tile(R"(\.shared [^\n]*\[(\d+)\];)");
  std::uint64_t bytes = 0;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), tile); it != std::sregex_iterator(); ++it)
    bytes += std::stoull((*it)[1]);
  EXPECT_LE(bytes, 48U << 10);
}

// c[i, j] is the sum of a[LEFT] * b[RIGHT] over k, which is p3. `more` follows the products.
DeviceCode product(const std::string& left, const std::string& right, const DeviceTarget& target,
                   const std::string& more = "") {
  const bytecode::Module module = module_of("(i64, i64, [f32, 2], [f32, 2], [f32, 2]) registers 8 3",
                                            fmt::format(R"(
    array.dim p2, r0, 1
    imm p3, 0
    imm p4, 0
    jump.le.i64 p2, p3, done
  next:
    index2 p5, r0, {}
    load.f32 p6, r0, p5
    index2 p5, r1, {}
    load.f32 p7, r1, p5
    mul.f32 p6, p6, p7
    {}
    add.f32 p4, p4, p6
    for.i64 p3, p2, next
  done:
    index2 p5, r2, p0, p1
    store.f32 r2, p5, p4
    return)",
                                                        left, right, more),
                                            "", 2);
  std::set<CallPath> proven;
  for (std::uint32_t at = 0; at < 30; ++at) proven.insert({{0, at}});
  DeviceCompiler compiler(nullptr, nullptr, 0);
  return compiler.compile({.module = &module, .kernel = 0, .proven = proven}, target).value();
}

TEST(DeviceCode, DoesSquaresOfIterationsThatShareOperands) {
  const DeviceCode code = product("p0, p3", "p3, p1", ptx());
  EXPECT_TRUE(code.has_squares);
  EXPECT_THAT(code.text, HasSubstr(".maxntid 256, 1, 1"));
  EXPECT_THAT(code.text, HasSubstr(".minnctapersm 3"));
  EXPECT_THAT(code.text, HasSubstr("ld.shared.v4.")) << "the operands of four rows at once";
  const DeviceCode of_rows = product("p0, p3", "p1, p3", ptx());
  EXPECT_TRUE(of_rows.has_squares);
  EXPECT_EQ(of_rows.group, 128U) << "and tiles of rows for spaces that are too small";
  EXPECT_TRUE(product("p3, p0", "p3, p1", ptx()).has_squares);
  EXPECT_FALSE(product("p0, p3", "p3, p1", opencl()).has_squares);
  EXPECT_FALSE(product("p0, p3", "p0, p3", ptx()).has_squares) << "nothing is the same for all of a column";
  EXPECT_FALSE(product("p0, p1", "p3, p1", ptx()).has_squares) << "nothing is the same for all of a row";
  const std::string stores = "index2 p5, r0, p0, p3\nstore.f32 r0, p5, p6\n";
  EXPECT_FALSE(product("p0, p3", "p3, p1", ptx(), stores).has_squares) << "what is shared must not change";
  EXPECT_FALSE(product("p0, p3", "p3, p1", ptx(), "jump.eq.imm.i64 p1, 7, done").has_squares)
      << "iterations take different ways";
}

// A loop over blocks of p1 iterations from p2 up to p3. In an iteration, `update` combines p10, an element of the
// block's part of r1, with the key p8, and `more` follows.
DeviceCode blocks(const std::string& update, const DeviceTarget& target, const std::string& more = "",
                  const std::string& hints = "counter 7 rows 1") {
  const bytecode::Module module = module_of("(i64, i64, i64, i64, [i64], [i64, 2]) registers 12 2",
                                            fmt::format(R"(
    mul.i64 p4, p0, p1
    add.i64 p4, p4, p2
    sub.i64 p5, p3, p4
    min.i64 p5, p5, p1
    imm p6, 0
    imm p11, 0
    jump.le.i64 p5, p6, done
  next:
    add.i64 p7, p4, p6
    load.i64 p8, r0, p7
    index2 p9, r1, p0, p8
    load.i64 p10, r1, p9
    {}
    store.i64 r1, p9, p10
    {}
    for.i64 p6, p5, next
  done:
    return)",
                                                        update, more),
                                            hints);
  return compile(module, target).value();
}

TEST(DeviceCode, SharesBlocksWhoseUpdatesMayComeInAnyOrder) {
  const DeviceCode code = blocks("add.i64 p10, p10, p8", ptx());
  EXPECT_EQ(code.dealing, Dealing::kShared);
  EXPECT_EQ(code.group, kReductionGroup);
  EXPECT_EQ(code.sites.size(), 5U);
  EXPECT_THAT(code.text, HasSubstr("atom.global.add.u64"));
  EXPECT_THAT(code.text, HasSubstr("atom.shared.add.u32")) << "sums of 64 bits in two halves";
  EXPECT_THAT(code.text, HasSubstr("bar.sync"));
  EXPECT_THAT(code.text, Not(HasSubstr("[param4+0], 0;"))) << "traps tell the turn, behind the block";
  EXPECT_THAT(blocks("max.i64 p10, p8, p10", ptx()).text, HasSubstr("atom.shared.max.s64"));
  EXPECT_THAT(blocks("xor.i64 p10, p8, p10", ptx()).text, HasSubstr("atom.global.xor.b64"));
}

TEST(DeviceCode, SharesNoBlocksWhoseUpdatesHaveAnOrder) {
  const std::string add = "add.i64 p10, p10, p8";
  const auto shares = [](const DeviceCode& code) { return code.dealing == Dealing::kShared; };
  EXPECT_TRUE(shares(blocks(add, ptx())));
  EXPECT_FALSE(shares(blocks(add, opencl())));
  EXPECT_FALSE(shares(blocks(add, ptx(), "", ""))) << "iterations may be many and short";
  EXPECT_FALSE(shares(blocks("mul.i64 p10, p10, p8", ptx()))) << "there is no such atomic update";
  EXPECT_FALSE(shares(blocks("sub.i64 p10, p8, p10", ptx()))) << "another order gives another number";
  EXPECT_FALSE(shares(blocks("add.f64 p10, p10, p8", ptx())));
  EXPECT_FALSE(shares(blocks("add.i64 p10, p10, p10", ptx())));
  EXPECT_FALSE(shares(blocks(add, ptx(), "store.i64 r0, p7, p8"))) << "it writes another array";
  EXPECT_FALSE(shares(blocks("imm p10, 1", ptx()))) << "it overwrites what there was";
  const std::string looks =
      "load.i64 p8, r1, p9\nindex2 p9, r1, p0, p8\nload.i64 p10, r1, p9\nadd.i64 p10, p10, p7\nstore.i64 r1, "
      "p9, p10";
  EXPECT_FALSE(shares(blocks(add, ptx(), looks))) << "it looks at a sum";
  EXPECT_FALSE(
      shares(blocks(add, ptx(), "load.i64 p10, r1, p9\nmax.i64 p10, p10, p8\nstore.i64 r1, p9, p10")))
      << "sums and maxima of the same elements";
  EXPECT_FALSE(shares(blocks("add.i64 p10, p10, p11\nadd.i64 p11, p11, p8", ptx())))
      << "a number goes from turn to turn";
  EXPECT_FALSE(shares(blocks(add, ptx(), "jump.eq.imm.i64 p8, 7, done"))) << "a turn is the last one";
}

TEST(DeviceCode, CombinesReductionsInGroupsOrInRuns) {
  const bytecode::Module module = sum();
  const DeviceCode groups = compile(module, opencl()).value();
  EXPECT_EQ(groups.group, kReductionGroup);
  EXPECT_EQ(groups.dealing, Dealing::kStrides);
  EXPECT_THAT(groups.text, HasSubstr("barrier("));
  EXPECT_THAT(groups.text, HasSubstr("get_local_size(0u)"));
  DeviceTarget processor = opencl();
  processor.is_processor = true;
  const DeviceCode runs = compile(module, processor).value();
  EXPECT_EQ(runs.group, 0U);
  EXPECT_EQ(runs.dealing, Dealing::kRuns);
  EXPECT_THAT(runs.text, Not(HasSubstr("barrier(")));
  EXPECT_THAT(compile(module, ptx()).value().text, HasSubstr(".maxntid 256, 1, 1"));
  EXPECT_EQ(compile(module, ptx()).value().run, 1U) << "iterations that can trap come one after the other";
  DeviceCompiler compiler(nullptr, nullptr, 0);
  const KernelRequest request = {.module = &module, .kernel = 0, .proven = {{{0, 0}}}};
  EXPECT_EQ(compiler.compile(request, ptx()).value().run, 8U);
}

TEST(DeviceCode, GivesEachWorkItemOfAProcessorOneIteration) {
  using enum ParameterKind;
  DeviceTarget processor = opencl();
  processor.is_processor = true;
  const DeviceCode code = compile(gather(), processor).value();
  EXPECT_EQ(code.dealing, Dealing::kSingly);
  EXPECT_THAT(code.text, Not(HasSubstr("while (v")));
  EXPECT_THAT(kinds(code), Not(Contains(kHigh))) << "there are no work-items behind the end";
}

TEST(DeviceCode, RefusesWhatTheDeviceDoesNotHave) {
  DeviceTarget target = opencl();
  target.has_f64 = false;
  EXPECT_THAT(refusal(compile(sum(), target)), HasSubstr("f64"));
  EXPECT_TRUE(compile(multiply_add(), target).ok());

  target = opencl();
  target.has_atomics_64 = false;
  const bytecode::Module wide =
      module_of("(i64, i64, [i64]) registers 3 1", "atomic.add.i64 p2, r0, p0, p1\nreturn");
  EXPECT_THAT(refusal(compile(wide, target)), HasSubstr("64 bits atomically"));
  EXPECT_TRUE(compile(add_atomically(), target).ok());

  target = opencl();
  target.has_exact_f32 = false;
  EXPECT_THAT(refusal(compile(multiply_add(), target)), HasSubstr("@fastmath"));
  EXPECT_TRUE(compile(multiply_add("fastmath"), target).ok());
  EXPECT_TRUE(compile(gather(), target).ok()) << "moves are exact";
}

TEST(DeviceCode, FusesNothingUnlessItMay) {
  EXPECT_THAT(compile(multiply_add(), opencl()).value().text, HasSubstr("FP_CONTRACT OFF"));
  EXPECT_THAT(compile(multiply_add("fastmath"), opencl()).value().text, HasSubstr("FP_CONTRACT ON"));
  const std::string strict = compile(multiply_add(), ptx()).value().text;
  EXPECT_THAT(strict, HasSubstr("mul.rn.f32"));
  EXPECT_THAT(strict, HasSubstr("add.rn.f32"));
  EXPECT_THAT(strict, Not(HasSubstr("fma")));
  EXPECT_THAT(compile(multiply_add("fastmath"), ptx()).value().text, HasSubstr("fma.rn.f32"));
}

TEST(DeviceCode, ApproximatesQuotientsIfItMay) {
  const auto text_of = [](const std::string& hints) {
    const bytecode::Module module =
        module_of("(i64, f32, [f32]) registers 4 1",
                  "load.f32 p2, r0, p0\ndiv.f32 p3, p2, p1\nstore.f32 r0, p0, p3\nreturn", hints);
    return compile(module, ptx()).value().text;
  };
  EXPECT_THAT(text_of(""), HasSubstr("div.rn.f32"));
  EXPECT_THAT(text_of("fastmath"), HasSubstr("div.approx.f32"));
}

TEST(DeviceCode, AddsDenormalsAtomically) {
  const std::string strict = compile(add_atomically(), ptx()).value().text;
  EXPECT_THAT(strict, HasSubstr("atom.global.cas.b32"));
  EXPECT_THAT(strict, Not(HasSubstr("atom.global.add.f32")));
  EXPECT_THAT(compile(add_atomically("fastmath"), ptx()).value().text, HasSubstr("atom.global.add.f32"));
}

TEST(DeviceCode, OrdersUpdatesOnlyWhereThatShows) {
  const auto kernel_of = [](const bytecode::Module& module) {
    const std::string text = compile(module, opencl()).value().text;
    return text.substr(text.find("kernel void"));
  };
  EXPECT_THAT(kernel_of(add_atomically()), Not(HasSubstr("mem_fence")));
  const bytecode::Module observed =
      module_of("(i64, i64, [i64], [i64]) registers 4 2",
                "atomic.add.i64 p2, r0, p0, p1\natomic.add.i64 p3, r1, p0, p2\nreturn");
  EXPECT_THAT(kernel_of(observed), HasSubstr("mem_fence"));
}

// The optimiser reads the old value once, where the paths of the first exchange and of those in the loop join.
TEST(DeviceCode, ExchangesInLoops) {
  const bytecode::Module minimum = module_of("(i64, f32, [f32]) registers 7 1", R"(
      imm p4, 0
      imm p5, 0
      atomic.cas.i32 p3, r0, p0, p4, p5
    again:
      jump.nlt.f32 p1, p3, done
      u32.to.u64 p5, p3
      u32.to.u64 p6, p1
      atomic.cas.i32 p4, r0, p0, p5, p6
      u32.to.u64 p5, p3
      jump.eq.i32 p4, p5, done
      move.p p3, p4
      loop again
    done:
      return)");
  const Result<DeviceCode> code = compile(minimum, opencl());
  ASSERT_TRUE(code.ok()) << code.error().message();
  EXPECT_THAT(code->text, HasSubstr("atomic_cmpxchg"));
}

TEST(DeviceCode, KnowsTheProcessorsOfItsLanguage) {
  for (const char* const processor : {"sm_75", "sm_80", "sm_89", "sm_90"}) {
    const Result<DeviceCode> code = compile(gather(), ptx(processor));
    ASSERT_TRUE(code.ok()) << processor;
    EXPECT_THAT(code->text, HasSubstr(fmt::format(".target {}\n", processor)));
  }
  for (const char* const processor : {"sm_70", "sm_999", "gfx90a", ""}) {
    EXPECT_THAT(refusal(compile(gather(), ptx(processor))), HasSubstr("sm_75 to sm_90")) << processor;
  }
}

TEST(DeviceCode, SaysWhereItLookedForTheLibraryOfFunctions) {
  const Environment nowhere("DHPVM_LIBDEVICE", "/nowhere/libdevice.10.bc");
  EXPECT_THAT(refusal(compile(sine(), ptx())), HasSubstr("/nowhere/libdevice.10.bc"));
  EXPECT_TRUE(compile(gather(), ptx()).ok()) << "needs none";
  EXPECT_THAT(compile(sine(), opencl()).value().text, HasSubstr("sin("));
}

TEST(DeviceCode, ComputesSineAndCosineTogether) {
  const auto text_of = [](const char* functions) {
    const bytecode::Module module = module_of(
        "(i64, [f64]) registers 4 1",
        fmt::format("load.f64 p1, r0, p0\n{}\nadd.f64 p2, p2, p3\nstore.f64 r0, p0, p2\nreturn", functions));
    return compile(module, opencl()).value().text;
  };
  for (const char* const both : {"sin.f64 p2, p1\ncos.f64 p3, p1", "cos.f64 p2, p1\nsin.f64 p3, p1"}) {
    const std::string text = text_of(both);
    EXPECT_THAT(text, HasSubstr(" = sincos(")) << both;
    EXPECT_THAT(text, Not(HasSubstr(" sin("))) << both;
    EXPECT_THAT(text, Not(HasSubstr(" cos("))) << both;
  }
  EXPECT_THAT(text_of("sin.f64 p2, p1\nadd.f64 p1, p1, p1\ncos.f64 p3, p1"), Not(HasSubstr("sincos")))
      << "of different numbers";
}

// Whether a loop that searches for the maximum in an array of f32 stores its index in an array of i64 at each new
// maximum, instead of after the loop. `before` and `behind` are instructions of the loop's body.
bool stores_in_loop(const std::string& before, const std::string& behind) {
  const std::string code = fmt::format(R"(
    imm p2, 0
    imm p3, 0
  next:
    load.f32 p4, r0, p2
    {}
    jump.le.f32 p4, p3, over
    move.p p3, p4
    store.i64 r1, p0, p2
  over:
    {}
    for.i64 p2, p1, next
    return)",
                                       before, behind);
  const bytecode::Module module = module_of("(i64, i64, [f32], [i64]) registers 6 2", code);
  std::set<CallPath> proven;
  for (std::uint32_t at = 0; at < 10; ++at) proven.insert({{0, at}});
  DeviceCompiler compiler(nullptr, nullptr, 0);
  const std::string text =
      compiler.compile({.module = &module, .kernel = 0, .proven = proven}, opencl()).value().text;
  const std::size_t end = text.rfind("} while (more);");
  EXPECT_NE(end, std::string::npos) << text;
  const std::size_t store = text.rfind("*(global ulong*)");
  EXPECT_NE(store, std::string::npos) << text;
  return store < end;
}

TEST(DeviceCode, StoresOnceBehindALoop) {
  EXPECT_FALSE(stores_in_loop("", ""));
  EXPECT_TRUE(stores_in_loop("load.i64 p5, r1, p2\nadd.i64 p2, p2, p5", ""))
      << "which reads the place, perhaps";
  EXPECT_TRUE(stores_in_loop("", "atomic.add.f32 p5, r0, p0, p3")) << "others look at it in between, perhaps";
}

// The test for another round becomes dead once there is known to be none.
TEST(DeviceCode, WritesNothingThatIsOfNoUse) {
  const bytecode::Module module = module_of("(i64, [i64], [i64]) registers 5 2", R"(
    imm p1, 0
    imm p4, 3
  next:
    jump.eq.imm.i64 p1, 1, over
    load.i64 p2, r0, p0
    add.imm.i64 p3, p2, 5
    store.i64 r1, p0, p3
    jump.eq.imm.i64 p2, 0, over
    for.i64 p1, p4, next
  over:
    return)");
  EXPECT_THAT(compile(module, opencl()).value().text, Not(HasSubstr(" == 0ul;")));
}

TEST(DeviceCode, TakesArraysThatChangePlaces) {
  // The arrays in the two registers are unknown before the loop runs.
  const bytecode::Module module = module_of("(i64, [i64], [i64]) registers 5 5", R"(
    move.r r2, r0
    move.r r3, r1
    imm p1, 0
    imm p2, 5
  again:
    load.i64 p3, r2, p0
    store.i64 r2, p0, p1
    move.r r4, r2
    move.r r2, r3
    move.r r3, r4
    for.i64 p1, p2, again
    return)");
  EXPECT_TRUE(compile(module, opencl()).ok());
  EXPECT_TRUE(compile(module, ptx()).ok());
}

TEST(DeviceCode, WritesLoopsWithSeveralEntries) {
  const bytecode::Module module = module_of("(i64, [i64]) registers 4 1", R"(
    imm p1, 0
    and.imm.i64 p2, p0, 1
    jump.eq.imm.i64 p2, 1, middle
  top:
    add.imm.i64 p1, p1, 3
  middle:
    add.imm.i64 p1, p1, 5
    and.imm.i64 p2, p1, 7
    jump.eq.imm.i64 p2, 7, done
    jump.eq.imm.i64 p2, 3, again
    loop middle
  again:
    loop top
  done:
    store.i64 r0, p0, p1
    return)");
  EXPECT_TRUE(compile(module, opencl()).ok());
  EXPECT_TRUE(compile(module, ptx()).ok());
}

TEST(DeviceCode, HasTheSizesThatItIsCompiledFor) {
  using enum ParameterKind;
  constexpr KernelParameter kWidth = {kDimension, 1, 1};
  // Adds up the row of the second array.
  const bytecode::Module module = module_of("(i64, [f32], [f32, 2]) registers 6 2", R"(
    imm p1, 0
    array.dim p2, r1, 1
    imm p3, 0
    jump.le.i64 p2, p1, done
  next:
    index2 p4, r1, p0, p1
    load.f32 p5, r1, p4
    add.f32 p3, p3, p5
    add.imm.i64 p1, p1, 1
    jump.le.i64 p2, p1, done
    loop next
  done:
    store.f32 r0, p0, p3
    return)");
  KernelRequest request = {.module = &module, .kernel = 0, .proven = {}};
  DeviceCompiler compiler(nullptr, nullptr, 0);
  const DeviceCode any = compiler.compile(request, opencl()).value();
  EXPECT_THAT(any.parameters, Contains(kWidth));
  request.dimensions = {{.array = 1, .dimension = 1, .value = 4}};
  const DeviceCode narrow = compiler.compile(request, opencl()).value();
  EXPECT_THAT(narrow.parameters, Not(Contains(kWidth)));
  request.dimensions = {{.array = 0, .dimension = 1, .value = 4}};
  EXPECT_EQ(compiler.compile(request, opencl()).value().parameters, any.parameters) << "of another array";
}

TEST(DeviceCompiler, FindsInTheCacheWhatItMadeBefore) {
  const std::string folder = testing::TempDir() + "device_cache";
  std::filesystem::remove_all(folder);
  const bytecode::Module module = gather();
  const KernelRequest request = {.module = &module, .kernel = 0, .proven = {}};
  const auto cache = [&] {
    return std::make_shared<CodeCache>(CodeCacheOptions{.directory = folder, .warn = {}});
  };
  DeviceCompiler first(cache(), nullptr, 0);
  const DeviceCode made = first.compile(request, opencl()).value();
  EXPECT_EQ(first.stats().compiled, 1U);

  DeviceCompiler second(cache(), nullptr, 0);
  const DeviceCode found = second.compile(request, opencl()).value();
  EXPECT_EQ(second.stats().loaded_from_cache, 1U);
  EXPECT_EQ(second.stats().compiled, 0U);
  EXPECT_EQ(found.text, made.text);
  EXPECT_EQ(found.language, made.language);
  EXPECT_EQ(found.entry, made.entry);
  EXPECT_EQ(found.options, made.options);
  EXPECT_EQ(found.parameters, made.parameters);
  ASSERT_EQ(found.sites.size(), made.sites.size());
  EXPECT_EQ(found.sites[1].kind, made.sites[1].kind);
  EXPECT_EQ(found.sites[1].calls, made.sites[1].calls);

  DeviceTarget other = opencl();
  other.is_processor = true;
  EXPECT_EQ(second.compile(request, other).value().dealing, Dealing::kSingly);
  EXPECT_EQ(second.stats().compiled, 1U) << "another device, another text";
  std::filesystem::remove_all(folder);
}

TEST(KernelLanguages, AreNamedAsInListings) {
  const KernelLanguages languages;
  EXPECT_EQ(languages.find("ptx").value()->title(), "PTX");
  EXPECT_EQ(languages.target_of("opencl").value().language, "opencl");
  EXPECT_EQ(languages.target_of("ptx").value().processor, "sm_80");
  EXPECT_EQ(languages.target_of("ptx:sm_90").value().processor, "sm_90");
  EXPECT_THAT(languages.find("metal").error().message(), HasSubstr("there are opencl, ptx"));
  EXPECT_THAT(languages.target_of("opencl:gfx90a").error().message(), HasSubstr("leave out ':gfx90a'"));
}

TEST(DeviceCode, SaysItsLanguageAndRefusesUnknownOnes) {
  EXPECT_EQ(compile(gather(), opencl()).value().language, "opencl");
  DeviceTarget target;
  EXPECT_FALSE(compile(gather(), target).ok());
  target.language = "metal";
  EXPECT_EQ(compile(gather(), target).error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace dhpvm::codegen
