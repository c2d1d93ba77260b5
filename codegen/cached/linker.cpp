// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/linker.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>

#include "base/error.h"
#include "codegen/cached/debugger.h"
#include "codegen/cached/object_file.h"
#include "codegen/cached/perf_map.h"
#include "codegen/cached/relocations.h"

namespace dhpvm::codegen {
namespace {

// Pages with the same protection, in the order in which they lie in memory.
enum Part : std::uint8_t { kCode, kConstants, kVariables, kParts };
constexpr int kProtection[kParts] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};

constexpr std::size_t kSlotBytes = 8;
constexpr std::size_t kNowhere = ~std::size_t{0};

constexpr std::size_t aligned(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) & ~(alignment - 1);
}

Part part_of(const Elf64_Shdr& section) {
  if ((section.sh_flags & SHF_EXECINSTR) != 0) return kCode;
  return (section.sh_flags & SHF_WRITE) != 0 ? kVariables : kConstants;
}

// Memory of the system, unmapped by the destructor unless it must stay.
class Pages {
 public:
  Pages() = default;
  ~Pages() {
    if (memory_ != nullptr && !stays_) ::munmap(memory_, size_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  bool map(std::size_t size) {
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = static_cast<std::byte*>(memory);
    size_ = size;
    return true;
  }
  std::byte* memory() const { return memory_; }
  void keep() { stays_ = true; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
  bool stays_ = false;
};

}  // namespace

class LoadedCode::State {
 public:
  explicit State(std::shared_ptr<SymbolTable> symbols) : symbols_(std::move(symbols)) {}

  void* address(std::string_view name) const {
    const auto found = addresses_.find(name);
    return found == addresses_.end() ? nullptr : found->second;
  }

  Pages pages;

  void add(std::string_view name, void* address) { addresses_.emplace(name, address); }

 private:
  const std::shared_ptr<SymbolTable> symbols_;
  std::map<std::string, void*, std::less<>> addresses_;
};

namespace {

// Puts one object file into memory.
class Loading {
 public:
  Loading(const ObjectFile& file, Pages& pages) : file_(file), pages_(pages) {}

  // By symbol: the addresses of those that the file does not define.
  Status run(std::vector<const void*> outside);

  // The address of a defined symbol.
  std::byte* address(const ObjectFile::Symbol& symbol) const {
    if (symbol.is_absolute()) return reinterpret_cast<std::byte*>(symbol.entry.st_value);
    return base(symbol.entry.st_shndx) + symbol.entry.st_value;
  }
  bool is_loaded(const ObjectFile::Symbol& symbol) const {
    return !symbol.is_undefined() && !symbol.is_absolute() && offsets_[symbol.entry.st_shndx] != kNowhere;
  }
  std::byte* base(std::size_t section) const { return pages_.memory() + offsets_[section]; }

 private:
  Status lay_out();
  void fill();
  Status apply(const ObjectFile::Relocation& relocation);
  Status protect() const;
  std::uint64_t target(std::size_t symbol) const;
  std::uint64_t slot(std::size_t symbol) const {
    return reinterpret_cast<std::uint64_t>(pages_.memory() + slots_ + slot_of_[symbol] * kSlotBytes);
  }
  std::uint64_t stub(std::size_t symbol) const {
    return reinterpret_cast<std::uint64_t>(pages_.memory() + stubs_ +
                                           slot_of_[symbol] * architecture_.stub_bytes);
  }

  const ObjectFile& file_;
  const Architecture& architecture_ = native_architecture();
  Pages& pages_;
  std::vector<const void*> outside_;
  std::vector<std::size_t> offsets_;  // by section
  std::vector<std::size_t> slot_of_;  // by symbol: its entry in the table of addresses
  std::size_t slot_count_ = 0, slots_ = 0, stubs_ = 0;
  std::array<std::size_t, kParts + 1> begins_ = {};
};

Status Loading::lay_out() {
  // Any outside function may be too far away for a direct call, so it gets a stub and a slot.
  slot_of_.assign(file_.symbols.size(), kNowhere);
  for (const ObjectFile::Relocation& relocation : file_.relocations) {
    const ObjectFile::Symbol& symbol = file_.symbols[relocation.symbol];
    if (!symbol.is_undefined() && !symbol.is_absolute() &&
        !file_.sections[symbol.entry.st_shndx].is_loaded()) {
      return error(ErrorCode::kInternal,
                   "linking native code: a relocation refers to '{}', which is not loaded", symbol.name);
    }
    std::size_t& slot = slot_of_[relocation.symbol];
    if (slot == kNowhere && (architecture_.takes_slot(relocation.type()) || symbol.is_undefined()))
      slot = slot_count_++;
  }
  offsets_.assign(file_.sections.size(), kNowhere);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t end = 0;
  for (std::size_t part = kCode; part < kParts; ++part) {
    begins_[part] = end = aligned(end, page);
    for (std::size_t i = 0; i < file_.sections.size(); ++i) {
      const ObjectFile::Section& section = file_.sections[i];
      if (!section.is_loaded() || part_of(section.header) != part) continue;
      offsets_[i] = end = aligned(end, std::max<std::size_t>(section.header.sh_addralign, 1));
      end += section.header.sh_size;
    }
    if (part == kCode) {
      stubs_ = end = aligned(end, architecture_.stub_bytes);
      end += slot_count_ * architecture_.stub_bytes;
    } else if (part == kConstants) {
      slots_ = end = aligned(end, kSlotBytes);
      end += slot_count_ * kSlotBytes;
    }
  }
  begins_[kParts] = aligned(end, page);
  if (begins_[kParts] == 0) return {};
  if (!pages_.map(begins_[kParts])) {
    return error(ErrorCode::kOutOfMemory, "linking native code: no memory for {} bytes of code",
                 begins_[kParts]);
  }
  return {};
}

std::uint64_t Loading::target(std::size_t symbol) const {
  const ObjectFile::Symbol& found = file_.symbols[symbol];
  return reinterpret_cast<std::uint64_t>(found.is_undefined() ? outside_[symbol] : address(found));
}

void Loading::fill() {
  for (std::size_t i = 0; i < file_.sections.size(); ++i) {
    const std::span<const std::byte> bytes = file_.sections[i].bytes;
    if (offsets_[i] != kNowhere && !bytes.empty()) std::memcpy(base(i), bytes.data(), bytes.size());
  }
  for (std::size_t symbol = 0; symbol < slot_of_.size(); ++symbol) {
    if (slot_of_[symbol] == kNowhere) continue;
    const std::uint64_t address = target(symbol);
    std::memcpy(reinterpret_cast<void*>(slot(symbol)), &address, sizeof address);
    architecture_.write_stub(reinterpret_cast<std::byte*>(stub(symbol)), stub(symbol), slot(symbol));
  }
}

Status Loading::apply(const ObjectFile::Relocation& relocation) {
  const ObjectFile::Symbol& symbol = file_.symbols[relocation.symbol];
  const auto broken = [&](std::string_view what) {
    return error(ErrorCode::kInternal, "linking native code: a relocation of type {} to '{}' {}",
                 relocation.type(), symbol.name, what);
  };
  const std::size_t width = architecture_.width(relocation.type());
  if (width == 0) return broken(problem_of(Fixed::kUnknown));
  const std::uint64_t size = file_.sections[relocation.section].header.sh_size;
  if (relocation.entry.r_offset > size || width > size - relocation.entry.r_offset ||
      file_.sections[relocation.section].bytes.empty()) {
    return broken("lies outside of its section");
  }
  std::byte* const place = base(relocation.section) + relocation.entry.r_offset;
  const bool has_slot = slot_of_[relocation.symbol] != kNowhere;
  const Fixed result =
      architecture_.fix(place, {.type = relocation.type(),
                                .place = reinterpret_cast<std::uint64_t>(place),
                                .symbol = target(relocation.symbol),
                                .addend = static_cast<std::uint64_t>(relocation.entry.r_addend),
                                .slot = has_slot ? slot(relocation.symbol) : 0,
                                .stub = has_slot && symbol.is_undefined() ? stub(relocation.symbol) : 0});
  return result == Fixed::kDone ? Status() : broken(problem_of(result));
}

Status Loading::protect() const {
  for (std::size_t part = kCode; part < kParts; ++part) {
    const std::size_t begin = begins_[part], size = begins_[part + 1] - begin;
    if (size == 0 || part == kVariables) continue;
    if (::mprotect(pages_.memory() + begin, size, kProtection[part]) != 0) {
      return error(ErrorCode::kOutOfMemory, "linking native code: pages cannot be made executable: {}",
                   std::strerror(errno));
    }
  }
  // For processors with incoherent instruction caches: generates no instruction for the others.
  __builtin___clear_cache(reinterpret_cast<char*>(pages_.memory()),
                          reinterpret_cast<char*>(pages_.memory() + begins_[kCode + 1]));
  return {};
}

Status Loading::run(std::vector<const void*> outside) {
  outside_ = std::move(outside);
  DHPVM_TRY(lay_out());
  fill();
  for (const ObjectFile::Relocation& relocation : file_.relocations) DHPVM_TRY(apply(relocation));
  return protect();
}

// The functions to report.
std::vector<LoadedFunction> functions_of(const ObjectFile& file, const Loading& loading) {
  std::vector<LoadedFunction> functions;
  for (const ObjectFile::Symbol& symbol : file.symbols) {
    if (symbol.type() != STT_FUNC || symbol.name.empty() || symbol.entry.st_size == 0 ||
        !loading.is_loaded(symbol))
      continue;
    functions.push_back({loading.address(symbol), symbol.entry.st_size, symbol.name});
  }
  return functions;
}

// The object file with the final addresses in its section headers.
std::vector<std::byte> placed(std::span<const std::byte> object, const ObjectFile& file,
                              const Loading& loading) {
  std::vector<std::byte> copy(object.begin(), object.end());
  Elf64_Ehdr header;
  std::memcpy(&header, copy.data(), sizeof header);
  for (std::size_t i = 0; i < file.sections.size(); ++i) {
    Elf64_Shdr section = file.sections[i].header;
    if (!file.sections[i].is_loaded()) continue;
    section.sh_addr = reinterpret_cast<std::uint64_t>(loading.base(i));
    std::memcpy(copy.data() + header.e_shoff + i * sizeof section, &section, sizeof section);
  }
  return copy;
}

}  // namespace

LoadedCode::LoadedCode(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoadedCode::~LoadedCode() = default;
LoadedCode::LoadedCode(LoadedCode&&) noexcept = default;
LoadedCode& LoadedCode::operator=(LoadedCode&&) noexcept = default;

void* LoadedCode::address(std::string_view name) const { return state_->address(name); }

Linker::Linker(std::shared_ptr<SymbolTable> symbols, const LinkerOptions& options)
    : symbols_(std::move(symbols)), options_(options) {}
Linker::~Linker() = default;

SymbolTable& Linker::symbols() { return *symbols_; }

Result<std::unique_ptr<Linker>> Linker::create(std::unique_ptr<SymbolTable> symbols,
                                               const LinkerOptions& options) {
  std::unique_ptr<Linker> linker(new Linker(std::move(symbols), options));
  if (options.profiler) {
    DHPVM_ASSIGN(LoadWatch told, perf_map());
    linker->watches_.push_back(std::move(told));
  }
  if (options.loaded) {
    linker->watches_.emplace_back([loaded = options.loaded](std::span<const LoadedFunction> functions) {
      for (const LoadedFunction& function : functions) loaded(function.begin, function.size, function.name);
    });
  }
  return linker;
}

Result<LoadedCode> Linker::load(std::span<const std::byte> object, std::span<const NamedAddress> symbols) {
  DHPVM_ASSIGN(const ObjectFile file, read_object_file(object));
  std::vector<const void*> outside(file.symbols.size());
  std::string missing;
  for (std::size_t i = 0; i < file.symbols.size(); ++i) {
    const std::string_view name = file.symbols[i].name;
    if (!file.symbols[i].is_undefined() || name.empty()) continue;
    const auto given = std::ranges::find(symbols, name, &NamedAddress::name);
    outside[i] = given != symbols.end() ? given->address : symbols_->find(name);
    if (outside[i] == nullptr) missing.append(missing.empty() ? "" : ", ").append(name);
  }
  if (!missing.empty()) {
    return error(ErrorCode::kLink, "compiled code calls what the runtime does not define: {}", missing);
  }
  auto code = std::make_unique<LoadedCode::State>(symbols_);
  Loading loading(file, code->pages);
  DHPVM_TRY(loading.run(std::move(outside)));
  for (const ObjectFile::Symbol& symbol : file.symbols) {
    if (symbol.binding() != STB_LOCAL && loading.is_loaded(symbol))
      code->add(symbol.name, loading.address(symbol));
  }
  const std::vector<LoadedFunction> functions =
      watches_.empty() ? std::vector<LoadedFunction>() : functions_of(file, loading);
  for (const LoadWatch& told : watches_) told(functions);
  if (options_.debugger) tell_debugger(placed(object, file, loading));
  if (options_.debugger || options_.profiler) code->pages.keep();
  return LoadedCode(std::move(code));
}

}  // namespace dhpvm::codegen
