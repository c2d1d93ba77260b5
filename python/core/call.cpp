// SPDX-License-Identifier: Apache-2.0
#include "python/core/call.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>

#include "python/core/callbacks.h"
#include "python/core/errors.h"
#include "python/core/interrupt.h"
#include "python/core/objects.h"
#include "python/core/progress.h"
#include "python/core/stable.h"

namespace nb = nanobind;

namespace dhpvm::python {
namespace {

// Values of most calls lie on the stack.
template <typename T, std::size_t kCount>
class SmallArray {
 public:
  explicit SmallArray(std::size_t count) {
    if (count > kCount) more_.reset(new T[count]);
  }
  T* data() { return more_ != nullptr ? more_.get() : few_; }
  T& operator[](std::size_t i) { return data()[i]; }

 private:
  T few_[kCount];
  std::unique_ptr<T[]> more_;
};

struct Extent {
  std::uintptr_t begin;
  std::uintptr_t end;
};

// The memory between the first and the last element. Sizes of the kinds are those of the buffer.
Extent extent_of(const dhpvm_array& array) {
  auto begin = reinterpret_cast<std::uintptr_t>(array.data);
  // The begin of the last number; the second of a complex number is another one.
  auto end = begin + 1 + (array.lanes - 1) * (array.kind == DHPVM_F32 ? sizeof(float) : sizeof(double));
  for (std::uint32_t i = 0; i < array.rank; ++i) {
    if (array.sizes[i] == 0) return {0, 0};
    const std::int64_t reach = (array.sizes[i] - 1) * array.strides[i];
    if (reach < 0) {
      begin += static_cast<std::uintptr_t>(reach);
    } else {
      end += static_cast<std::uintptr_t>(reach);
    }
  }
  return {begin, end};
}

bool overlap(const Extent& one, const Extent& other) {
  return one.begin < other.end && other.begin < one.end;
}

bool is_same_view(const dhpvm_array& one, const dhpvm_array& other) {
  return one.data == other.data && one.kind == other.kind && one.lanes == other.lanes &&
         one.rank == other.rank && std::equal(one.sizes, one.sizes + one.rank, other.sizes) &&
         std::equal(one.strides, one.strides + one.rank, other.strides);
}

void raise_shared(std::size_t one, std::size_t other) {
  PyErr_Format(PyExc_ValueError,
               "arguments %zu and %zu share memory, and the function writes to one of them: pass a copy",
               one + 1, other + 1);
}

}  // namespace

ProgramFunction::ProgramFunction(std::shared_ptr<Machine> machine, const std::string& name,
                                 const nb::list& parameters, const nb::dict& results,
                                 ArgumentLayout arguments)
    : machine_(std::move(machine)), arguments_(std::move(arguments)) {
  for (const nb::handle description : parameters) {
    parameters_.push_back(parameter_of(description));
    if (parameters_.back().kind == DHPVM_ARRAY) ++array_count_;
  }
  for (const nb::handle is_array : results["arrays"]) layout_.is_array.push_back(nb::cast<bool>(is_array));
  layout_.has_error = nb::cast<bool>(results["error"]);
  for (const nb::handle position : results["given"]) layout_.given.push_back(nb::cast<int>(position));
  layout_.shape = results["shape"];
  Failure failure;
  const auto lock = machine_->lock();
  failure.check(
      dhpvm_isolate_function(machine_->isolate(), name.c_str(), nullptr, &function_, failure.out()));
}

// One array that is passed twice is one array for the program, too. Views that share only a part of their memory are
// refused, unless the function writes to neither.
bool ProgramFunction::lend_shared(dhpvm_value* values, dhpvm_array* arrays,
                                  std::vector<dhpvm_object*>& lent) {
  SmallArray<Extent, 12> extents(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    extents[i] = values[i].kind == DHPVM_ARRAY ? extent_of(arrays[i]) : Extent{0, 0};
    if (values[i].kind != DHPVM_ARRAY) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (!overlap(extents[i], extents[j])) continue;
      if (arrays[i].access == DHPVM_READ && arrays[j].access == DHPVM_READ) continue;
      if (arguments_.is_one_record(i, j)) continue;
      if (!is_same_view(arrays[i], arrays[j])) {
        raise_shared(j, i);
        return false;
      }
      if (values[i].kind == DHPVM_OBJECT) {  // a third argument
        values[j] = values[i];
        continue;
      }
      if (values[j].kind == DHPVM_ARRAY) {
        arrays[j].access = arrays[i].access = std::max(arrays[i].access, arrays[j].access);
        Failure failure;
        dhpvm_object* object = nullptr;
        const dhpvm_code code =
            dhpvm_object_lend(machine_->isolate(), &arrays[j], nullptr, nullptr, &object, failure.out());
        if (code == DHPVM_UNSUPPORTED) {  // elements that do not lie densely
          raise_shared(j, i);
          return false;
        }
        if (code != DHPVM_OK) {
          failure.raise(code);
          return false;
        }
        lent.push_back(object);
        values[j].kind = DHPVM_OBJECT;
        values[j].of.object = object;
      }
      values[i] = values[j];
    }
  }
  return true;
}

