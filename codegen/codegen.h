// SPDX-License-Identifier: Apache-2.0
// The interface of the code generator for the virtual machine. The implementation is in a separate shared library,
// loaded when code becomes hot (vm/compile_service.h); this header uses nothing of LLVM.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/trace.h"
#include "bytecode/module.h"
#include "codegen/device_code.h"
#include "codegen/kernel_abi.h"
#include "codegen/runtime_table.h"
#include "dhpvm/result.h"

namespace dhpvm::codegen {

// For tests only: omits one store or barrier that keeps the collector informed, to check that the tests detect it.
// Counts them over all functions compiled; nothing may be compiled concurrently.
struct Mutation {
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::uint32_t mirror_store = kNone;  // index of the store of a root to omit
  std::uint32_t barrier = kNone;       // index of the write barrier to omit
  std::uint32_t mirror_stores = 0;     // number of such stores so far
  std::uint32_t barriers = 0;
};

// The form of listings of generated code.
enum class Listing : std::uint8_t { kNone, kLlvm, kAssembly, kDevice };

struct GeneratorOptions {
  std::string cpu = "native";  // see Target::create
  // The cache of compiled code on disk; see CodeCacheOptions.
  bool cache = true;
  std::string cache_directory;
  std::uint64_t cache_limit = std::uint64_t{256} << 20;
  bool debugger = false;  // tell gdb about the code
  bool profiler = false;  // name the code for perf
  Listing list_kernels = Listing::kNone;
  Listing list_functions = Listing::kNone;
  std::string list_language = "opencl";          // for kDevice: "ptx", or "ptx:sm_90" with a processor
  std::function<void(std::string_view)> list;    // receives the listings, from any thread
  std::function<void(const std::string&)> warn;  // called once if the cache cannot be used
  // Called for every loaded function with its symbol, from any thread; may be empty. If it is set, functions keep frame
  // pointers.
  std::function<void(const void* begin, std::size_t size, std::string_view name)> loaded;
  Tracer* tracer = nullptr;      // must outlive the generator
  Mutation* mutation = nullptr;  // for tests; not owned; disables the cache
};

struct GeneratorStats {
  std::uint64_t compiles = 0;  // without those found in the cache
  std::uint64_t cache_hits = 0;
  std::uint64_t compile_median_ns = 0;  // from bytecode to callable code
  std::uint64_t kernel_compile_median_ns = 0;
};

// Functions to compile together: they may be inlined into each other, and call each other directly.
struct FunctionRequest {
  const bytecode::Module* module = nullptr;  // verified; must outlive the call
  // The module as a file, which identifies it in the cache. Must outlive the call.
  std::span<const std::byte> identity;
  RuntimeLayout layout{};
  RuntimeCalls calls{};
  std::vector<std::uint32_t> stack_costs;  // by function of the module: its share of the stack limit
  std::vector<std::uint32_t> functions;    // indices in the module
  // Functions that need entries at their loop headers, to replace running interpreted code.
  std::vector<std::uint32_t> continued;
};

// Machine code in memory; freed with this object, when no thread may be in it any more.
class CompiledFunctions {
 public:
  virtual ~CompiledFunctions() = default;
  // For the table of bodies through which compiled code calls, and for the interpreter; null if not requested.
  virtual const void* body(std::uint32_t function) const = 0;
  virtual EnterFunction enter(std::uint32_t function) const = 0;
  // The entry at the loop header `pc`, a word offset inside the function; null if it was not requested. It runs the
  // outermost loop around `pc`. If that loop ends other than by a return or a trap, the registers are in the frame
  // again, and StateLayout::resume tells at which instruction the interpreter goes on.
  virtual EnterFunction continuation(std::uint32_t function, std::uint32_t pc) const = 0;
};

// A position in the code: a function, and a word offset inside it.
struct CodePosition {
  std::uint32_t function = 0;
  std::uint32_t pc = 0;
  auto operator<=>(const CodePosition&) const = default;
};

// An instruction of a kernel, and the calls that led to it, innermost first.
using CallPath = std::vector<CodePosition>;

// A place where a kernel can trap.
struct KernelSite {
  enum class Kind : std::uint8_t { kRead, kWrite, kTrap };
  Kind kind = Kind::kTrap;          // an element that cannot be read or written, or kTrap
  TrapKind trap = TrapKind::kNull;  // if kind is kTrap
  CallPath calls;
};

// The size of a captured array along one of its dimensions.
struct KnownDimension {
  std::uint32_t array = 0;  // number of the captured array
  std::uint32_t dimension = 0;
  std::int64_t value = 0;
  bool operator==(const KnownDimension&) const = default;
};

inline constexpr std::int64_t kSmallIndices = std::int64_t{1} << 30;

// How much compilation effort a kernel gets. Results have the same bits except for mathematical functions, and the
// sites are the same.
enum class KernelTier : std::uint8_t {
  kOptimised,
  // Compiled in a few milliseconds: one iteration at a time, simplified once, registers allocated block by block.
  kBaseline,
};

struct KernelRequest {
  const bytecode::Module* module = nullptr;  // verified; must outlive the call
  std::uint32_t kernel = 0;                  // index in the module
  // Instructions that cannot fail whenever this code runs: their checks are omitted.
  std::set<CallPath> proven;
  // Sizes that arrays have whenever this code runs.
  std::vector<KnownDimension> dimensions = {};
  // Whenever this code runs, lengths and dimensions of arrays and indices of iterations are at least 0 and below
  // kSmallIndices: devices without 64-bit registers then use half as many registers.
  bool has_small_indices = false;
  KernelTier tier = KernelTier::kOptimised;  // of the host's code
  // The largest number of lanes of the host's code, a power of two: for loops of few and long iterations, where each
  // iteration, or each lane of a reduction, is work for a thread. 0: no limit.
  unsigned most_lanes = 0;
};

// Thread-safe.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  virtual KernelCode code() const = 0;
  // By KernelTrap::site.
  virtual const std::vector<KernelSite>& sites() const = 0;
  // The number of lanes; 1 if the loop could not be vectorised, for the reason given.
  virtual unsigned width() const = 0;
  // The number of rows in a register tile, which share loads: indices of the dimension around the innermost one; a
  // power of two.
  virtual unsigned rows() const = 0;
  // The number of operands of inner loops along each lane's own row that are transposed in blocks instead of gathered.
  virtual unsigned staged_operands() const = 0;
  // The number of operands of inner loops that are packed for all rows, and the memory per chunk for that.
  virtual unsigned packed_operands() const = 0;
  virtual std::size_t panel_bytes() const = 0;
  virtual const std::string& scalar_reason() const = 0;
  virtual KernelTier tier() const = 0;
};

// Thread-safe.
class CodeGenerator {
 public:
  virtual ~CodeGenerator() = default;
  virtual Result<std::unique_ptr<CompiledFunctions>> compile(const FunctionRequest& request) = 0;
  virtual Result<std::unique_ptr<CompiledKernel>> compile(const KernelRequest& request) = 0;
  // kUnsupported, with the reason, for features that the device or its language lacks.
  virtual Result<DeviceCode> compile(const KernelRequest& request, const DeviceTarget& target) = 0;
  virtual GeneratorStats stats() const = 0;
  // The cached kernel for such a request; null if it must be compiled.
  virtual std::unique_ptr<CompiledKernel> find(const KernelRequest& request) = 0;
};

// The shared library, its one exported function, and the number that checks that library and caller were built from the
// same sources.
inline constexpr char kLibraryName[] = "libdhpvm_codegen.so";
inline constexpr char kCreateSymbol[] = "dhpvm_create_code_generator";
inline constexpr std::uint32_t kInterfaceVersion = 14;
using CreateCodeGenerator = void (*)(std::uint32_t version, const GeneratorOptions& options,
                                     Result<std::unique_ptr<CodeGenerator>>& result);

}  // namespace dhpvm::codegen
