// SPDX-License-Identifier: Apache-2.0
#include "numpy_arrays.h"

#include <optional>

namespace nb = nanobind;

namespace tc::python {

namespace {

// Positions in NumPy's table of functions, which never change.
constexpr int kGetAbiVersion = 0, kArrayType = 2, kNewFromDescr = 94;
constexpr unsigned kAbiOfVersion1 = 0x1000009, kAbiOfVersion2 = 0x2000000;

static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));

/// The table, which lives as long as the process.
void** function_table() {
  for (const char* name : {"numpy._core._multiarray_umath", "numpy.core._multiarray_umath"}) {
    const nb::object module = nb::steal(PyImport_ImportModule(name));
    const nb::object capsule = module.is_valid()
                                   ? nb::steal(PyObject_GetAttrString(module.ptr(), "_ARRAY_API"))
                                   : nb::object();
    void* table = capsule.is_valid() ? PyCapsule_GetPointer(capsule.ptr(), nullptr) : nullptr;
    PyErr_Clear();
    if (table != nullptr) return static_cast<void**>(table);
  }
  return nullptr;
}

}  // namespace

const NumpyApi* NumpyApi::find() {
  static const std::optional<NumpyApi> found = []() -> std::optional<NumpyApi> {
    void** table = function_table();
    if (table == nullptr) return std::nullopt;
    const unsigned version = reinterpret_cast<unsigned (*)()>(table[kGetAbiVersion])();
    if (version != kAbiOfVersion1 && version != kAbiOfVersion2) return std::nullopt;
    NumpyApi api;
    api.array_type_ = static_cast<PyTypeObject*>(table[kArrayType]);
    api.new_from_descr_ = reinterpret_cast<NewFromDescr>(table[kNewFromDescr]);
    return api;
  }();
  return found ? &*found : nullptr;
}

nb::object NumpyApi::empty(int rank, const std::int64_t* sizes, nb::handle dtype) const {
  Py_INCREF(dtype.ptr());  // taken over
  return nb::steal(new_from_descr_(array_type_, dtype.ptr(), rank,
                                   reinterpret_cast<const Py_ssize_t*>(sizes), nullptr, nullptr, 0,
                                   nullptr));
}

}  // namespace tc::python