dhpvm_code ProgramFunction::run(const dhpvm_value* values, dhpvm_value* results, dhpvm_error** error,
                                bool& was_interrupted) {
  const std::size_t result_count = layout_.is_array.size();
  forget_callback_exception();
  forget_progress_exception();
  follow_progress(*machine_);
  InterruptScope interrupts(machine_->isolate());
  const nb::gil_scoped_release release;
  dhpvm_code code = dhpvm_call(function_, values, parameters_.size(), results, result_count, error);
  was_interrupted = interrupts.leave();
  if (code == DHPVM_INTERRUPTED && machine_->has_stale_interrupt && !was_interrupted &&
      !has_progress_exception()) {
    // That of an earlier call: its exception has been raised there, and this one has not begun.
    dhpvm_error_free(*error);
    code = dhpvm_call(function_, values, parameters_.size(), results, result_count, error);
  }
  machine_->has_stale_interrupt = (was_interrupted || has_progress_exception()) && code != DHPVM_INTERRUPTED;
  return code;
}

nb::object ProgramFunction::result(const dhpvm_value* results, std::size_t i, const Given& given) {
  if (i < layout_.given.size() && layout_.given[i] >= 0) return nb::borrow(given.arguments[layout_.given[i]]);
  if (given.has_held && layout_.is_array[i]) return held_result(machine_, results[i]);
  return from_program(machine_, results[i], layout_.is_array[i]);
}

nb::object ProgramFunction::composed(nb::handle shape, const dhpvm_value* results, std::size_t& next,
                                     const Given& given) {
  if (nb::isinstance<nb::list>(shape)) {
    nb::list items;
    for (const nb::handle item : shape) items.append(composed(item, results, next, given));
    return nb::tuple(items);
  }
  if (nb::isinstance<nb::tuple>(shape)) return built(shape, results, next, given);
  nb::object value = result(results, next++, given);
  if (!nb::cast<bool>(shape)) return value;
  const auto imaginary = nb::cast<double>(result(results, next++, given));
  return nb::steal(PyComplex_FromDoubles(nb::cast<double>(value), imaginary));
}

nb::object ProgramFunction::built(nb::handle shape, const dhpvm_value* results, std::size_t& next,
                                  const Given& given) {
  const nb::object how = shape[0];
  if (nb::cast<std::string>(how) == "optional") {
    const bool is_there = nb::cast<bool>(result(results, next++, given));
    const nb::object value = composed(nb::object(shape[1]), results, next, given);
    return is_there ? value : nb::none();
  }
  if (nb::cast<std::string>(how) == "named") {
    const nb::object values = composed(nb::object(shape[2]), results, next, given);
    return nb::module_::import_("dhpvm.results").attr("named")(shape[1], values);
  }
  nb::list arrays;
  for (std::size_t left = nb::cast<std::size_t>(shape[1]); left > 0; --left)
    arrays.append(from_program(machine_, results[next++], true));
  return nb::module_::import_("dhpvm.results").attr(how)(*arrays);
}

