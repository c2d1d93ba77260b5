// SPDX-License-Identifier: Apache-2.0
#include "python/core/objects.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "python/core/arguments.h"
#include "python/core/errors.h"

namespace nb = nanobind;

namespace dhpvm::python {
namespace {

// By kind, from DHPVM_BOOL on.
constexpr const char* kFormats[] = {"?", "b", "B", "h", "H", "i", "I", "q", "Q", "f", "d"};
constexpr Py_ssize_t kSizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

// Whether the buffer protocol has a format for the elements: that of programs' structs differs, except complex numbers.
bool has_format(const dhpvm_array& array) {
  return array.lanes == 1 || (array.lanes == 2 && (array.kind == DHPVM_F32 || array.kind == DHPVM_F64));
}

PyObject* array_maker = nullptr;
PyObject* held_maker = nullptr;
PyObject* held_type = nullptr;
PyObject* object_type = nullptr;

// An array in a program's memory, seen through the buffer protocol. The tensor keeps the array alive, and may be
// given back from any thread.
class ProgramArray {
 public:
  ProgramArray(std::shared_ptr<Machine> machine, dhpvm_object* object, dhpvm_access access = DHPVM_READ_WRITE)
      : machine_(std::move(machine)), is_read_only_(access == DHPVM_READ) {
    Failure failure;
    dhpvm_array array{};
    array.size = sizeof array;
    dhpvm_code code = dhpvm_object_array(object, access, &array, failure.out());
    if (code == DHPVM_OK) code = dhpvm_object_to_dlpack(object, &tensor_, failure.out());
    dhpvm_object_free(object);
    failure.check(code);
    data_ = array.data;
    kind_ = array.kind;
    lanes_ = static_cast<int>(array.lanes);
    rank_ = static_cast<int>(array.rank);
    for (int i = 0; i < rank_; ++i) {
      sizes_[i] = static_cast<Py_ssize_t>(array.sizes[i]);
      strides_[i] = static_cast<Py_ssize_t>(array.strides[i]);
    }
  }
  ~ProgramArray();
  ProgramArray(const ProgramArray&) = delete;
  ProgramArray& operator=(const ProgramArray&) = delete;

  void describe(Py_buffer& view) {
    view.buf = data_;
    view.itemsize = kSizes[kind_ - DHPVM_BOOL] * lanes_;
    view.len = view.itemsize;
    for (int i = 0; i < rank_; ++i) view.len *= sizes_[i];
    view.readonly = is_read_only_ ? 1 : 0;
    view.ndim = rank_;
    view.format = const_cast<char*>(format());
    view.shape = sizes_;
    view.strides = strides_;
    view.suboffsets = nullptr;
    view.internal = nullptr;
  }

 private:
  // Two lanes of a floating-point type are a complex number.
  const char* format() const {
    if (lanes_ == 2) return kind_ == DHPVM_F32 ? "Zf" : "Zd";
    return kFormats[kind_ - DHPVM_BOOL];
  }

  std::shared_ptr<Machine> machine_;
  struct DLManagedTensorVersioned* tensor_ = nullptr;
  void* data_ = nullptr;
  dhpvm_kind kind_ = DHPVM_NULL;
  int lanes_ = 1;
  int rank_ = 0;
  bool is_read_only_;
  Py_ssize_t sizes_[DHPVM_MAXIMUM_RANK] = {};
  Py_ssize_t strides_[DHPVM_MAXIMUM_RANK] = {};
};

// The head of DLPack's DLManagedTensorVersioned, whose order is fixed by that standard.
struct TensorHead {
  std::uint32_t version[2];
  void* context;
  void (*deleter)(struct DLManagedTensorVersioned*);
};

ProgramArray::~ProgramArray() {
  if (tensor_ != nullptr && machine_->is_usable()) reinterpret_cast<TensorHead*>(tensor_)->deleter(tensor_);
}

int get_buffer(PyObject* exporter, Py_buffer* view, int /*flags*/) {
  nb::inst_ptr<ProgramArray>(exporter)->describe(*view);
  Py_INCREF(exporter);
  view->obj = exporter;
  return 0;
}

// An array of a program whose newest elements may lie on a device: they are fetched when somebody looks at them.
class ArrayPlace {
 public:
  ArrayPlace(std::shared_ptr<Machine> machine, dhpvm_object* object)
      : machine_(std::move(machine)), object_(object) {}
  // A new one, zeroed.
  ArrayPlace(std::shared_ptr<Machine> machine, dhpvm_kind kind, std::uint32_t lanes,
             const std::vector<std::int64_t>& sizes)
      : machine_(std::move(machine)), object_(nullptr) {
    dhpvm_array described{};
    described.size = sizeof described;
    described.kind = kind;
    described.lanes = lanes;
    described.rank = static_cast<std::uint32_t>(sizes.size());
    std::ranges::copy(sizes, described.sizes);
    Failure failure;
    const auto lock = machine_->lock();
    failure.check(dhpvm_object_new_array_of(machine_->isolate(), &described, &object_, failure.out()));
  }
  ~ArrayPlace() { machine_->drop(object_); }
  ArrayPlace(const ArrayPlace&) = delete;
  ArrayPlace& operator=(const ArrayPlace&) = delete;

