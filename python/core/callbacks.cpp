// SPDX-License-Identifier: Apache-2.0
#include "python/core/callbacks.h"

#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "python/core/arguments.h"
#include "python/core/objects.h"

namespace nb = nanobind;

namespace dhpvm::python {
namespace {

PyObject* array_maker = nullptr;

struct Callback {
  nb::object callable;
  std::vector<Parameter> results;
};

// Memory that the results of a callback point to. The library copies it when the callback has returned.
struct ResultMemory {
  explicit ResultMemory(std::size_t count) : arrays(count) {}
  nb::object returned;
  Buffers buffers;
  std::vector<dhpvm_array> arrays;
};

// This thread's; its next callback or call, which has the interpreter lock, frees both.
thread_local ResultMemory* last_results = nullptr;
thread_local PyObject* raised = nullptr;
thread_local std::string* raised_message = nullptr;

std::size_t bytes_of(const dhpvm_array& array) {
  constexpr std::size_t kElementBytes[] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
  std::size_t bytes = kElementBytes[array.kind];
  for (std::uint32_t i = 0; i < array.rank; ++i) bytes *= static_cast<std::size_t>(array.sizes[i]);
  return bytes;
}

// The arguments of one call. Arrays are copies, which the callable may keep; what it writes is copied back.
class CallbackArguments {
 public:
  explicit CallbackArguments(const dhpvm_host_call& call) : call_(call), copies_(call.argument_count) {
    for (std::size_t i = 0; i < call.argument_count; ++i) {
      const dhpvm_value& value = call.arguments[i];
      list_.append(value.kind == DHPVM_ARRAY ? copy(*value.of.array, copies_[i])
                                             : from_program(nullptr, value, false));
    }
  }
  nb::tuple tuple() const { return nb::tuple(list_); }
  void copy_back() {
    for (std::size_t i = 0; i < call_.argument_count; ++i) {
      if (!copies_[i] || call_.arguments[i].of.array->access == DHPVM_READ) continue;
      const dhpvm_array& array = *call_.arguments[i].of.array;
      if (const std::size_t bytes = bytes_of(array); bytes != 0)
        std::memcpy(array.data, PyByteArray_AsString(copies_[i].ptr()), bytes);
    }
  }

 private:
  static nb::object copy(const dhpvm_array& array, nb::object& bytes) {
    bytes = nb::steal(PyByteArray_FromStringAndSize(static_cast<const char*>(array.data),
                                                    static_cast<Py_ssize_t>(bytes_of(array))));
    if (!bytes) throw nb::python_error();
    nb::list shape;
    for (std::uint32_t i = 0; i < array.rank; ++i) shape.append(array.sizes[i]);
    return nb::handle(array_maker)(bytes, array.kind, nb::tuple(shape), array.access == DHPVM_READ);
  }

  const dhpvm_host_call& call_;
  nb::list list_;
  std::vector<nb::object> copies_;
};

void put_results(const Callback& callback, const nb::object& returned, const dhpvm_host_call& call) {
  const std::size_t count = callback.results.size();
  delete std::exchange(last_results, nullptr);
  if (count == 0) return;
  last_results = new ResultMemory(count);
  last_results->returned =
      count == 1 ? nb::object(nb::make_tuple(returned)) : nb::object(nb::tuple(returned));
  if (nb::len(last_results->returned) != count) {
    PyErr_Format(PyExc_TypeError, "a host function returned %zu values in place of %zu",
                 nb::len(last_results->returned), count);
    throw nb::python_error();
  }
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* const item = PyTuple_GetItem(last_results->returned.ptr(), static_cast<Py_ssize_t>(i));
    const Conversion done = convert(item, callback.results[i], Fit::kConvert, last_results->buffers,
                                    last_results->arrays[i], call.results[i]);
    if (done == Conversion::kMismatch)
      PyErr_Format(PyExc_TypeError, "result %zu of a host function should be %s, and is of type %s", i + 1,
                   callback.results[i].type.c_str(), name_of_type(item).c_str());
    if (done != Conversion::kDone) throw nb::python_error();
  }
}

// Keeps the exception for the call that it ends.
dhpvm_code fail(dhpvm_host_call* call, nb::python_error& error) {
  forget_callback_exception();
  const nb::object text = nb::steal(PyObject_Str(error.value().ptr()));
  if (!text) PyErr_Clear();
  const char* const message = text ? PyUnicode_AsUTF8AndSize(text.ptr(), nullptr) : nullptr;
  if (message == nullptr) PyErr_Clear();
  raised_message = new std::string(name_of_type(error.value().ptr()));
  raised_message->append(": ").append(message != nullptr ? message : "its text cannot be made");
  raised = nb::borrow(error.value()).release().ptr();
  if (const nb::object traceback = error.traceback(); traceback.is_valid())
    PyException_SetTraceback(raised, traceback.ptr());
  // The code of no trap: the message goes on into the error that a program gets whose declaration says `str!`.
  return dhpvm_host_fail(call, DHPVM_INVALID_ARGUMENT, raised_message->c_str());
}

dhpvm_code call_back(dhpvm_host_call* call) {
  if (Py_IsInitialized() == 0) return dhpvm_host_fail(call, DHPVM_USER_TRAP, "Python has ended");
  const nb::gil_scoped_acquire lock;
  const auto& callback = *static_cast<const Callback*>(call->user);
  try {
    CallbackArguments arguments(*call);
    const nb::object returned =
        nb::steal(PyObject_CallObject(callback.callable.ptr(), arguments.tuple().ptr()));
    if (!returned) throw nb::python_error();
    arguments.copy_back();
    put_results(callback, returned, *call);
    return DHPVM_OK;
  } catch (nb::python_error& error) {
    return fail(call, error);
  }
}

void release(void* user) {
  if (Py_IsInitialized() == 0) return;  // Python's objects are gone
  const nb::gil_scoped_acquire lock;
  delete static_cast<Callback*>(user);
}

}  // namespace

void define_callback(dhpvm_engine* engine, const std::string& name, const std::string& signature,
                     nb::object callable, const nb::list& results) {
  auto callback = std::make_unique<Callback>();
  callback->callable = std::move(callable);
  for (const nb::handle description : results) callback->results.push_back(parameter_of(description));
  Failure failure;
  failure.check(dhpvm_engine_define(engine, name.c_str(), signature.c_str(), &call_back, callback.get(),
                                    &release, failure.out()));
  (void)callback.release();  // the engine has it
}

void set_callback_array_maker(nb::object maker) {
  Py_XDECREF(array_maker);
  array_maker = maker.release().ptr();
}

void forget_callback_exception() {
  Py_CLEAR(raised);
  delete std::exchange(raised_message, nullptr);
}

bool restore_callback_exception(const Failure& failure) {
  // A program may have gone on behind the exception, and have failed for another reason.
  if (raised == nullptr || std::string_view(failure.text()).find(*raised_message) == std::string_view::npos)
    return false;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised)), raised);
  forget_callback_exception();
  return true;
}

}  // namespace dhpvm::python