PyObject* ProgramFunction::take(const dhpvm_value* results, const Given& given) {
  const std::size_t count = layout_.is_array.size();
  std::size_t first = 0;
  if (!layout_.shape.is_none()) return composed(layout_.shape, results, first, given).release().ptr();
  if (layout_.has_error) {
    if (results[0].kind != DHPVM_NULL) {
      const nb::object error = from_program(machine_, results[0], false);
      for (std::size_t i = 1; i < count; ++i) (void)from_program(machine_, results[i], layout_.is_array[i]);
      const nb::object exception = nb::module_::import_("dhpvm.errors").attr("program_error")(error);
      PyErr_SetObject(exception.type().ptr(), exception.ptr());
      return nullptr;
    }
    first = 1;
  }
  if (first == count) return nb::none().release().ptr();
  if (first + 1 == count) return result(results, first, given).release().ptr();
  nb::list list;
  for (std::size_t i = first; i < count; ++i) list.append(result(results, i, given));
  return nb::tuple(list).release().ptr();
}

ProgramFunction::Outcome ProgramFunction::call(PyObject* const* arguments, std::size_t count, Fit fit) {
  if (arguments_.is_plain()) return call_expanded(arguments, count, fit, arguments);
  std::vector<nb::object> parameters;
  if (!arguments_.expand(arguments, count, parameters)) return {nullptr, PyErr_Occurred() == nullptr};
  std::vector<PyObject*> objects;
  for (const nb::object& parameter : parameters) objects.push_back(parameter.ptr());
  return call_expanded(objects.data(), objects.size(), fit, arguments);
}

ProgramFunction::Outcome ProgramFunction::call_expanded(PyObject* const* arguments, std::size_t count,
                                                        Fit fit, PyObject* const* given) {
  if (count != parameters_.size()) {
    if (fit == Fit::kExact) return {nullptr, true};
    PyErr_Format(PyExc_TypeError, "the function takes %zu arguments, and %zu were given", parameters_.size(),
                 count);
    return {};
  }
  SmallArray<dhpvm_value, 12> values(count);
  SmallArray<dhpvm_array, 8> arrays(array_count_ <= 8 && count <= 8 ? 0 : count);
  Buffers buffers;
  for (std::size_t i = 0; i < count; ++i) {
    values[i].reserved = 0;
    const Conversion done = convert(arguments[i], parameters_[i], fit, buffers, arrays[i], values[i]);
    if (done == Conversion::kDone) continue;
    if (done == Conversion::kFailed) return {};
    if (fit == Fit::kExact) return {nullptr, true};
    raise_mismatch(arguments[i], parameters_[i], i);
    return {};
  }
  // Elements move once it is certain that this is the version for them.
  std::vector<nb::object> held;
  for (std::size_t i = 0; i < count; ++i) {
    if (parameters_[i].kind != DHPVM_ARRAY || !is_held(arguments[i])) continue;
    held.push_back(place_of_held(machine_, arguments[i]));
    values[i].of.object = object_of_place(held.back());
  }
  SmallArray<dhpvm_value, 4> results(layout_.is_array.size());
  std::vector<dhpvm_object*> lent;
  Failure failure;
  bool was_interrupted = false;
  const auto lock = machine_->lock();
  dhpvm_code code = DHPVM_OK;
  const bool is_ready = array_count_ < 2 || lend_shared(values.data(), arrays.data(), lent);
  if (is_ready) code = run(values.data(), results.data(), failure.out(), was_interrupted);
  for (dhpvm_object* const object : lent) dhpvm_object_free(object);
  if (!is_ready || restore_progress_exception() || (was_interrupted && PyErr_CheckSignals() != 0)) return {};
  if (code != DHPVM_OK) {
    if (!restore_callback_exception(failure)) failure.raise(code);
    return {};
  }
  return {take(results.data(), {given, !held.empty()})};
}

