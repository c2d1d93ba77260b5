// SPDX-License-Identifier: Apache-2.0
// The interface of the code generator to the virtual machine. The implementation is in a shared library of its own,
// loaded when something has become hot (vm/compile_service.h); nothing of LLVM shows here.
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

// For tests alone: leaves out what keeps the collector informed, to see that the tests would notice. Counts what there
// is, over all functions compiled; nothing may be compiled at the same time.
struct Mutation {
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::uint32_t mirror_store = kNone;  // the number of the store of a root that is left out
  std::uint32_t barrier = kNone;       // the number of the write barrier that is left out
  std::uint32_t mirror_stores = 0;     // how many there have been
  std::uint32_t barriers = 0;
};

// The form in which generated code is listed for people.
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
  std::function<void(std::string_view)> list;    // takes the listings; from any thread
  std::function<void(const std::string&)> warn;  // told once when the cache cannot be used
  // Told of every function that is loaded, from any thread, with its symbol; empty: nobody is. Functions keep frame
  // pointers then.
  std::function<void(const void* begin, std::size_t size, std::string_view name)> loaded;
  Tracer* tracer = nullptr;      // must outlive the generator
  Mutation* mutation = nullptr;  // for tests; not owned; nothing is cached then
};

struct GeneratorStats {
  std::uint64_t compiles = 0;  // not counting what came from the cache
  std::uint64_t cache_hits = 0;
  std::uint64_t compile_median_ns = 0;  // from bytecode to code that can be called
  std::uint64_t kernel_compile_median_ns = 0;
};

// Functions to be compiled together: they may be inlined into each other, and call each other directly.
struct FunctionRequest {
  const bytecode::Module* module = nullptr;  // verified; must outlive the call
  // The module as a file: what the cache recognises it by. Must outlive the call.
  std::span<const std::byte> identity;
  RuntimeLayout layout{};
  RuntimeCalls calls{};
  std::vector<std::uint32_t>
      stack_costs;                       // by function of the module: what a call takes from the stack limit
  std::vector<std::uint32_t> functions;  // indices in the module
  // Those of them that are to be continued while they run, at any of their loop headers.
  std::vector<std::uint32_t> continued;
};

// Machine code in memory; freed with this object, when no thread is in it any more.
class CompiledFunctions {
 public:
  virtual ~CompiledFunctions() = default;
  // For the table of bodies that compiled code calls through, and for the interpreter; null if not requested.
  virtual const void* body(std::uint32_t function) const = 0;
  virtual EnterFunction enter(std::uint32_t function) const = 0;
  // At the loop header `pc`, a word offset inside the function; null if that was not requested to be continued.
  virtual EnterFunction continuation(std::uint32_t function, std::uint32_t pc) const = 0;
};

// A word of code: a function, and the offset inside it.
struct CodePosition {
  std::uint32_t function = 0;
  std::uint32_t pc = 0;
  auto operator<=>(const CodePosition&) const = default;
};

// An instruction of a kernel, and the calls that led there, innermost first.
using CallPath = std::vector<CodePosition>;

// A place where a kernel can trap.
struct KernelSite {
  enum class Kind : std::uint8_t { kRead, kWrite, kTrap };
  Kind kind = Kind::kTrap;          // an element that cannot be read or written, or:
  TrapKind trap = TrapKind::kNull;  // if kind is kTrap
  CallPath calls;
};

// The size of a captured array along one of its dimensions.
struct KnownDimension {
  std::uint32_t array = 0;  // among the captured ones
  std::uint32_t dimension = 0;
  std::int64_t value = 0;
  bool operator==(const KnownDimension&) const = default;
};

inline constexpr std::int64_t kSmallIndices = std::int64_t{1} << 30;

// How much a kernel's code is worth. Results have the same bits but for mathematical functions, and the code the same
// sites.
enum class KernelTier : std::uint8_t {
  kOptimised,
  // Made in a few milliseconds: one iteration at a time, simplified once, with the registers of one block at a time.
  kBaseline,
};

struct KernelRequest {
  const bytecode::Module* module = nullptr;  // verified; must outlive the call
  std::uint32_t kernel = 0;                  // index in the module
  // Instructions that are known not to fail whenever this code is run: their checks are left out.
  std::set<CallPath> proven;
  // Sizes that arrays have whenever this code is run.
  std::vector<KnownDimension> dimensions = {};
  // Whenever this code is run, lengths and dimensions of arrays and indices of iterations are at least 0 and below
  // kSmallIndices: devices that have no registers of 64 bits then compute with half as many.
  bool has_small_indices = false;
  KernelTier tier = KernelTier::kOptimised;  // of the host's code
  // The host's code does at most so many iterations at once, a power of two: for loops of so few and long
  // iterations that each, or each lane of a reduction, is work for a thread. 0: as many as suit it.
  unsigned most_lanes = 0;
};

// Thread-safe.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  virtual KernelCode code() const = 0;
  // By KernelTrap::site.
  virtual const std::vector<KernelSite>& sites() const = 0;
  // The number of iterations done at once; 1 if the loop could not be vectorised, for the reason given.
  virtual unsigned width() const = 0;
  // The number of rows of the innermost dimension done together, because they read the same elements; a power of two.
  virtual unsigned rows() const = 0;
  // The number of operands of inner loops, along each lane's own row, that are transposed in blocks, not gathered.
  virtual unsigned staged_operands() const = 0;
  // The number of operands of inner loops that are packed for all rows, and the memory that each chunk wants for that.
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
  // The kernel that was compiled for such a request before, loaded from the cache; null if compile() has work to do.
  virtual std::unique_ptr<CompiledKernel> find(const KernelRequest& request) = 0;
};

// The shared library, the one function that it exports, and the number that tells whether library and caller
// were built from the same sources.
inline constexpr char kLibraryName[] = "libdhpvm_codegen.so";
inline constexpr char kCreateSymbol[] = "dhpvm_create_code_generator";
inline constexpr std::uint32_t kInterfaceVersion = 13;
using CreateCodeGenerator = void (*)(std::uint32_t version, const GeneratorOptions& options,
                                     Result<std::unique_ptr<CodeGenerator>>& result);

}  // namespace dhpvm::codegen