  dhpvm_object* object() const { return object_; }
  // Kind, sizes and lanes, without the elements.
  nb::tuple description() const {
    dhpvm_array array{};
    array.size = sizeof array;
    Failure failure;
    const auto lock = machine_->lock();
    failure.check(dhpvm_object_array(object_, DHPVM_DESCRIBE, &array, failure.out()));
    nb::list sizes;
    for (std::uint32_t i = 0; i < array.rank; ++i) sizes.append(array.sizes[i]);
    return nb::make_tuple(array.kind, nb::tuple(sizes), array.lanes);
  }
  bool is_in(const Machine& machine) const { return machine_.get() == &machine; }
  // The elements in the host's memory, as an object with a buffer.
  nb::object elements(bool can_write) const {
    if (!machine_->is_usable())
      throw nb::type_error(
          "the array belongs to a program of the process before the fork: take its elements there");
    Failure failure;
    dhpvm_object* copy = nullptr;
    const auto lock = machine_->lock();
    failure.check(dhpvm_object_copy(object_, &copy, failure.out()));
    return nb::cast(new ProgramArray(machine_, copy, can_write ? DHPVM_READ_WRITE : DHPVM_READ),
                    nb::rv_policy::take_ownership);
  }

 private:
  std::shared_ptr<Machine> machine_;
  dhpvm_object* object_;
};

// The part of dhpvm.Array that the buffer protocol needs: _buffer(can_write) returns an object that has one.
struct HeldArray {};

int get_held_buffer(PyObject* exporter, Py_buffer* view, int flags) {
  const bool can_write = (flags & PyBUF_WRITABLE) != 0;
  PyObject* const elements = PyObject_CallMethod(exporter, "_buffer", "O", can_write ? Py_True : Py_False);
  if (elements == nullptr) return -1;
  const int result = PyObject_GetBuffer(elements, view, flags);
  Py_DECREF(elements);  // the view keeps it
  return result;
}

PyType_Slot held_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_held_buffer)}, {0, nullptr}};

PyType_Slot array_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)}, {0, nullptr}};

nb::object new_array(const std::shared_ptr<Machine>& machine, dhpvm_object* object) {
  const nb::object array = nb::cast(new ProgramArray(machine, object), nb::rv_policy::take_ownership);
  return nb::handle(array_maker)(array);
}

// Reads an object that fields give, which may be a text or an array as well.
nb::object from_object(const std::shared_ptr<Machine>& machine, dhpvm_object* object) {
  const char* text = nullptr;
  std::size_t size = 0;
  if (dhpvm_object_text(object, &text, &size, nullptr) == DHPVM_OK) {
    nb::str result(text, size);
    dhpvm_object_free(object);
    return nb::object(std::move(result));
  }
  dhpvm_array array{};
  array.size = sizeof array;
  if (dhpvm_object_array(object, DHPVM_READ, &array, nullptr) == DHPVM_OK && has_format(array))
    return new_array(machine, object);
  return nb::cast(new ObjectReference(machine, object), nb::rv_policy::take_ownership);
}

}  // namespace

ObjectReference* as_reference(PyObject* object) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != object_type) return nullptr;
  return nb::inst_ptr<ObjectReference>(object);
}

bool is_held(PyObject* object) { return reinterpret_cast<PyObject*>(Py_TYPE(object)) == held_type; }

bool held_fits(PyObject* held, const Parameter& parameter) {
  return nb::cast<bool>(nb::handle(held).attr("_fits")(parameter.element, parameter.lanes, parameter.rank));
}

nb::object place_of_held(const std::shared_ptr<Machine>& machine, PyObject* held) {
  return nb::handle(held).attr("_in")(machine);
}

dhpvm_object* object_of_place(const nb::object& place) { return nb::inst_ptr<ArrayPlace>(place)->object(); }

nb::object held_result(const std::shared_ptr<Machine>& machine, const dhpvm_value& value) {
  const nb::object place = nb::cast(new ArrayPlace(machine, value.of.object), nb::rv_policy::take_ownership);
  return nb::handle(held_maker)(place);
}

nb::object from_program(const std::shared_ptr<Machine>& machine, const dhpvm_value& value, bool is_array) {
  switch (value.kind) {
    case DHPVM_BOOL: return nb::bool_(value.of.boolean != 0);
    case DHPVM_I8: return nb::int_(value.of.i8);
    case DHPVM_U8: return nb::int_(value.of.u8);
    case DHPVM_I16: return nb::int_(value.of.i16);
    case DHPVM_U16: return nb::int_(value.of.u16);
    case DHPVM_I32: return nb::int_(value.of.i32);
    case DHPVM_U32: return nb::int_(value.of.u32);
    case DHPVM_I64: return nb::int_(value.of.i64);
    case DHPVM_U64: return nb::int_(value.of.u64);
    case DHPVM_F32: return nb::float_(static_cast<double>(value.of.f32));
    case DHPVM_F64: return nb::float_(value.of.f64);
    case DHPVM_TEXT:
      return nb::bytes(value.of.text.data, value.of.text.size).attr("decode")("utf-8", "surrogateescape");
    case DHPVM_OBJECT:
      return is_array ? new_array(machine, value.of.object) : from_object(machine, value.of.object);
    default: return nb::none();
  }
}

