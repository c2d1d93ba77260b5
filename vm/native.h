// SPDX-License-Identifier: Apache-2.0
// Native functions: the binary interface by which the virtual machine calls C++, and their registry.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bytecode/module.h"
#include "dhpvm/result.h"
#include "gc/object.h"

namespace dhpvm::vm {

class Isolate;

// The argument windows of one call. Parameters stand in p[0..] and r[0..] as Signature says: primitives and references
// each in order. A value narrower than 64 bits stands in the low bits, with unspecified bits above: read it with a
// cast. bool is 0 or 1. The function writes its results to p[0..] and r[0..] in the same way, zero-extended.
//
// `r` is part of the root set: a reference stays alive as long as it stands there. A native that allocates
// must keep its references in `r`, or in a gc root, across the allocation.
struct NativeCall {
  Isolate& isolate;
  std::uint64_t* p;
  gc::Ref* r;
};

// The codes of a failure that a program imports as a value: see bytecode::kFallibleImport. The module `errors` of the
// standard library knows these numbers.
enum class FailureCode : std::int64_t { kInputOutput = 0, kNotFound = 1, kHost = 2, kDenied = 3 };

// An error becomes a trap of the calling program, with a stack trace. Must not throw.
using NativeFunction = std::function<Status(NativeCall&)>;

// The fast path of a native, tried before the function itself: a call that does not leave and enter the machine. It
// takes well under a microsecond for all arguments; it never fails, collects or calls the program, so an object comes
// from open memory (Heap::allocate_short_string) or not at all. Returns false, with the windows unchanged, if it cannot
// handle the call: then the function is called. Parameters may be null here.
using NativeFastPath = bool (*)(NativeCall&);

// Native functions by import name ("io.write_text"). Filled before modules are linked; read-only after that,
// and then safe to share between threads.
class NativeRegistry {
 public:
  // `signature` in the syntax of the language: "(str, i64) -> [u8]", "() -> f64", "(resource, [u8, 2],
  // str?)"; several results as "-> (i64, str)". It may name numbers, bool, str, resource and arrays of them, arrays of
  // structs of numbers of one kind as "[(f64, f64)]", and `object`, which is any reference. A parameter without `?` is
  // never null when the function is called: the machine traps before; except an object, which may be null. Results may
  // be null either way; the machine traps if an object among them is not of the type that the program expects. A later
  // definition of a name replaces the earlier one. kInvalidArgument when the signature does not parse.
  Status define(std::string name, std::string_view signature, NativeFunction function,
                NativeFastPath fast_path = nullptr);

  struct Entry {
    std::string signature;                // normalised, as in error messages
    std::vector<std::string> parameters;  // the parts of it
    std::vector<std::string> results;
    NativeFunction function;
    NativeFastPath fast_path = nullptr;
    std::vector<bool> nullable;  // one per reference parameter: written with `?`
  };
  const Entry* find(std::string_view name) const;

 private:
  std::unordered_map<std::string, Entry> entries_;
};

// The word for any reference in signatures of a NativeRegistry.
inline constexpr std::string_view kAnyReference = "object";

// The normalised text of one type, as below.
std::string type_text(const bytecode::Module& module, const bytecode::ValueType& type);

// "[(f64, f64)]" for an array of structs whose fields are numbers of one kind; empty for other types.
std::string number_array_text(const bytecode::Module& module, const bytecode::ValueType& type);

// The normalised text of `signature`, as NativeRegistry compares it: "(str, i64) -> [u8]". A type that natives cannot
// name gets a text that matches no definition: `class "Node"`.
std::string signature_text(const bytecode::Module& module, const bytecode::Signature& signature);

}  // namespace dhpvm::vm
