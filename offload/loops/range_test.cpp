// SPDX-License-Identifier: Apache-2.0
// All accesses of a kernel lie within the ranges that its footprint predicts: random kernels, their accesses
// traced.
#include "offload/loops/range.h"
#include "base/test_effort.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "bytecode/builder.h"
#include "bytecode/disassembler.h"
#include "bytecode/generator.h"
#include "bytecode/verifier.h"
#include "offload/loops/trace_evaluator.h"

namespace dhpvm::offload {
namespace {

using bytecode::FunctionBuilder;
using bytecode::Kind;
using bytecode::Label;
using bytecode::ModuleBuilder;
using bytecode::Op;

// Kernels full of index arithmetic, guards and loops.
class KernelGenerator {
 public:
  explicit KernelGenerator(std::uint64_t seed) : random_(seed) {}

  bytecode::Module make() {
    const bytecode::ValueType row{bytecode::ValueType{Kind::kRef, builder_.array_type({Kind::kF32})}};
    const bytecode::ValueType matrix{Kind::kRef, builder_.array_type({Kind::kF32}, 2)};
    const bytecode::ValueType numbers{Kind::kRef, builder_.array_type({Kind::kI32})};
    const bytecode::ValueType i64{Kind::kI64};
    const bytecode::ValueType i32{Kind::kI32};
    helper_ = builder_.declare_function("helper", {{i64, i64, i32, row, matrix, numbers}, {i64}});
    body(helper_, 2, 1, 4);
    bytecode::KernelRecord kernel;
    kernel.dimensions = static_cast<std::uint8_t>(1 + below(2));
    bytecode::Signature signature;
    signature.parameters.assign(kernel.dimensions, i64);
    signature.parameters.insert(signature.parameters.end(), {i64, i64, i32, row, matrix, numbers});
    kernel.function = builder_.declare_function("kernel", signature);
    body(kernel.function, kernel.dimensions + 2u, 1, 10);
    builder_.add_kernel(kernel);
    return std::move(builder_).finish();
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  template <typename T>
  const T& pick(const std::vector<T>& all) {
    return all[below(static_cast<std::uint32_t>(all.size()))];
  }
  std::uint16_t fresh() { return next_++; }

  void body(std::uint32_t function, unsigned wide, unsigned narrow, int statements) {
    f_ = std::make_unique<FunctionBuilder>(builder_, function);
    wide_.clear();
    narrow_.clear();
    mutable_.clear();
    next_ = 0;
    for (unsigned i = 0; i < wide; ++i) wide_.push_back(fresh());
    for (unsigned i = 0; i < narrow; ++i) narrow_.push_back(fresh());
    for (int i = 0; i < 2; ++i) {
      const std::uint16_t reg = fresh();
      if (below(2) == 0)
        f_->load_integer(reg, below(6));
      else
        f_->emit(Op::kMoveP, reg, pick(wide_));
      wide_.push_back(reg);
      mutable_.push_back(reg);
    }
    const std::uint16_t flag = fresh();
    f_->load_integer(flag, 0);
    flag_ = flag;
    left_ = statements * 4;
    for (int i = 0; i < statements && left_ > 0; ++i) statement(0, function);
    f_->emit(Op::kMoveP, 0, pick(wide_));
    f_->emit(Op::kReturn);
    EXPECT_TRUE(f_->finish().ok());
  }

  void block(int depth, std::uint32_t function) {
    const auto wide = wide_.size();
    const auto narrow = narrow_.size();
    for (std::uint32_t n = 1 + below(4); n > 0 && left_ > 0; --n) statement(depth, function);
    wide_.resize(wide);
    narrow_.resize(narrow);
  }

  void statement(int depth, std::uint32_t function) {
    --left_;
    switch (below(13)) {
      case 0:
      case 1:
      case 2: return compute();
      case 3: return compute_narrow();
      case 4:
      case 5:
      case 6: return access();
      case 7:
      case 8: return depth < 3 ? guard(depth, function) : access();
      case 9: return depth < 2 ? count(depth, function) : access();
      case 10: return depth < 2 ? repeat(depth, function) : access();
      case 11:
        f_->emit(pick<Op>({Op::kLtI64, Op::kLeI64, Op::kEqI64, Op::kLtU64}), flag_, pick(wide_), pick(wide_));
        return;
      default: return function != helper_ ? call() : compute();
    }
  }

  std::uint16_t target() {
    if (below(3) == 0) return pick(mutable_);
    const std::uint16_t reg = fresh();
    return reg;
  }
  void keep(std::uint16_t reg) {
    if (std::ranges::find(mutable_, reg) == mutable_.end()) wide_.push_back(reg);
  }

  void compute() {
    const std::uint16_t reg = target();
    const std::uint16_t x = pick(wide_);
    const std::uint16_t y = pick(wide_);
    const auto small = static_cast<std::uint16_t>(below(7) - 3);
    switch (below(9)) {
      case 0:
        f_->emit(pick<Op>({Op::kAddI64, Op::kSubI64, Op::kMulI64, Op::kMinI64, Op::kMaxI64, Op::kMinU64,
                           Op::kMaxU64, Op::kAddI64, Op::kSubI64}),
                 reg, x, y);
        break;
      case 1:
      case 2: f_->emit(Op::kAddImmI64, reg, x, small); break;
      case 3: f_->emit(Op::kMulImmI64, reg, x, small); break;
      case 4: {
        const std::uint16_t divisor = fresh();
        f_->load_integer(divisor, 1 + below(5));
        f_->emit(pick<Op>({Op::kDivI64, Op::kRemI64, Op::kDivU64, Op::kRemU64}), reg, x,
                 below(3) == 0 ? y : divisor);
        break;
      }
      case 5:
        f_->emit(pick<Op>({Op::kShlImmI64, Op::kShrImmI64, Op::kShrImmU64}), reg, x,
                 static_cast<std::uint16_t>(below(4)));
        break;
      case 6: f_->emit(Op::kAndImmI64, reg, x, static_cast<std::uint16_t>(below(2) == 0 ? 7 : small)); break;
      case 7: f_->emit(pick<Op>({Op::kI32ToI64, Op::kU32ToU64}), reg, pick(narrow_)); break;
      default:
        if (below(2) == 0)
          f_->emit(Op::kArrayDim, reg, 1, static_cast<std::uint16_t>(below(2)));
        else
          f_->emit(Op::kArrayLength, reg, static_cast<std::uint16_t>(below(3)));
        break;
    }
    keep(reg);
  }

  void compute_narrow() {
    const std::uint16_t reg = fresh();
    const std::uint16_t x = pick(narrow_);
    const std::uint16_t y = pick(narrow_);
    switch (below(6)) {
      case 0: f_->emit(Op::kI64ToI32, reg, pick(wide_)); break;
      case 1:
        f_->emit(pick<Op>({Op::kAddI32, Op::kSubI32, Op::kMulI32, Op::kMinI32, Op::kMaxU32, Op::kMinU32}),
                 reg, x, y);
        break;
      case 2: f_->emit(Op::kAddImmI32, reg, x, static_cast<std::uint16_t>(below(7) - 3)); break;
      case 3:
        f_->emit(pick<Op>({Op::kZeroExtend8, Op::kSignExtend8, Op::kZeroExtend16, Op::kNegI32, Op::kNotI32}),
                 reg, x);
        break;
      case 4:
        f_->emit(pick<Op>({Op::kShlImmI32, Op::kShrImmI32, Op::kShrImmU32}), reg, x,
                 static_cast<std::uint16_t>(below(5)));
        break;
      default: f_->emit(Op::kLoadI32, reg, 2, pick(wide_)); break;
    }
    narrow_.push_back(reg);
  }

  void access() {
    const std::uint16_t value = fresh();
    switch (below(4)) {
      case 0: f_->emit(Op::kLoadF32, value, 0, pick(wide_)); break;
      case 1:
        f_->load_f32(value, 1);
        f_->emit(Op::kStoreF32, 0, pick(wide_), value);
        break;
      default:
        f_->emit(Op::kIndex2, value, 1, pick(wide_), pick(wide_));
        f_->emit(Op::kLoadF32, fresh(), 1, value);
        break;
    }
  }

  void guard(int depth, std::uint32_t function) {
    const Label otherwise = f_->new_label();
    const auto small = static_cast<std::uint16_t>(below(7) - 2);
    switch (below(5)) {
      case 0:
        f_->branch(pick<Op>({Op::kJLtI64, Op::kJLeI64, Op::kJEqI64, Op::kJNeI64, Op::kJLtU64, Op::kJLeU64}),
                   pick(wide_), pick(wide_), otherwise);
        break;
      case 1:
      case 2:
        f_->branch(pick<Op>({Op::kJLtImmI64, Op::kJGeImmI64, Op::kJGtImmI64, Op::kJLeImmI64, Op::kJEqImmI64,
                             Op::kJNeImmI64}),
                   pick(wide_), small, otherwise);
        break;
      case 3:
        f_->branch(pick<Op>({Op::kJLtI32, Op::kJLeI32, Op::kJLtU32}), pick(narrow_), pick(narrow_),
                   otherwise);
        break;
      default: f_->branch(pick<Op>({Op::kJumpIf, Op::kJumpIfNot}), flag_, otherwise); break;
    }
    block(depth + 1, function);
    if (below(2) == 0) return f_->bind(otherwise);
    const Label end = f_->new_label();
    f_->jump(end);
    f_->bind(otherwise);
    block(depth + 1, function);
    f_->bind(end);
  }

  // A counted loop, most often with the guard that a compiler puts before it.
  void count(int depth, std::uint32_t function) {
    const bool is_wide = below(3) != 0;
    std::vector<std::uint16_t>& pool = is_wide ? wide_ : narrow_;
    const std::uint16_t counter = fresh();
    const std::uint16_t limit = below(2) == 0 ? pick(pool) : fresh();
    if (std::ranges::find(pool, limit) == pool.end()) f_->load_integer(limit, below(6));
    if (below(2) == 0)
      f_->load_integer(counter, below(4) - std::int64_t{1});
    else
      f_->emit(Op::kMoveP, counter, pick(pool));
    const Label out = f_->new_label();
    const Label top = f_->new_label();
    if (below(4) != 0) f_->branch(is_wide ? Op::kJLeI64 : Op::kJLeI32, limit, counter, out);
    f_->bind(top);
    pool.push_back(counter);
    block(depth + 1, function);
    pool.pop_back();
    f_->branch(is_wide ? Op::kForI64 : Op::kForI32, counter, limit, top);
    f_->bind(out);
  }

  void repeat(int depth, std::uint32_t function) {
    const std::uint16_t counter = fresh();
    const bool down = below(3) == 0;
    f_->emit(Op::kMoveP, counter, pick(wide_));
    const std::uint16_t bound = pick(wide_);
    const Label out = f_->new_label();
    const Label top = f_->new_label();
    f_->bind(top);
    if (down)
      f_->branch(Op::kJLtImmI64, counter, static_cast<std::uint16_t>(below(3)), out);
    else
      f_->branch(Op::kJLeI64, bound, counter, out);
    wide_.push_back(counter);
    block(depth + 1, function);
    wide_.pop_back();
    const auto step = static_cast<std::uint16_t>(1 + below(3));
    f_->emit(Op::kAddImmI64, counter, counter, down ? static_cast<std::uint16_t>(-step) : step);
    f_->jump(top);
    f_->bind(out);
  }

  void call() {
    const std::uint16_t window = next_;
    next_ = static_cast<std::uint16_t>(next_ + 3);
    f_->emit(Op::kMoveP, window, pick(wide_));
    f_->emit(Op::kMoveP, static_cast<std::uint16_t>(window + 1), pick(wide_));
    f_->emit(Op::kMoveP, static_cast<std::uint16_t>(window + 2), pick(narrow_));
    for (std::uint16_t i = 0; i < 3; ++i) f_->emit(Op::kMoveR, static_cast<std::uint16_t>(3 + i), i);
    f_->emit(Op::kCall, window, 3, static_cast<std::uint16_t>(helper_));
    const std::uint16_t result = window;
    next_ = static_cast<std::uint16_t>(window + 1);
    wide_.push_back(result);
  }

  std::mt19937_64 random_;
  ModuleBuilder builder_;
  std::unique_ptr<FunctionBuilder> f_;
  std::uint32_t helper_ = 0;
  std::vector<std::uint16_t> wide_;
  std::vector<std::uint16_t> narrow_;
  std::vector<std::uint16_t> mutable_;
  std::uint16_t flag_ = 0;
  std::uint16_t next_ = 0;
  int left_ = 0;
};

// Mostly small, at times, or with `edges` often, at the edge of what a register holds.
std::int64_t number(std::mt19937_64& random, bool edges) {
  constexpr std::int64_t kOdd[] = {0x7fffffff, -0x80000000ll, 0xffffffff, std::int64_t{1} << 62, -1};
  const auto small = static_cast<std::int64_t>(random() % 2 * (random() % 6));
  switch (random() % (edges ? 5 : 20)) {
    case 0: return std::numeric_limits<std::int64_t>::max() - small;
    case 1: return std::numeric_limits<std::int64_t>::min() + small;
    case 2: return kOdd[random() % std::size(kOdd)];
    default: return static_cast<std::int64_t>(random() % 14) - 2;
  }
}

// Numbers of one execution, and the chunk that refers to them.
struct Execution {
  std::vector<std::uint64_t> scalars;
  std::vector<codegen::KernelArray> arrays;
  IterationSpace space;

