// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/loop_entries.h"

#include <map>

namespace dhpvm::codegen {

using bytecode::kNoIndex;
using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr std::uint32_t kArrived = kNoIndex;  // no block has this number

}  // namespace

LoopEntries::LoopEntries(Lowering& lowering, std::uint32_t loop, Value* requested)
    : lowering_(lowering),
      ir_(lowering.emitter()),
      b_(lowering.emitter().builder()),
      loops_(lowering.flow().blocks()),
      loop_(loop),
      requested_(requested),
      wanted_(ir_.entry_alloca(b_.getInt32Ty(), "wanted")) {
  b_.CreateStore(requested, wanted_);
}

std::vector<std::uint32_t> LoopEntries::headers() const {
  std::vector<std::uint32_t> headers = loops_.inside(loop_);
  headers.push_back(loop_);
  return headers;
}

void LoopEntries::enter() {
  BasicBlock* const nowhere = ir_.new_block("nowhere");
  branch(requested_, headers(), kNoIndex, nowhere);
  b_.SetInsertPoint(nowhere);
  b_.CreateUnreachable();
}

void LoopEntries::pass(std::uint32_t block) {
  const std::vector<std::uint32_t> inside = loops_.inside(block);
  if (inside.empty()) return;
  BasicBlock* const here = ir_.new_block("here");
  branch(b_.CreateLoad(b_.getInt32Ty(), wanted_), inside, block, here);
  b_.SetInsertPoint(here);
  b_.CreateStore(b_.getInt32(kArrived), wanted_);
}

// The entry of the loop for continuations in it or in a loop inside.
BasicBlock* LoopEntries::way_into(std::uint32_t header) {
  BasicBlock* const entry = lowering_.entry_from_outside(header);
  if (!loops_.inside(header).empty()) return entry;
  BasicBlock* const way = ir_.new_block("way");
  const llvm::IRBuilderBase::InsertPointGuard restore(b_);
  b_.SetInsertPoint(way);
  b_.CreateStore(b_.getInt32(kArrived), wanted_);
  b_.CreateBr(entry);
  return way;
}

// Branches to the loop inside `outer` that contains the requested one of `headers`, or to `otherwise`.
void LoopEntries::branch(Value* wanted, const std::vector<std::uint32_t>& headers, std::uint32_t outer,
                         BasicBlock* otherwise) {
  llvm::SwitchInst* const made = b_.CreateSwitch(wanted, otherwise, static_cast<unsigned>(headers.size()));
  std::map<std::uint32_t, BasicBlock*> ways;
  std::vector<std::uint32_t> weights = {1 << 20};
  for (const std::uint32_t header : headers) {
    const std::uint32_t next = loops_.step(outer, header);
    const auto [way, is_new] = ways.try_emplace(next);
    if (is_new) way->second = way_into(next);
    made->addCase(b_.getInt32(header), way->second);
    weights.push_back(1);
  }
  if (outer == kNoIndex) return;
  made->setMetadata(llvm::LLVMContext::MD_prof,
                    llvm::MDBuilder(b_.getContext()).createBranchWeights(weights));
}

}  // namespace dhpvm::codegen
