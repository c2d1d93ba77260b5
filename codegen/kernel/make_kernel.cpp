// SPDX-License-Identifier: Apache-2.0
#include "codegen/kernel/make_kernel.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <cstddef>

#include "base/error.h"
#include "codegen/kernel/kernel_loop.h"
#include "codegen/kernel/lone_thread.h"
#include "codegen/kernel_abi.h"
#include "codegen/lower/known_dimensions.h"
#include "codegen/spmd/equal_turns.h"
#include "codegen/spmd/full_turns.h"
#include "codegen/spmd/lane_costs.h"
#include "codegen/spmd/row_loop.h"
#include "codegen/spmd/row_tiles.h"
#include "codegen/spmd/staging.h"
#include "codegen/spmd/vectorize.h"
#include "codegen/spmd/walks.h"

namespace dhpvm::codegen {
namespace {

using spmd::ArgShape;

// The shapes of the body's parameters, as the loop calls it.
std::vector<ArgShape> shapes_of(const bytecode::KernelRecord& record, const llvm::Function& body) {
  std::vector<ArgShape> shapes(body.arg_size(), ArgShape::kUniform);
  shapes[kIndices + record.dimensions - 1] = ArgShape::kLaneIndex;
  std::fill_n(shapes.rbegin(), record.reductions.size(), ArgShape::kVarying);
  return shapes;
}

// The number of accesses under a mask that the instruction is: a gather or a scatter is one for each lane.
std::size_t accesses_under_a_mask(const llvm::Instruction& instruction) {
  const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr) return 0;
  const auto lanes = [&](unsigned mask) {
    return llvm::cast<llvm::FixedVectorType>(call->getArgOperand(mask)->getType())->getNumElements();
  };
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::masked_load:
    case llvm::Intrinsic::masked_store: return 1;
    case llvm::Intrinsic::masked_gather: return lanes(2);
    case llvm::Intrinsic::masked_scatter: return lanes(3);
    default: return 0;
  }
}

// Whether the masked body is as fast as an unmasked one would be, which then need not be compiled: masks cost something
// at memory accesses, so these must take little of the time. Loops that every call enters have a higher weight.
bool masks_cost_nothing(llvm::Function& tail) {
  constexpr unsigned kRounds = 32;
  constexpr unsigned kInstructionsForAnAccess = 64;
  llvm::DominatorTree dominators(tail);
  const llvm::LoopInfo loops(dominators);
  // Vectorised functions have one.
  const auto end = std::ranges::find_if(
      tail, [](const llvm::BasicBlock& block) { return llvm::isa<llvm::ReturnInst>(block.getTerminator()); });
  std::size_t instructions = 0;
  std::size_t accesses = 0;
  for (const llvm::BasicBlock& block : tail) {
    const llvm::Loop* loop = loops.getLoopFor(&block);
    std::size_t under_masks = 0;
    for (const llvm::Instruction& instruction : block) under_masks += accesses_under_a_mask(instruction);
    if (loop != nullptr && under_masks != 0) return false;
    accesses += under_masks;
    while (loop != nullptr && loop->getParentLoop() != nullptr) loop = loop->getParentLoop();
    const bool is_entered = loop != nullptr && dominators.dominates(loop->getHeader(), &*end);
    instructions += block.size() * (is_entered ? kRounds : 1);
  }
  return instructions >= kInstructionsForAnAccess * (accesses + 1);
}

// The index parameter of the dimension around the innermost one.
unsigned row_of(const bytecode::KernelRecord& record) { return kIndices + record.dimensions - 2; }

spmd::RowTile tile_of(const bytecode::KernelRecord& record, const llvm::Function& body,
                      const spmd::SpmdOptions& options) {
  if (record.dimensions == 1 || !record.reductions.empty()) return {};
  return spmd::choose_row_tile(body, options.args, row_of(record), options.vector_bits);
}

// Vectorises the body.
class BodyWidener {
 public:
  BodyWidener(const bytecode::KernelRecord& record, const KernelBody& body, const Target& target,
              SymbolTable& symbols)
      : record_(record), body_(*body.function), traps_(!body.sites.empty()) {
    options_.args = shapes_of(record, body_);
    options_.vector_bits = target.vector_bits();
    options_.has_symbol = [&symbols](std::string_view name) { return symbols.find(name) != nullptr; };
  }

