// SPDX-License-Identifier: Apache-2.0
// The part of Python that the compiled part uses and that the stable ABI of Python 3.10 does not declare: one wheel is
// for all Pythons from 3.10 on.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>
#include <vector>

#if defined(Py_LIMITED_API) && Py_LIMITED_API < 0x030b0000
// The buffer protocol, which is a part of the stable ABI from 3.11 on. These are its declarations there; 3.10 has the
// same ones outside of it.
extern "C" {
struct Py_buffer {
  void* buf;
  PyObject* obj;
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char* format;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  Py_ssize_t* suboffsets;
  void* internal;
};
PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject* object);
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject* object, Py_buffer* view, int flags);
PyAPI_FUNC(int) PyBuffer_ToContiguous(void* to, const Py_buffer* view, Py_ssize_t size, char order);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer* view);
}
constexpr int PyBUF_WRITABLE = 0x1;
constexpr int PyBUF_RECORDS_RO = 0x1c;  // with strides and format
#ifndef Py_bf_getbuffer
#define Py_bf_getbuffer 1  // of the slots of a type
#endif
#endif

#ifdef Py_LIMITED_API
extern "C" PyAPI_FUNC(int)
    PyGILState_Check();  // exported by each version, and declared outside of the stable ABI
#endif

namespace dhpvm::python {

// The name of an object's type, without its module.
inline std::string name_of_type(PyObject* object) {
  const nanobind::handle type(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  return nanobind::cast<std::string>(type.attr("__name__"));
}

// The items of a tuple, borrowed.
class TupleItems {
 public:
  explicit TupleItems(PyObject* tuple) : count_(static_cast<std::size_t>(PyTuple_Size(tuple))) {
    if (count_ > kFew) more_.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) items()[i] = PyTuple_GetItem(tuple, static_cast<Py_ssize_t>(i));
  }
  PyObject* const* data() { return items(); }
  std::size_t size() const { return count_; }

 private:
  static constexpr std::size_t kFew = 12;  // as many values of a call lie on the stack
  PyObject** items() { return more_.empty() ? few_ : more_.data(); }

  std::size_t count_;
  PyObject* few_[kFew];
  std::vector<PyObject*> more_;
};

}  // namespace dhpvm::python