  LoopChunk chunk() const { return {space, scalars, arrays}; }
};

Execution random_execution(const bytecode::Module& module, const bytecode::KernelRecord& kernel,
                           const Footprint& footprint, bool edges, std::mt19937_64& random) {
  Execution execution;
  for (std::uint32_t i = 0; i < footprint.scalars; ++i)
    execution.scalars.push_back(static_cast<std::uint64_t>(number(random, edges)));
  execution.arrays.resize(footprint.arrays.size());
  std::size_t reference = 0;
  for (const bytecode::ValueType& parameter : module.functions[kernel.function].signature.parameters) {
    if (!parameter.is_ref()) continue;
    codegen::KernelArray& array = execution.arrays[reference++];
    array.shape.length = 1;
    for (unsigned d = 0; d < module.types[parameter.type].rank; ++d)
      array.shape.length *= array.shape.dims[d] = static_cast<std::int64_t>(1 + random() % 12);
    array.shape.readable = array.shape.writable = array.shape.length;
  }
  execution.space.dimensions = kernel.dimensions;
  for (unsigned d = 0; d < kernel.dimensions; ++d) {
    execution.space.low[d] =
        random() % 10 == 0 ? number(random, edges) / 2 : static_cast<std::int64_t>(random() % 5) - 1;
    execution.space.high[d] = execution.space.low[d] + 1 + static_cast<std::int64_t>(random() % 4);
  }
  return execution;
}

template <typename Each>
void for_each_iteration(const IterationSpace& space, const Each& each) {
  const std::uint64_t count = *space.count();
  for (std::uint64_t i = 0; i < count; ++i) {
    std::array<std::int64_t, 3> index{};
    std::uint64_t rest = i;
    for (unsigned d = space.dimensions; d-- > 0; rest /= space.extent(d))
      index[d] = space.low[d] + static_cast<std::int64_t>(rest % space.extent(d));
    each(index);
  }
}

struct Statistics {
  std::size_t accesses = 0;
  std::size_t bounded = 0;
  std::size_t events = 0;
  std::size_t disjoint = 0;
  std::size_t overwritten = 0;
  std::size_t members = 0;         // of families, with other numbers than those that these were made from
  std::size_t cannot_fail = 0;     // accesses of families
  std::size_t cannot_fail_in = 0;  // events of these
};

// Puts random numbers into a kernel, runs all iterations of a small space, and compares.
void check(const bytecode::Module& module, const bytecode::KernelRecord& kernel, std::uint64_t seed,
           Statistics& statistics) {
  const Footprint footprint = analyse(module, kernel);
  ASSERT_TRUE(footprint.complete) << footprint.incomplete_reason;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 4; ++round) {
    const bool edges = round == 3;
    const Execution execution = random_execution(module, kernel, footprint, edges, random);
    const std::vector<codegen::KernelArray>& arrays = execution.arrays;
    const LoopChunk chunk = execution.chunk();
    Ranges ranges(footprint, chunk);
    std::vector<Elements> reads;
    std::vector<Elements> writes;
    std::vector<bool> disjoint;
    std::vector<bool> overwritten;
    for (std::uint32_t a = 0; a < arrays.size(); ++a) {
      reads.push_back(ranges.reads(a));
      writes.push_back(ranges.writes(a));
      disjoint.push_back(ranges.writes_are_disjoint(a));
      statistics.disjoint += disjoint.back() ? 1 : 0;
      overwritten.push_back(ranges.overwrites(a) && !writes.back().empty());
    }
    for (const Access& access : footprint.accesses) {
      ++statistics.accesses;
      if (access.indices > 0 && ranges.index(access) != kRegister) ++statistics.bounded;
    }
    std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> writers;
    std::set<std::pair<std::uint32_t, std::int64_t>> written;
    bool all_finished = true;
    std::array<std::int64_t, 3> index{};
    std::string problem;
    testing::TraceEvaluator evaluator(module, footprint, arrays, random, [&](const auto& event) {
      ++statistics.events;
      const std::uint32_t found = footprint.find(event.chain, event.pc);
      if (found == kNothing) {
        problem = "an access that was taken for unreachable";
        return;
      }
      const Access& access = footprint.accesses[found];
      for (std::uint32_t d = 0; d < access.indices; ++d) {
        const Range range = ranges.index(access, d);
        if (event.index[d] < range.low || event.index[d] > range.high)
          problem = "word " + std::to_string(event.pc) + ", index " + std::to_string(event.index[d]) +
                    " not in [" + std::to_string(static_cast<double>(range.low)) + ", " +
                    std::to_string(static_cast<double>(range.high)) + "]";
      }
      if (access.kind > AccessKind::kAtomic || access.array == kNothing) return;
      if (event.index[0] < 0 || event.index[0] >= arrays[access.array].shape.length) return;
      const bool is_write = access.kind != AccessKind::kRead;
      const Elements& elements = is_write ? writes[access.array] : reads[access.array];
      if (event.index[0] < elements.begin || event.index[0] >= elements.end)
        problem = "an element outside the range";
      if (access.kind == AccessKind::kWrite) written.emplace(access.array, event.index[0]);
      if (!is_write || !disjoint[access.array]) return;
      const auto [writer, is_new] = writers.emplace(std::pair(access.array, event.index[0]), index[0]);
      if (writer->second != index[0]) problem = "two iterations write one element";
    });
    for_each_iteration(chunk.space, [&](const std::array<std::int64_t, 3>& at) {
      index = at;
      all_finished &= evaluator.run(kernel, std::span(index.data(), kernel.dimensions), execution.scalars);
    });
    ASSERT_EQ(problem, "") << "seed " << seed << "\n"
                           << bytecode::disassemble_function(module, kernel.function);
    for (std::uint32_t a = 0; all_finished && a < arrays.size(); ++a) {
      if (!overwritten[a]) continue;
      ++statistics.overwritten;
      for (std::int64_t element = writes[a].begin; element < writes[a].end; ++element) {
        ASSERT_TRUE(written.contains({a, element}))
            << "array " << a << ", element " << element << ", seed " << seed << "\n"
            << bytecode::disassemble_function(module, kernel.function);
      }
    }
  }
}

// The steps by which the numbers of an execution grow from one to the next.
Execution random_steps(const Execution& first, std::mt19937_64& random) {
  const auto step = [&] {
    return random() % 2 == 0 ? std::int64_t{0} : static_cast<std::int64_t>(random() % 4) - 1;
  };
  Execution steps = first;
  for (std::uint64_t& scalar : steps.scalars) scalar = static_cast<std::uint64_t>(step());
  for (unsigned d = 0; d < first.space.dimensions; ++d) {
    steps.space.low[d] = step();
    steps.space.high[d] = random() % 2 == 0 ? steps.space.low[d] : step();
  }
  const bool same_sizes = random() % 2 == 0;
  for (codegen::KernelArray& array : steps.arrays) {
    for (std::int64_t& size : array.shape.dims) size = same_sizes || size == 0 ? 0 : step();
  }
  return steps;
}

// `times` may give another number for each of the numbers. Nothing where a size or an extent would not be there.
template <typename Times>
std::optional<Execution> after_steps(const Execution& first, const Execution& steps, const Times& times) {
  Execution member = first;
  const auto advance = [&](std::int64_t& number, std::int64_t step) {
    number = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) +
                                       static_cast<std::uint64_t>(step * times()));
  };
  for (std::size_t n = 0; n < first.scalars.size(); ++n) {
    auto number = static_cast<std::int64_t>(first.scalars[n]);
    advance(number, static_cast<std::int64_t>(steps.scalars[n]));
    member.scalars[n] = static_cast<std::uint64_t>(number);
  }
  for (unsigned d = 0; d < first.space.dimensions; ++d) {
    advance(member.space.low[d], steps.space.low[d]);
    advance(member.space.high[d], steps.space.high[d]);
    if (member.space.low[d] >= member.space.high[d]) return std::nullopt;
    if (member.space.extent(d) > 12) return std::nullopt;
  }
  for (std::size_t n = 0; n < first.arrays.size(); ++n) {
    codegen::ArrayShape& shape = member.arrays[n].shape;
    shape.length = 1;
    for (std::size_t d = 0; d < shape.dims.size(); ++d) {
      if (shape.dims[d] == 0) continue;
      advance(shape.dims[d], steps.arrays[n].shape.dims[d]);
      if (shape.dims[d] < 1) return std::nullopt;
      shape.length *= shape.dims[d];
    }
    shape.readable = shape.writable = shape.length;
  }
  return member;
}

