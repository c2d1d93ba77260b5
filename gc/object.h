// SPDX-License-Identifier: Apache-2.0
// The layout of heap objects, shared by the collector, the interpreter and the native code generator.
//
// Every object starts with an 8-byte header. Objects never move, so interior pointers stay valid as long as
// the object is alive. All sizes are in bytes unless a name says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dhpvm::gc {

using TypeId = std::uint32_t;  // an index into the isolate's table of TypeInfo

enum HeaderFlag : std::uint8_t {
  kUnlogged = 1 << 0,    // old, and not in the remembered set: the write barrier must log it
  kLarge = 1 << 1,       // lives in the large-object space
  kHasCleaner = 1 << 2,  // a native cleaner runs after its death
  kImmortal = 1 << 3,    // never collected, never traced (string constants)
  kBorrowed = 1 << 4,    // an array whose elements belong to the host; `data` is null when the loan has ended
};

struct Header {
  TypeId type;
  // Size in granules of 8 bytes in the low 24 bits (0 for large objects), HeaderFlag bits in the top 8.
  std::uint32_t size_and_flags;

  static constexpr unsigned kFlagShift = 24;
  std::uint32_t granules() const { return size_and_flags & ((1u << kFlagShift) - 1); }
  bool has(HeaderFlag flag) const { return ((size_and_flags >> kFlagShift) & flag) != 0; }
  void set(HeaderFlag flag) { size_and_flags |= static_cast<std::uint32_t>(flag) << kFlagShift; }
  void clear(HeaderFlag flag) { size_and_flags &= ~(static_cast<std::uint32_t>(flag) << kFlagShift); }
};
static_assert(sizeof(Header) == 8);

// Any heap object. A reference is an Object* or null.
struct Object {
  Header header;
};
using Ref = Object*;

// A class instance: the header, then all references (8 bytes each), then the primitive fields in decreasing
// order of size. The references come first so that tracing is a loop over a contiguous range.

// An immutable string of UTF-8 bytes; `size` bytes follow, without a terminator.
struct String {
  Header header;
  std::uint32_t size;
  std::uint32_t hash;  // 0 until it is first asked for
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  char* bytes() { return reinterpret_cast<char*>(this + 1); }
  std::string_view view() const { return {bytes(), size}; }
};
static_assert(sizeof(String) == 16);

// An array of rank 1 to 3, row-major. Small arrays and all arrays that hold references keep their elements
// behind the handle (or, for large ones, in the same large object); primitive arrays of kOffHeapThreshold
// bytes or more keep them in an off-heap buffer, and so do smaller ones that a worker has use for. Either way
// `data` points at them, so that code that reads an element never needs to know.
//
// `readable` and `writable` are the numbers of elements that the host may access right now: equal to `length`
// unless a device holds the newer copy, the array was closed, or a host's borrow has ended. An index at or
// above them (compared unsigned) leads to a slow path that decides between "fetch and retry" and a trap.
struct Array {
  Header header;
  std::byte* data;
  std::int64_t readable;
  std::int64_t writable;
  std::int64_t length;  // product of all dimensions
  void* buffer;         // control block of the off-heap buffer; null for arrays in the heap
};
static_assert(sizeof(Array) == 48);

// Rank 2 and 3: the sizes of the inner dimensions follow the handle. The outer one is length / (inner
// product), stored as well so that an empty inner dimension keeps its outer size.
struct MultiArray {
  Array array;
  std::int64_t dims[3];  // dims[0] is the outermost; dims[2] is 1 for rank 2
  std::int64_t padding;  // keeps the elements of large arrays 16-byte aligned
};
static_assert(sizeof(MultiArray) == 80);

constexpr std::size_t kOffHeapThreshold = 64 * 1024;

// A reference that does not keep its target alive; the collector sets it to null when the target dies.
struct Weak {
  Header header;
  Ref target;
};

// An opaque handle that a native function gives to the program, such as an open file. The pointer
// is freed by the object's cleaner, or earlier by an explicit close.
struct Resource {
  Header header;
  void* pointer;  // null once closed
};

enum class Shape : std::uint8_t {
  kInstance,  // `references` references right behind the header, then primitives
  kArray,     // Array or MultiArray with primitive elements: nothing to trace
  kRefArray,  // Array or MultiArray whose elements hold references at `element_references`
  kString,
  kWeak,
  kResource,
};

// A type as the collector sees it. Owned by the isolate; outlives the heap's objects.
struct TypeInfo {
  Shape shape = Shape::kInstance;
  std::uint32_t size = 8;  // of the whole object for kInstance, kWeak, kResource; of the handle for arrays
  std::uint32_t references = 0;                       // kInstance: how many references follow the header
  std::uint32_t element_size = 0;                     // arrays: stride
  const std::uint16_t* element_references = nullptr;  // kRefArray: offsets of the references in an element
  std::uint32_t element_reference_count = 0;
  const char* name = "";  // for the census of an out-of-memory error; shown to users
};

}  // namespace dhpvm::gc