namespace {

bool has_keywords(PyObject* keywords) { return keywords != nullptr && PyDict_Size(keywords) != 0; }

// Turns exceptions of C++ into Python's at the border that nanobind does not guard.
template <typename F>
PyObject* guard(F&& body) {
  try {
    return body();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* call_function(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guard([&]() -> PyObject* {
    if (has_keywords(keywords)) {
      PyErr_SetString(PyExc_TypeError, "functions of programs take no keyword arguments");
      return nullptr;
    }
    TupleItems items(arguments);
    return nb::inst_ptr<ProgramFunction>(self)->call(items.data(), items.size(), Fit::kConvert).result;
  });
}

PyType_Slot function_slots[] = {{Py_tp_call, reinterpret_cast<void*>(&call_function)}, {0, nullptr}};

// The engine that Dispatchers use now: an object of Python that they compare by identity.
PyObject* current_engine = nullptr;

// The versions of one function of Python, each for one combination of types. A subclass has specialise(arguments),
// which returns a new Function, and bind(arguments, keywords), which returns the tuple of all arguments.
class Dispatcher {
 public:
  explicit Dispatcher(std::size_t parameter_count) : parameter_count_(parameter_count) {}
  ~Dispatcher() { clear(); }
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  PyObject* call(PyObject* self, PyObject* arguments, PyObject* keywords) {
    if (has_keywords(keywords) || static_cast<std::size_t>(PyTuple_Size(arguments)) != parameter_count_) {
      const nb::object all = nb::handle(self).attr("_bind")(
          nb::handle(arguments), keywords == nullptr ? nb::object(nb::dict()) : nb::borrow(keywords));
      return dispatch(self, all.ptr());
    }
    return dispatch(self, arguments);
  }
  void clear() { versions_.clear(); }
  void forget(nb::handle engine) {
    std::erase_if(versions_, [&](const Version& version) { return version.engine.is(engine); });
  }

 private:
  // `arguments` is the tuple of all of them.
  PyObject* dispatch(PyObject* self, PyObject* arguments) {
    TupleItems items(arguments);
    for (std::size_t i = 0; i < versions_.size(); ++i) {
      // Held for the call, which may compile or clear versions.
      const nb::object engine = versions_[i].engine;
      const nb::object function = versions_[i].function;
      if (engine.ptr() != current_engine) continue;
      const auto outcome =
          nb::inst_ptr<ProgramFunction>(function)->call(items.data(), items.size(), Fit::kExact);
      if (!outcome.is_mismatch) return outcome.result;
    }
    const nb::object made = nb::handle(self).attr("_specialise")(nb::handle(arguments));
    if (!nb::isinstance<ProgramFunction>(made)) return nb::object(made).release().ptr();
    versions_.push_back({nb::borrow(current_engine), made});
    const auto outcome = nb::inst_ptr<ProgramFunction>(made)->call(items.data(), items.size(), Fit::kExact);
    if (outcome.is_mismatch)
      PyErr_SetString(PyExc_SystemError,
                      "a version of a function does not take the arguments it was made for");
    return outcome.result;
  }

  struct Version {
    nb::object engine;
    nb::object function;
  };
  std::vector<Version> versions_;
  std::size_t parameter_count_;
};

PyObject* call_dispatcher(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guard([&] { return nb::inst_ptr<Dispatcher>(self)->call(self, arguments, keywords); });
}

PyType_Slot dispatcher_slots[] = {{Py_tp_call, reinterpret_cast<void*>(&call_dispatcher)}, {0, nullptr}};

}  // namespace

void bind_calls(nb::module_& module) {
  nb::class_<ProgramFunction>(module, "Function", nb::type_slots(function_slots))
      .def(nb::init<std::shared_ptr<Machine>, const std::string&, const nb::list&, const nb::dict&>())
      .def("__init__", [](ProgramFunction* place, std::shared_ptr<Machine> machine, const std::string& name,
                          const nb::list& parameters, const nb::dict& results, const nb::list& arguments,
                          const nb::list& captured) {
        new (place) ProgramFunction(std::move(machine), name, parameters, results, {arguments, captured});
      });
  nb::class_<Dispatcher>(module, "Dispatcher", nb::type_slots(dispatcher_slots), nb::dynamic_attr(),
                         nb::is_weak_referenceable())
      .def(nb::init<std::size_t>())
      .def("_forget_versions", &Dispatcher::forget);
  module.def(
      "set_current_engine",
      [](nb::object engine) {
        Py_XDECREF(current_engine);
        current_engine = engine.release().ptr();
      },
      nb::arg("engine").none());
}

}  // namespace dhpvm::python
