// SPDX-License-Identifier: Apache-2.0
//
// Python numbers and NumPy scalars as tensors of rank 0.
#include <nanobind/stl/string.h>

#include <cstring>

#include "errors.h"
#include "tc/support/numeric.h"
#include "view.h"

namespace nb = nanobind;

namespace tc::python {

namespace {

template <class T>
void put(std::uint8_t* memory, T value) {
  std::memcpy(memory, &value, sizeof value);
}

void put_float(std::uint8_t* memory, DType type, double value) {
  switch (type) {
  case DType::Float16: return put(memory, float16_from_double(value));
  case DType::BFloat16: return put(memory, bfloat16_from_double(value));
  case DType::Float32: return put(memory, static_cast<float>(value));
  case DType::Float64: return put(memory, value);
  case DType::Float8E4M3FN: return put(memory, float8_e4m3fn_from_double(value));
  default: return put(memory, float8_e5m2_from_double(value));
  }
}

[[noreturn]] void not_a(DType type, nb::handle number, const std::string& what) {
  raise_argument(what + " is " + nb::cast<std::string>(nb::repr(number)) +
                 " where a number of type " + std::string(name(type)) + " is expected");
}

/// The bit pattern of an integer that fits `type`.
std::int64_t integer_bits(nb::handle number, DType type, const std::string& what) {
  nb::object index = nb::steal(PyNumber_Index(number.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    not_a(type, number, what);
  }
  if (type == DType::UInt64) {
    const unsigned long long value = PyLong_AsUnsignedLongLong(index.ptr());
    if (PyErr_Occurred() == nullptr) return static_cast<std::int64_t>(value);
  } else {
    const long long value = PyLong_AsLongLong(index.ptr());
    if (PyErr_Occurred() == nullptr && wrap_to(type, value) == value) return value;
  }
  PyErr_Clear();
  not_a(type, number, what);
}

}  // namespace

void View::read_number(nb::handle number, DType type, const std::string& what, DType declared) {
  std::memset(number_, 0, sizeof number_);
  if (type == DType::Bool) {
    nb::object is_bool = nb::module_::import_("tensor_comprehensions._frameworks").attr("is_bool");
    if (!nb::cast<bool>(is_bool(number))) not_a(declared, number, what);
    number_[0] = PyObject_IsTrue(number.ptr()) == 1;
  } else if (is_float(type)) {
    const double value = PyFloat_AsDouble(number.ptr());
    if (value == -1.0 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      not_a(declared, number, what);
    }
    put_float(number_, type, value);
  } else {
    // Little endian: the low bytes are the number in every width.
    put(number_, integer_bits(number, type, what));
  }
  tensor = {number_, {kDLCPU, 0}, 0, to_dlpack(type), shape_, strides_, 0};
  is_number = true;
}

}  // namespace tc::python