nb::str ObjectReference::type_name() const {
  dhpvm_bytes name{};
  Failure failure;
  const auto lock = machine_->lock();
  failure.check(dhpvm_object_type(object_, &name, failure.out()));
  nb::str result(name.data, name.size);
  dhpvm_bytes_free(&name);
  return result;
}

nb::object ObjectReference::get(const std::string& field) const {
  dhpvm_value value{};
  Failure failure;
  const auto lock = machine_->lock();
  const dhpvm_code code = dhpvm_object_get(object_, field.c_str(), &value, failure.out());
  // Python asks every object for certain attributes, for copying and NumPy for example: that is no program error.
  if (code == DHPVM_NOT_FOUND || code == DHPVM_BAD_CAST) throw nb::attribute_error(failure.text());
  failure.check(code);
  return from_program(machine_, value, false);
}

void ObjectReference::set(const std::string& field, nb::handle value) {
  Failure failure;
  const auto lock = machine_->lock();
  dhpvm_value given{};
  failure.check(dhpvm_object_get(object_, field.c_str(), &given, failure.out()));
  if (given.kind == DHPVM_OBJECT) dhpvm_object_free(given.of.object);
  if (given.kind >= DHPVM_BOOL && given.kind <= DHPVM_F64) {
    Parameter type;
    type.kind = given.kind;
    type.type = "a number or bool, as the field is";
    Buffers buffers;
    dhpvm_array array;
    const Conversion done = convert(value.ptr(), type, Fit::kConvert, buffers, array, given);
    if (done == Conversion::kMismatch) raise_mismatch(value.ptr(), type, 0);
    if (done != Conversion::kDone) throw nb::python_error();
  } else if (PyUnicode_Check(value.ptr())) {
    Py_ssize_t size = 0;
    given.kind = DHPVM_TEXT;
    given.of.text.data = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    given.of.text.size = static_cast<std::size_t>(size);
    if (given.of.text.data == nullptr) throw nb::python_error();
  } else if (value.is_none()) {
    given.kind = DHPVM_NULL;
  } else if (const ObjectReference* const reference = as_reference(value.ptr())) {
    given.kind = DHPVM_OBJECT;
    given.of.object = reference->object_;
  } else {
    PyErr_Format(PyExc_TypeError, "a value of type %s cannot be stored in a field",
                 name_of_type(value.ptr()).c_str());
    throw nb::python_error();
  }
  failure.check(dhpvm_object_set(object_, field.c_str(), &given, failure.out()));
}

nb::list ObjectReference::fields() const {
  nb::list list;
  Failure failure;
  const auto lock = machine_->lock();
  failure.check(dhpvm_object_fields(
      object_,
      [](void* user, const char* name, const char* type) {
        static_cast<nb::list*>(user)->append(nb::make_tuple(name, type));
      },
      &list, failure.out()));
  return list;
}

bool ObjectReference::is_same(const ObjectReference& other) const {
  return dhpvm_object_equal(object_, other.object_) != 0;
}

void set_array_maker(nb::object maker) {
  Py_XDECREF(array_maker);
  array_maker = maker.release().ptr();
}

void set_held_maker(nb::object maker, nb::object type) {
  Py_XDECREF(held_maker);
  held_maker = maker.release().ptr();
  Py_XDECREF(held_type);
  held_type = type.release().ptr();
}

void bind_objects(nb::module_& module) {
  nb::class_<ArrayPlace>(module, "ArrayPlace")
      .def(nb::init<std::shared_ptr<Machine>, dhpvm_kind, std::uint32_t, const std::vector<std::int64_t>&>())
      .def("is_in", [](const ArrayPlace& self,
                       const std::shared_ptr<Machine>& machine) { return self.is_in(*machine); })
      .def("description", &ArrayPlace::description)
      .def("elements", &ArrayPlace::elements);
  nb::class_<HeldArray>(module, "HeldArray", nb::type_slots(held_slots)).def(nb::init<>());
  const nb::class_<ProgramArray> array_type(module, "ProgramArray", nb::type_slots(array_slots));
  const auto type = nb::class_<ObjectReference>(module, "Object")
                        .def_prop_ro("type_name_", &ObjectReference::type_name)
                        .def("fields_", &ObjectReference::fields)
                        .def("__getattr__", &ObjectReference::get)
                        .def("__setattr__", &ObjectReference::set, nb::arg("field"), nb::arg("value").none())
                        .def("is_same_", &ObjectReference::is_same)
                        .def("__repr__", [](const ObjectReference& self) {
                          return nb::str("<{} of a program>").format(self.type_name());
                        });
  object_type = type.ptr();
}

}  // namespace dhpvm::python