bool fails(const Access& access, const codegen::ArrayShape& shape, const std::array<std::int64_t, 3>& index) {
  const auto outside = [](std::int64_t at, std::int64_t size) { return at < 0 || at >= size; };
  switch (access.kind) {
    case AccessKind::kRead: return outside(index[0], shape.readable);
    case AccessKind::kWrite: return outside(index[0], shape.writable);
    case AccessKind::kAtomic: return outside(index[0], std::min(shape.readable, shape.writable));
    case AccessKind::kIndex:
      for (std::uint32_t d = 0; d < access.indices; ++d) {
        if (outside(index[d], shape.dims[d])) return true;
      }
      return false;
    default: return false;
  }
}

// Makes a family of two executions, and runs others that it says it has.
void check_family(const bytecode::Module& module, const bytecode::KernelRecord& kernel, std::uint64_t seed,
                  Statistics& statistics) {
  const Footprint footprint = analyse(module, kernel);
  std::mt19937_64 random(seed);
  const auto numbers = [&](const Execution& execution) {
    std::vector<std::int64_t> result;
    numbers_of(footprint, execution.chunk(), result);
    return result;
  };
  for (int round = 0; round < 4; ++round) {
    const Execution first = random_execution(module, kernel, footprint, round == 3, random);
    const Execution steps = random_steps(first, random);
    const auto second = after_steps(first, steps, [] { return 1; });
    if (!second) continue;
    const auto family =
        ExecutionFamily(numbers(first)).with(numbers(*second), static_cast<std::int64_t>(random() % 5));
    if (!family) continue;
    Ranges ranges(footprint, *family);
    std::vector<bool> safe;
    std::vector<std::array<Range, 3>> inside;
    for (const Access& access : footprint.accesses) {
      safe.push_back(ranges.cannot_fail(access));
      inside.emplace_back();
      for (std::uint32_t d = 0; d < access.indices; ++d) inside.back()[d] = ranges.index(access, d);
    }
    statistics.cannot_fail += static_cast<std::size_t>(std::ranges::count(safe, true));
    for (std::int64_t turn = -4; turn < 8; ++turn) {
      const bool apart = turn > 4;  // each number by itself: few of these belong to the family
      const auto member =
          after_steps(first, steps, [&] { return apart ? static_cast<std::int64_t>(random() % 3) : turn; });
      if (!member || !family->contains(numbers(*member))) continue;
      ++statistics.members;
      std::string problem;
      testing::TraceEvaluator evaluator(module, footprint, member->arrays, random, [&](const auto& event) {
        const std::uint32_t found = footprint.find(event.chain, event.pc);
        if (found == kNothing) return;
        const Access& access = footprint.accesses[found];
        for (std::uint32_t d = 0; d < access.indices; ++d) {
          const Range& range = inside[found][d];
          if (event.index[d] < range.low || event.index[d] > range.high)
            problem = "an index outside of the family's range";
        }
        // Nothing traps here: an element may be one that the check of its indices has refused.
        if (!safe[found] || access.checked_by != kNothing) return;
        ++statistics.cannot_fail_in;
        if (access.kind <= AccessKind::kIndex &&
            (access.array == kNothing || fails(access, member->arrays[access.array].shape, event.index)))
          problem = "an access that fails";
      });
      for_each_iteration(member->space, [&](const std::array<std::int64_t, 3>& index) {
        evaluator.run(kernel, std::span(index.data(), kernel.dimensions), member->scalars);
      });
      ASSERT_EQ(problem, "") << "seed " << seed << ", round " << round << ", turn " << turn << "\n"
                             << bytecode::disassemble_function(module, kernel.function);
    }
  }
}

