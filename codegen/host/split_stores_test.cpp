// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/split_stores.h"

#include <gtest/gtest.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <vector>

#include "codegen/host/ir_for_tests.h"
#include "codegen/host/optimise.h"

namespace dhpvm::codegen {
namespace {

#if defined(__x86_64__)
constexpr const char* kCpu = "x86-64";  // registers of 16 bytes
#else
constexpr const char* kCpu = "native";
#endif

// Elements of each store of the module's functions, in their order.
std::vector<unsigned> widths_of_stores(const llvm::Module& module) {
  std::vector<unsigned> widths;
  const auto add = [&](const llvm::Value* value) {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    widths.push_back(type == nullptr ? 1 : type->getNumElements());
  };
  for (const llvm::Function& function : module) {
    for (const llvm::BasicBlock& block : function) {
      for (const llvm::Instruction& instruction : block) {
        if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) add(store->getValueOperand());
        const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::masked_store)
          add(call->getArgOperand(0));
      }
    }
  }
  return widths;
}

constexpr const char* kStores = R"(
declare void @llvm.masked.store.v16f64.p0(<16 x double>, ptr, i32, <16 x i1>)
define void @stores(ptr %to, ptr %from, <16 x i1> %mask) {
  %values = load <16 x double>, ptr %from, align 8
  store <16 x double> %values, ptr %to, align 8
  %second = getelementptr double, ptr %to, i64 16
  call void @llvm.masked.store.v16f64.p0(<16 x double> %values, ptr %second, i32 8, <16 x i1> %mask)
  %odd = load <3 x i64>, ptr %from, align 8
  %third = getelementptr double, ptr %to, i64 32
  store <3 x i64> %odd, ptr %third, align 8
  %kept = getelementptr double, ptr %to, i64 40
  store volatile <16 x double> %values, ptr %kept, align 8
  ret void
})";

TEST(SplitStores, OneForEachRegister) {
  const auto compiler = new_compiler(kCpu);
  IrModule ir = parse(*compiler, kStores);
  auto machine = compiler->target().new_machine();
  ASSERT_TRUE(machine.ok());
  compiler->target().constrain(*ir.module, false);
  split_wide_stores(*ir.module, **machine);
  EXPECT_FALSE(llvm::verifyModule(*ir.module, &llvm::errs()));
  const unsigned lanes = compiler->target().vector_bits() / 64;
  std::vector<unsigned> expected(2UL * 16 / lanes, lanes);
  expected.push_back(3);   // not made of whole registers
  expected.push_back(16);  // volatile
  EXPECT_EQ(widths_of_stores(*ir.module), expected);
}

TEST(SplitStores, EveryElementArrives) {
  const auto compiler = new_compiler();
  IrModule ir = parse(*compiler, R"(
declare void @llvm.masked.store.v64i16.p0(<64 x i16>, ptr, i32, <64 x i1>)
define void @stores(ptr %to, ptr %from, i64 %bits) {
  %mask = bitcast i64 %bits to <64 x i1>
  %values = load <64 x i16>, ptr %from, align 2
  store <64 x i16> %values, ptr %to, align 2
  %second = getelementptr i16, ptr %to, i64 64
  call void @llvm.masked.store.v64i16.p0(<64 x i16> %values, ptr %second, i32 2, <64 x i1> %mask)
  ret void
})");
  auto code = compiler->compile(std::move(ir), Pipeline::kKernels);
  ASSERT_TRUE(code.ok()) << code.error().to_string();
  std::vector<std::uint16_t> from(64);
  std::vector<std::uint16_t> to(128, 7);
  for (std::size_t n = 0; n < from.size(); ++n) from[n] = static_cast<std::uint16_t>(1000 + n);
  const std::uint64_t mask = 0x8000'f00f'1234'5671;
  code->function<void(std::uint16_t*, const std::uint16_t*, std::uint64_t)>("stores")(to.data(), from.data(),
                                                                                      mask);
  for (std::size_t n = 0; n < from.size(); ++n) {
    EXPECT_EQ(to[n], from[n]);
    EXPECT_EQ(to[64 + n], (mask >> n & 1) != 0 ? from[n] : 7) << n;
  }
}

}  // namespace
}  // namespace dhpvm::codegen
