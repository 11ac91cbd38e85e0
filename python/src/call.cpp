// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <nanobind/stl/string.h>

#include <algorithm>

#include "errors.h"

namespace nb = nanobind;

namespace tc::python {

namespace {

/// Bytes that wide accesses of a GPU start at.
constexpr std::uintptr_t kWideAccess = 16;

/// What the signature says of an address: 0 misaligned, 1 at whole elements, 2 at wide accesses.
std::uint64_t alignment_class(const DLTensor& tensor) {
  const auto address = reinterpret_cast<std::uintptr_t>(address_of(tensor));
  const auto element = std::max<std::uintptr_t>(1, tensor.dtype.bits / 8);
  if (address % element != 0) return 0;
  return tensor.device.device_type == kDLCUDA && address % kWideAccess == 0 ? 2 : 1;
}

std::string device_text(DLDevice device) {
  if (device.device_type == kDLCPU) return "the CPU";
  if (device.device_type == kDLCUDA) return "cuda:" + std::to_string(device.device_id);
  return "a device of DLPack's type " + std::to_string(device.device_type);
}

/// A whole number of a keyword argument; `what` names it.
std::int64_t whole_number(nb::handle value, const std::string& what) {
  if (!PyBool_Check(value.ptr()) && PyIndex_Check(value.ptr())) {
    const nb::object whole = nb::steal(PyNumber_Index(value.ptr()));
    if (whole.is_valid()) {
      int overflow = 0;
      const long long number = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
      if (overflow == 0) return number;
    } else {
      PyErr_Clear();
    }
  }
  raise_argument(what + " is " + nb::cast<std::string>(nb::repr(value)) +
                 " where a whole number is expected");
}

bool truth(nb::handle value, const std::string& what) {
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  raise_argument(what + " is " + nb::cast<std::string>(nb::repr(value)) +
                 " where True or False is expected");
}

}  // namespace

Interface::Interface(std::string program, DefInfo info)
    : text(std::move(program)), def(std::move(info)) {
  for (const ParameterInfo& parameter : def.parameters) {
    parameter_names.push_back(nb::steal(PyUnicode_InternFromString(parameter.name.c_str())));
    parameter_texts.push_back("argument '" + parameter.name + "' of '" + def.name + "'");
  }
  for (const ResultInfo& result : def.results) {
    in_place = in_place || result.in_place_of >= 0;
    output_texts.push_back("output '" + result.name + "' of '" + def.name + "'");
  }
}

std::size_t Interface::tensors() const {
  return static_cast<std::size_t>(
      std::count_if(def.parameters.begin(), def.parameters.end(),
                    [](const ParameterInfo& parameter) { return !parameter.is_const; }));
}

void Signature::spill(std::uint64_t word) {
  if (large_.empty()) large_.assign(small_.begin(), small_.end());
  large_.push_back(word);
}

Call::Call(const Interface& called, nb::handle args, nb::handle kwargs)
    : interface(called), input_count_(0) {
  const std::size_t parameters = interface.def.parameters.size();
  for (const ParameterInfo& parameter : interface.def.parameters)
    input_count_ += parameter.is_const ? 0 : 1;
  if (parameters > kSmall) {
    many_slots_ = std::make_unique<nb::handle[]>(parameters);
    many_objects_ = std::make_unique<nb::handle[]>(parameters);
    many_views_ = std::make_unique<View[]>(parameters);
    input_objects_ = many_objects_.get();
    views_ = many_views_.get();
  }
  bind(args, kwargs);
}

void Call::bind(nb::handle args, nb::handle kwargs) {
  const std::size_t parameters = interface.def.parameters.size();
  const auto given = static_cast<std::size_t>(PyTuple_Size(args.ptr()));
  if (given > parameters)
    raise_argument("'" + interface.def.name + "' takes " + std::to_string(parameters) +
                   " arguments, " + std::to_string(given) + " were given");
  for (std::size_t i = 0; i < given; ++i)
    slots()[i] = PyTuple_GetItem(args.ptr(), static_cast<Py_ssize_t>(i));
  if (kwargs.is_valid() && PyDict_Size(kwargs.ptr()) > 0) {
    for (const auto& [name, value] : nb::borrow<nb::dict>(kwargs))
      bind_keyword(name, value);
  }
  for (std::size_t i = given; i < parameters; ++i) {
    if (!slots()[i].is_valid()) raise_argument(interface.parameter_texts[i] + " is missing");
  }
}

void Call::bind_keyword(nb::handle name, nb::handle value) {
  // Names in the text of a program are interned: one object for each.
  static const nb::handle outputs_name = PyUnicode_InternFromString("outputs");
  const auto& names = interface.parameter_names;
  auto found = std::find_if(names.begin(), names.end(),
                            [&](const nb::object& known) { return name.is(known); });
  if (found == names.end() && name.is(outputs_name)) {
    if (!value.is_none()) bind_outputs(value);
    return;
  }
  if (found == names.end())
    found = std::find_if(names.begin(), names.end(),
                         [&](const nb::object& known) { return name.equal(known); });
  if (found != names.end()) {
    const auto i = static_cast<std::size_t>(found - names.begin());
    if (slots()[i].is_valid()) raise_argument(interface.parameter_texts[i] + " is given twice");
    slots()[i] = value;
    return;
  }
  const auto text = nb::cast<std::string>(name);
  const auto& sizes = interface.def.sizes;
  if (std::find(sizes.begin(), sizes.end(), text) != sizes.end()) {
    sizes_.emplace_back(text,
                        whole_number(value, "size '" + text + "' of '" + interface.def.name + "'"));
  } else if (text == "outputs") {
    if (!value.is_none()) bind_outputs(value);
  } else if (text == "unchecked") {
    unchecked = truth(value, "'unchecked' of '" + interface.def.name + "'");
  } else {
    raise_argument("'" + interface.def.name + "' has neither a parameter nor a size '" + text +
                   "'");
  }
}

void Call::bind_outputs(nb::handle value) {
  const std::size_t results = interface.def.results.size();
  const bool several = PyTuple_Check(value.ptr()) || PyList_Check(value.ptr());
  if (several) {
    for (nb::handle item : value)
      outputs_.push_back(nb::borrow(item));
  } else {
    outputs_.push_back(nb::borrow(value));
  }
  if (outputs_.size() != results)
    raise_argument("'" + interface.def.name + "' returns " + std::to_string(results) +
                   " tensors, outputs= has " + std::to_string(outputs_.size()));
  output_views_ = std::make_unique<View[]>(results);
  gives_outputs = true;
}

bool Call::read_tensor(View& view, nb::handle object, const TypeReader& reader,
                       const std::string& what, const std::string*& first) {
  if (!view.read(object, reader, what, exported)) return false;
  if (first == nullptr) {
    first = &what;
    framework = reader.framework;
    device = view.tensor.device;
    return true;
  }
  if (reader.framework != framework)
    raise_argument(*first + " is a tensor of " + framework->name + " and " + what + " one of " +
                   reader.framework->name + "; the tensors of a call come from one library");
  if (view.tensor.device.device_type != device.device_type ||
      view.tensor.device.device_id != device.device_id)
    raise_argument(*first + " lies on " + device_text(device) + " and " + what + " on " +
                   device_text(view.tensor.device) + "; the tensors of a call lie on one device");
  return true;
}

bool Call::read() {
  const auto& parameters = interface.def.parameters;
  const std::string* first = nullptr;
  std::size_t position = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_const) {
      if (reader_of(slots()[i]).kind == TypeReader::Kind::Wrapped) {
        PyErr_SetString(PyExc_TypeError, "a value that is not known while a program is traced");
        return false;
      }
      read_const(i);
      continue;
    }
    const nb::handle object = slots()[i];
    const TypeReader& reader = reader_of(object);
    View& view = views_[position];
    input_objects_[position++] = object;
    if (reader.kind == TypeReader::Kind::Number) {
      if (!parameters[i].dims.empty())
        raise_argument(interface.parameter_texts[i] + " is a number where a tensor is expected");
      view.read_number(object, parameters[i].type, interface.parameter_texts[i],
                       parameters[i].type);
    } else if (reader.kind == TypeReader::Kind::Other && parameters[i].dims.empty()) {
      raise_argument(interface.parameter_texts[i] + " is " +
                     nb::cast<std::string>(nb::repr(object.type())) +
                     " where a number or a tensor of rank 0 is expected");
    } else if (!read_tensor(view, object, reader, interface.parameter_texts[i], first)) {
      return false;
    }
    pack(view);
  }
  for (std::size_t i = 0; gives_outputs && i < outputs_.size(); ++i) {
    signature.add(has_output(i));
    if (!has_output(i)) continue;
    if (!read_tensor(output_views_[i], outputs_[i], reader_of(outputs_[i]),
                     interface.output_texts[i], first))
      return false;
    pack(output_views_[i]);
  }
  if (!interface.def.sizes.empty()) {
    for (const auto& [name, value] : sizes_) {
      const auto& names = interface.def.sizes;
      signature.add(
          static_cast<std::uint64_t>(std::find(names.begin(), names.end(), name) - names.begin()));
      signature.add(static_cast<std::uint64_t>(value));
    }
  }
  signature.add(reinterpret_cast<std::uintptr_t>(framework));
  signature.add(static_cast<std::uint64_t>(device.device_type) << 32 |
                static_cast<std::uint32_t>(device.device_id));
  signature.add(gives_outputs);
  return true;
}