  // With at most `most` lanes. kUnsupported, with the reason, if one lane is better.
  Result<WideBody> run(unsigned most) {
    DHPVM_TRY(spmd::prepare(body_, options_.args));
    options_.width = std::min(spmd::choose_width(body_, options_.args, options_.vector_bits), most);
    const spmd::RowTile tile = tile_of(record_, body_, options_);
    if (tile.rows == 1 && spmd::walks_rows(body_, options_.args)) {
      return error(ErrorCode::kUnsupported,
                   "each iteration goes through rows of its own, which is vectorised along the row");
    }
    if (tile.rows > 1) options_.width = std::min(options_.width, tile.width);
    if (options_.width == 1) {
      return error(
          ErrorCode::kUnsupported,
          "there is so much code in an iteration that compiling it for several lanes would take too long; "
          "several smaller loops can be vectorised");
    }
    if (Result<WideBody> wide = run_along_rows(); !wide.ok() || wide->has_row_loop) return wide;
    llvm::ValueToValueMapTy copies;
    llvm::Function* const staged = llvm::CloneFunction(&body_, copies);
    const bool is_split = tile.rows == 1 && spmd::split_equal_turns(*staged, options_.args);
    const spmd::StagedOperands operands = stage(*staged, tile.rows);
    const bool is_changed = is_split || operands.blocks + operands.panels != 0;
    Result<WideBody> wide = vectorise(is_changed ? *staged : body_, tile.rows);
    staged->eraseFromParent();
    if (wide.ok()) wide->operands = operands;
    return wide;
  }

 private:
  // Panels serve the same lanes of many rows, which run before the next lanes. A loop that may trap keeps its order,
  // because the first iteration's trap must be reported, and has no panels.
  spmd::StagedOperands stage(llvm::Function& body, unsigned rows) {
    if (rows == 1) return spmd::stage_operands(body, {.spmd = options_});
    if (traps_) return spmd::stage_operands(body, {.spmd = options_, .row = row_of(record_)});
    llvm::IRBuilder<> b(body.getEntryBlock().getTerminator());
    constexpr std::int64_t kFromTrap =
        std::int64_t{offsetof(KernelChunk, panels)} - offsetof(KernelChunk, trap);
    llvm::LoadInst* const panels =
        b.CreateLoad(b.getPtrTy(), b.CreateGEP(b.getInt8Ty(), body.getArg(kTraps), b.getInt64(kFromTrap)));
    panels->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
    return spmd::stage_operands(body, {.spmd = options_, .row = row_of(record_), .panels = panels});
  }

  // The body for several iterations of the outer dimension, if an operand's rows run along it; otherwise a body without
  // a row loop. A loop that may trap keeps its order, as above.
  Result<WideBody> run_along_rows() {
    if (record_.dimensions == 1 || !record_.reductions.empty() || traps_) return WideBody{};
    if (!spmd::crosses_rows(body_, options_.args)) return WideBody{};
    llvm::Function* const rows = spmd::put_into_row_loop(body_, row_of(record_));
    if (rows == nullptr) return WideBody{};
    options_.args.push_back(ArgShape::kUniform);
    Result<WideBody> wide = widen_row_loop(*rows);
    options_.args.pop_back();
    rows->eraseFromParent();
    return wide;
  }

  Result<WideBody> widen_row_loop(llvm::Function& rows) {
    DHPVM_TRY(spmd::prepare(rows, options_.args));
    const spmd::StagedOperands operands =
        spmd::stage_operands(rows, {.spmd = options_, .turns_are_iterations = true});
    if (operands.blocks == 0) return WideBody{};
    DHPVM_ASSIGN(WideBody wide, vectorise(rows, 1));
    wide.rows = spmd::kRowsInLoop;
    wide.has_row_loop = true;
    wide.operands = operands;
    return wide;
  }

