// SPDX-License-Identifier: Apache-2.0
// Python's values as values of programs.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <string>

#include "python/core/machine.h"
#include "python/core/stable.h"

namespace dhpvm::python {

// The exactness with which an argument has to be of its parameter's type.
enum class Fit : std::uint8_t {
  kConvert,  // what can be converted without loss is
  kExact     // no conversion: a compiled function has one version for each combination of types
};

// The use that a function makes of an array.
enum class ArrayUse : std::uint8_t {
  kUnsaid,   // a program in the language does not say: writing to a read-only array traps
  kWritten,  // a read-only array is refused
  kRead
};

// A parameter, as python/dhpvm/signature.py describes it.
struct Parameter {
  dhpvm_kind kind = DHPVM_NULL;
  dhpvm_kind element = DHPVM_NULL;  // of arrays
  std::uint32_t lanes = 1;          // numbers in an element: 2 of complex numbers
  std::uint32_t rank = 0;
  ArrayUse use = ArrayUse::kUnsaid;
  bool is_python =
      false;         // numbers: with Fit::kExact Python's own int, float or bool, else a scalar of NumPy
  std::string type;  // as the language writes it
  // For arrays: the dtype of the last one that was passed. Arrays of this dtype are read without a buffer view.
  mutable nanobind::object dtype;
};

// From the tuple that python/dhpvm/signature.py makes of it.
Parameter parameter_of(const nanobind::handle& description);

// Views of the buffers that the arguments of one call own.
class Buffers {
 public:
  Buffers() = default;
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  static constexpr std::size_t kMaximum = 32;
  bool is_full() const { return count_ == kMaximum; }
  // Null with Python's exception set if the object has no buffer.
  Py_buffer* open(PyObject* object, int flags);
  void close_last();

 private:
  std::array<Py_buffer, kMaximum> views_;
  std::size_t count_ = 0;
};

// The outcome of converting an argument.
enum class Conversion : std::uint8_t {
  kDone,
  kMismatch,  // of another type; no exception is set
  kFailed     // of the right type and not usable: an exception is set
};

// `array` is where the description of an array goes, which has to outlive the call.
Conversion convert(PyObject* object, const Parameter& parameter, Fit fit, Buffers& buffers,
                   dhpvm_array& array, dhpvm_value& value);
// `maker(list, kind, rank)` returns an object with a buffer that holds a copy of the numbers in a list or tuple.
void set_list_maker(nanobind::object maker);
// `maker(tensor)` returns an object with a buffer over the memory of an object that has __dlpack__.
void set_tensor_maker(nanobind::object maker);
// Sets a TypeError that names the argument and says what it should be.
void raise_mismatch(PyObject* object, const Parameter& parameter, std::size_t index);

}  // namespace dhpvm::python
