// SPDX-License-Identifier: Apache-2.0
// Reductions by single work-items, each of which processes a run of blocks alone, with all lanes in private memory.
#include "codegen/device/loop_emitter.h"
#include "codegen/lower/reduce.h"

namespace dhpvm::codegen {

using bytecode::kReductionLanes;

std::pair<llvm::Value*, llvm::Value*> LoopEmitter::run_of(Value* extent, Value* id, Value* count) {
  // Rounded up; neither this nor the product exceeds 2^63 by more than `count`.
  Value* const length = b_.CreateUDiv(b_.CreateAdd(extent, b_.CreateSub(count, i64(1))), count);
  Value* const begin = b_.CreateMul(id, length);
  Value* const end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateAdd(begin, length), extent);
  return {begin, end};
}

void LoopEmitter::emit_run_blocks() {
  std::vector<llvm::AllocaInst*> lanes;
  for (llvm::Type* const type : body_.accumulators) {
    lanes.push_back(entry_alloca(llvm::ArrayType::get(type, kReductionLanes), "lanes"));
  }
  Value* const of_row = blocks_of_row();
  const auto [first, end] = run_of(blocks_of_chunk(of_row), linear(Builtin::kGlobalId, Builtin::kGlobalSize),
                                   product(Builtin::kGlobalSize));
  counted(first, end, i64(1), [&](Value* number) { emit_run_block(number, of_row, lanes); });
}

llvm::Value* LoopEmitter::lane_of(llvm::AllocaInst* lanes, Value* lane) {
  return b_.CreateInBoundsGEP(lanes->getAllocatedType()->getArrayElementType(), lanes, lane);
}

void LoopEmitter::emit_run_block(Value* number, Value* blocks_of_row,
                                 const std::vector<llvm::AllocaInst*>& lanes) {
  Value* const lane_count = i64(kReductionLanes);
  counted(i64(0), lane_count, i64(1), [&](Value* lane) {
    for (std::size_t n = 0; n < lanes.size(); ++n) b_.CreateStore(identity(n), lane_of(lanes[n], lane));
  });
  const auto [begin, end] = enter_block(number, blocks_of_row);
  const auto iterations = [&](Value* base, Value* count) {
    counted(i64(0), count, i64(1), [&](Value* lane) {
      index_[inner_] = b_.CreateAdd(low_[inner_], b_.CreateAdd(base, lane), "i");
      Values before;
      for (std::size_t n = 0; n < lanes.size(); ++n) {
        before.push_back(b_.CreateLoad(body_.accumulators[n], lane_of(lanes[n], lane)));
      }
      const Values updated = call_body(before, leaving());
      for (std::size_t n = 0; n < lanes.size(); ++n) b_.CreateStore(updated[n], lane_of(lanes[n], lane));
    });
  };
  // First groups of as many iterations as there are lanes, a constant, so that the driver's compiler can vectorise;
  // then the remainder.
  Value* const left = b_.CreateURem(b_.CreateSub(end, begin), lane_count);
  Value* const whole_end = b_.CreateSub(end, left);
  counted(begin, whole_end, lane_count, [&](Value* base) { iterations(base, lane_count); });
  iterations(whole_end, left);
  const auto combined = [&](std::size_t n, Value* lane, std::uint64_t distance) {
    llvm::Type* const type = body_.accumulators[n];
    Value* const own = b_.CreateLoad(type, lane_of(lanes[n], lane));
    Value* const other = b_.CreateLoad(type, lane_of(lanes[n], b_.CreateAdd(lane, i64(distance))));
    return combine(b_, record_.reductions[n], own, other);
  };
  for (std::uint64_t distance = kReductionLanes / 2; distance > 1; distance /= 2) {
    counted(i64(0), i64(distance), i64(1), [&](Value* lane) {
      for (std::size_t n = 0; n < lanes.size(); ++n) {
        b_.CreateStore(combined(n, lane, distance), lane_of(lanes[n], lane));
      }
    });
  }
  Values values;
  for (std::size_t n = 0; n < lanes.size(); ++n) values.push_back(combined(n, i64(0), 1));
  write_partials(number, values);
}

}  // namespace dhpvm::codegen