  Result<WideBody> vectorise(llvm::Function& body, unsigned rows) {
    WideBody wide{.width = options_.width};
    options_.tail = true;
    DHPVM_ASSIGN(wide.tail, vectorize(body, options_));
    if (rows > 1 || !masks_cost_nothing(*wide.tail)) {
      options_.tail = false;
      DHPVM_ASSIGN(wide.full, vectorize(body, options_));
    }
    const llvm::Function& made = wide.full != nullptr ? *wide.full : *wide.tail;
    // With the same split loops as the body for whole vectors.
    llvm::Function* const same = wide.full == nullptr ? nullptr : spmd::split_full_turns(body, options_.args);
    const bool lanes_lose = spmd::estimate_costs(same == nullptr ? body : *same, made, options_).lanes_lose();
    if (same != nullptr) same->eraseFromParent();
    if (lanes_lose) {
      if (wide.full != nullptr) wide.full->eraseFromParent();
      wide.tail->eraseFromParent();
      return error(
          ErrorCode::kUnsupported,
          "its elements lie all over memory, where fetching and storing those of several iterations takes "
          "longer than doing them together saves");
    }
    if (rows == 1) return wide;
    wide.tile = spmd::tile_rows(*wide.full, row_of(record_), rows);
    if (wide.tile == nullptr) return wide;
    wide.tile_tail = spmd::tile_rows(*wide.tail, row_of(record_), rows);
    if (wide.tile_tail == nullptr) {
      wide.tile->eraseFromParent();
      wide.tile = nullptr;
      return wide;
    }
    wide.rows = rows;
    return wide;
  }

  const bytecode::KernelRecord& record_;
  llvm::Function& body_;
  const bool traps_;
  spmd::SpmdOptions options_;
};

// The vectorised body with at most `most` lanes; the scalar one, and the reason, if there is none.
Result<WideBody> widen(const bytecode::KernelRecord& record, const KernelBody& body, unsigned most,
                       const Target& target, SymbolTable& symbols, std::string& scalar_reason) {
  Result<WideBody> wide = BodyWidener(record, body, target, symbols).run(most);
  if (wide.ok()) return wide;
  if (wide.error().code() != ErrorCode::kUnsupported) return std::move(wide).error();
  scalar_reason = wide.error().message();
  return WideBody{.full = body.function};
}

// Inlines a function into the loop, its only user.
void inline_into_loop(llvm::Function* function) {
  if (function == nullptr) return;
  function->setLinkage(llvm::GlobalValue::InternalLinkage);
  function->removeFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::AlwaysInline);
}

}  // namespace

Result<KernelDescription> make_kernel(const KernelRequest& request, const Target& target,
                                      SymbolTable& symbols, llvm::Module& module) {
  DHPVM_ASSIGN(KernelBody body, lower_kernel(*request.module, request.kernel, request.proven, module));
  put_dimensions(*body.function, request.dimensions);
  // If several lanes trap together, only the first one's trap is kept.
  if (body.trap != nullptr) body.trap->addFnAttr(spmd::kOnceForFirstLane);
  const bytecode::KernelRecord& record = request.module->kernels[request.kernel];
  KernelDescription description;
  description.tier = request.tier;
  WideBody wide{.full = body.function};
  if (request.tier == KernelTier::kBaseline) {
    description.scalar_reason =
        "this is baseline code, made in little time: the loop was over before optimised code was worth "
        "making, or was there";
  } else if (request.most_lanes == 1) {
    description.scalar_reason =
        "there are few of them and each takes long, so that threads share them one by one";
  } else {
    const unsigned most = request.most_lanes == 0 ? bytecode::kReductionLanes : request.most_lanes;
    DHPVM_ASSIGN(wide, widen(record, body, most, target, symbols, description.scalar_reason));
  }
  make_kernel_loop(record, body, wide, kKernelSymbol, module);
  // The scalar body is dead once the wide ones exist.
  if (wide.width > 1) body.function->eraseFromParent();
  inline_into_loop(wide.full);
  inline_into_loop(wide.tail);
  inline_into_loop(wide.tile);
  inline_into_loop(wide.tile_tail);
  serve_lone_thread(*module.getFunction(kKernelSymbol));
  description.width = wide.width;
  description.rows = wide.rows;
  description.staged_operands = wide.operands.blocks;
  description.packed_operands = wide.operands.panels;
  if (description.packed_operands > 0) description.panel_bytes = spmd::kPanelMemory;
  description.sites = std::move(body.sites);
  return description;
}

}  // namespace dhpvm::codegen