TEST(Ranges, RandomIndexArithmeticStaysWithin) {
  Statistics statistics;
  for (std::uint64_t seed = 0; seed < test_effort(1000); ++seed) {
    const bytecode::Module module = KernelGenerator(seed).make();
    const Status verified = bytecode::verify(module);
    ASSERT_TRUE(verified.ok()) << verified.error().message() << "\n" << bytecode::disassemble(module);
    check(module, module.kernels[0], seed, statistics);
    check_family(module, module.kernels[0], seed, statistics);
    if (HasFatalFailure()) return;
  }
  // Otherwise the test says nothing.
  EXPECT_GT(statistics.events, test_effort(100'000));
  EXPECT_GT(statistics.bounded * 2, statistics.accesses);
  EXPECT_GT(statistics.disjoint, test_effort(1000));
  EXPECT_GT(statistics.overwritten, test_effort(4));
  EXPECT_GT(statistics.members, test_effort(5000));
  EXPECT_GT(statistics.cannot_fail, test_effort(1000));
  EXPECT_GT(statistics.cannot_fail_in, test_effort(10'000));
}

TEST(Ranges, RandomModulesStayWithin) {
  Statistics statistics;
  for (std::uint64_t seed = 0; seed < test_effort(400); ++seed) {
    bytecode::testing::GeneratorOptions options;
    options.kernels = 3;
    const bytecode::Module module = bytecode::testing::generate_module(seed, options);
    for (const bytecode::KernelRecord& kernel : module.kernels) {
      check(module, kernel, seed, statistics);
      check_family(module, kernel, seed, statistics);
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(statistics.events, test_effort(10'000));
}

}  // namespace
}  // namespace dhpvm::offload