void Call::read_const(std::size_t parameter) {
  const ParameterInfo& info = interface.def.parameters[parameter];
  View number;
  number.read_number(slots()[parameter], is_float(info.type) ? DType::Float64 : info.type,
                     interface.parameter_texts[parameter], info.type);
  ConstValue value;
  if (is_float(info.type)) {
    value.real = *static_cast<double*>(number.tensor.data);
    signature.add(*static_cast<std::uint64_t*>(number.tensor.data));
  } else {
    value.integer = *static_cast<std::int64_t*>(number.tensor.data);
    signature.add(static_cast<std::uint64_t>(value.integer));
  }
  consts_.emplace_back(&info.name, value);
}

void Call::pack(const View& view) {
  const DLTensor& tensor = view.tensor;
  signature.add(static_cast<std::uint64_t>(tensor.ndim) << 32 |
                static_cast<std::uint64_t>(tensor.dtype.lanes) << 24 |
                static_cast<std::uint64_t>(tensor.dtype.code) << 16 |
                static_cast<std::uint64_t>(tensor.dtype.bits) << 8 |
                (view.is_number ? 4U : alignment_class(tensor)));
  for (int d = 0; d < tensor.ndim; ++d)
    signature.add(static_cast<std::uint64_t>(tensor.shape[d]));
  for (int d = 0; d < tensor.ndim && tensor.strides != nullptr; ++d) {
    // The stride of a dimension that never steps means nothing.
    signature.add(tensor.shape[d] > 1 ? static_cast<std::uint64_t>(tensor.strides[d]) : 0);
  }
}

bool Call::other_float_types() const {
  std::size_t position = 0;
  for (const ParameterInfo& parameter : interface.def.parameters) {
    if (parameter.is_const) continue;
    const DLDataType given = views_[position++].tensor.dtype;
    if (!is_float(parameter.type) || (given.code != kDLFloat && given.code != kDLBfloat)) continue;
    const DLDataType declared = to_dlpack(parameter.type);
    if (given.code != declared.code || given.bits != declared.bits) return true;
  }
  return false;
}

std::vector<std::int64_t> Call::strides(const DLTensor& tensor) const {
  std::vector<std::int64_t> sizes(tensor.shape, tensor.shape + tensor.ndim);
  std::vector<std::int64_t> result = row_major_strides(sizes);
  const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  for (int d = 0; d < tensor.ndim && tensor.strides != nullptr && !empty; ++d) {
    if (tensor.shape[d] > 1) result[static_cast<std::size_t>(d)] = tensor.strides[d];
  }
  return result;
}

TensorMeta Call::meta_of(const View& view, const std::string& what) const {
  const DLTensor& tensor = view.tensor;
  TensorMeta meta;
  meta.type = from_dlpack(tensor.dtype, what);
  meta.sizes.assign(tensor.shape, tensor.shape + tensor.ndim);
  meta.strides = strides(tensor);
  const std::int64_t element = std::max(1, tensor.dtype.bits / 8);
  const std::uint64_t aligned = view.is_number ? 1 : alignment_class(tensor);
  const bool empty = std::find(meta.sizes.begin(), meta.sizes.end(), 0) != meta.sizes.end();
  if (aligned == 0 && !empty)
    raise_argument(what + " starts at an address that is no multiple of " +
                   std::to_string(element) + " bytes, the size of its elements; copy it");
  meta.alignment = aligned == 2 ? static_cast<std::int64_t>(kWideAccess) : element;
  return meta;
}

Metadata Call::metadata() const {
  Metadata metadata;
  std::size_t position = 0;
  const auto& parameters = interface.def.parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].is_const)
      metadata.inputs.push_back(meta_of(views_[position++], interface.parameter_texts[i]));
  }
  for (std::size_t i = 0; gives_outputs && i < outputs_.size(); ++i) {
    metadata.outputs.emplace_back();
    if (has_output(i) && interface.def.results[i].in_place_of < 0)
      metadata.outputs.back() = meta_of(output_views_[i], interface.output_texts[i]);
  }
  for (const auto& [name, value] : consts_)
    metadata.consts[*name] = value;
  for (const auto& [name, value] : sizes_)
    metadata.sizes[name] = value;
  if (device.device_type == kDLCUDA)
    metadata.output_alignment = static_cast<std::int64_t>(kWideAccess);
  return metadata;
}

}  // namespace tc::python
