// SPDX-License-Identifier: Apache-2.0
#include "entry.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <span>

#include "errors.h"
#include "host_scratch.h"
#include "numpy_arrays.h"
#include "torch_memory.h"

namespace nb = nanobind;

namespace tc::python {

namespace {

/// Runs that are timed before it is decided whether others may go on meanwhile.
constexpr int kTimedRuns = 3;
constexpr std::chrono::microseconds kShortRun(10);
/// Outputs of a call that need no heap.
constexpr std::size_t kFew = 8;

nb::object frameworks() {
  return nb::module_::import_("tensor_comprehensions._frameworks");
}

/// Functions of _frameworks that calls ask, looked up once.
nb::handle allocate_function() {
  static PyObject* const function = nb::object(frameworks().attr("allocate")).release().ptr();
  return function;
}
nb::handle stream_function() {
  static PyObject* const function = nb::object(frameworks().attr("current_stream")).release().ptr();
  return function;
}

void set_error(void*, const char* kind, const char* message) {
  const nb::gil_scoped_acquire gil;
  PyErr_Format(PyExc_RuntimeError, "%s: %s", kind, message);
}

Reach reach_of(const TensorMeta& meta) {
  const std::int64_t element = std::max(1, bits(meta.type) / 8);
  Reach reach{0, element};
  for (std::size_t d = 0; d < meta.sizes.size(); ++d) {
    if (meta.sizes[d] == 0) return {0, 0};
    const std::int64_t span = (meta.sizes[d] - 1) * meta.strides[d] * element;
    (span < 0 ? reach.low : reach.high) += span;
  }
  return reach;
}

bool overlap(const DLTensor& a, Reach a_reach, const DLTensor& b, Reach b_reach) {
  const auto* first = static_cast<const char*>(address_of(a));
  const auto* second = static_cast<const char*>(address_of(b));
  return a_reach.low != a_reach.high && b_reach.low != b_reach.high &&
         first + a_reach.low < second + b_reach.high && second + b_reach.low < first + a_reach.high;
}

nb::object shape_tuple(const std::vector<std::int64_t>& shape) {
  nb::list values;
  for (const std::int64_t size : shape)
    values.append(size);
  return nb::steal(PySequence_Tuple(values.ptr()));
}

/// A tensor that the framework allocates, and where it lies.
nb::object exchanged(const ExchangeApi& api, DLTensor& prototype, DLTensor& tensor) {
  DLManagedTensorVersioned* managed = nullptr;
  if (api.allocate(&prototype, &managed, nullptr, set_error) != 0) raise_python();
  tensor = prototype;
  tensor.data = address_of(managed->dl_tensor);
  void* object = nullptr;
  if (api.import_managed(managed, &object) != 0) raise_python();
  return nb::steal(static_cast<PyObject*>(object));
}

}  // namespace

Entry::Entry(Executor executor, const Call& call, const Metadata& metadata)
    : executor_(std::move(executor)), consts_(metadata.consts), sizes_(metadata.sizes),
      framework_(call.framework), device_(call.device), gpu_(call.device.device_type == kDLCUDA),
      aliases_(call.gives_outputs), needs_values_(false),
      needs_status_(executor_.options().bounds == Bounds::Error) {
  const auto words = call.signature.words();
  signature.assign(words.begin(), words.end());
  const auto& roles = executor_.output_roles();
  const bool direct =
      nb::cast<bool>(frameworks().attr("direct").attr("__contains__")(framework_->name));
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const TensorMeta& meta = executor_.output_metadata()[i];
    aliases_ = aliases_ || roles[i].in_place_of >= 0;
    needs_values_ = needs_values_ || roles[i].needs_initial;
    FreshOutput output;
    output.type = std::string(name(meta.type));
    output.shape = meta.sizes;
    output.prototype = {nullptr,
                        device_,
                        static_cast<std::int32_t>(meta.sizes.size()),
                        to_dlpack(meta.type),
                        nullptr,
                        nullptr,
                        0};
    output.strides = meta.strides;
    if (direct && framework_->name == "torch" && TorchMemory::find() != nullptr)
      output.torch_code = TorchMemory::find()->code_of(meta.type);
    if (direct && framework_->name == "numpy" && NumpyApi::find() != nullptr) {
      output.numpy_dtype = frameworks().attr("numpy_dtype")(output.type);
    } else if (framework_->api == nullptr && output.torch_code < 0) {
      output.allocation = nb::make_tuple(framework_->name, shape_tuple(output.shape), output.type,
                                         static_cast<int>(device_.device_type), device_.device_id);
    }
    fresh_.push_back(std::move(output));
  }
  for (const TensorMeta& meta : executor_.input_metadata())
    input_reach_.push_back(reach_of(meta));
  for (const TensorMeta& meta : executor_.output_metadata())
    output_reach_.push_back(reach_of(meta));
  // Only now do the vectors stay where they are.
  for (FreshOutput& output : fresh_)
    output.prototype.shape = output.shape.data();
}

std::optional<std::string> Entry::other_than(const Call& call, const Metadata& metadata) const {
  const Framework* framework = call.framework == nullptr ? default_framework() : call.framework;
  if (framework != framework_)
    return "was compiled for tensors of " + framework_->name + ", these are of " + framework->name;
  if (metadata.consts != consts_) return "was compiled for other values of const parameters";
  if (metadata.sizes != sizes_) return "was compiled for other sizes";
  return std::nullopt;
}

nb::object Entry::make_array(const FreshOutput& output, DLTensor& tensor) {
  nb::object array =
      NumpyApi::find()->empty(output.prototype.ndim, output.shape.data(), output.numpy_dtype);
  if (!array.is_valid()) raise_python();
  tensor = output.prototype;
  tensor.data = NumpyArray::of(array).data;
  return array;
}

nb::object Entry::make_output(std::size_t index, Call& call, DLTensor& tensor) {
  FreshOutput& output = fresh_[index];
  if (output.torch_code >= 0) {
    tensor = output.prototype;
    nb::object made = TorchMemory::find()->empty(output.shape, output.strides, output.torch_code,
                                                 device_, tensor.data);
    // What PyTorch cannot make here it cannot make there either, and says why.
    if (made.is_valid()) return made;
  }
  if (framework_->api != nullptr) return exchanged(*framework_->api, output.prototype, tensor);
  if (output.numpy_dtype.is_valid()) return make_array(output, tensor);
  nb::object made =
      nb::steal(PyObject_Call(allocate_function().ptr(), output.allocation.ptr(), nullptr));
  if (!made.is_valid()) raise_python();
  View view;
  if (!view.read(made, reader_of(made), call.interface.output_texts[index])) raise_python();
  tensor = output.prototype;
  tensor.data = address_of(view.tensor);
  return made;
}

nb::object Entry::adopt_output(std::size_t index, Call& call, DLTensor& tensor) {
  const int input = executor_.output_roles()[index].in_place_of;
  View* given = call.output(index);
  if (input < 0 && given == nullptr) return {};
  const std::string& what = call.interface.output_texts[index];
  const View& view = given != nullptr ? *given : call.input(static_cast<std::size_t>(input));
  if (view.read_only) raise_argument(what + " is read-only memory");
  if (framework_->immutable)
    raise_argument(what + ": tensors of " + framework_->name +
                   " are immutable and cannot be written in place");
  if (view.is_number) raise_argument(what + " is updated in place: give a tensor, not a number");
  tensor = view.tensor;
  return nb::borrow(given != nullptr ? call.output_object(index)
                                     : call.input_object(static_cast<std::size_t>(input)));
}

void Entry::numbers_to_device(Call& call, std::vector<nb::object>& kept) {
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    View& view = call.input(i);
    if (!view.is_number) continue;
    const std::string type(name(executor_.input_metadata()[i].type));
    nb::object made = frameworks().attr("device_scalar")(
        framework_->name, device_.device_id, type,
        nb::bytes(static_cast<const char*>(view.tensor.data), (view.tensor.dtype.bits + 7) / 8));
    View placed;
    if (!placed.read(made, reader_of(made), "a number")) raise_python();
    view.tensor.data = address_of(placed.tensor);
    view.tensor.device = device_;
    kept.push_back(std::move(made));
  }
}

void* Entry::stream_of(const Call& call) const {
  if (!gpu_) return nullptr;
  void* stream = nullptr;
  if (framework_->api != nullptr) {
    if (framework_->api->current_stream(kDLCUDA, call.device.device_id, &stream) != 0)
      raise_python();
    return stream;
  }
  const auto address =
      nb::cast<std::uintptr_t>(stream_function()(framework_->name, call.device.device_id));
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

void* Entry::scratch_for(Call& call, std::vector<nb::object>& kept) {
  const std::int64_t bytes = executor_.scratch_bytes();
  if (bytes == 0) return nullptr;
  if (!gpu_) return host_scratch(static_cast<std::size_t>(bytes));
  std::int64_t shape[] = {bytes};
  DLTensor prototype{nullptr, device_, 1, {kDLUInt, 8, 1}, shape, nullptr, 0};
  DLTensor tensor{};
  if (framework_->api != nullptr) {
    kept.push_back(exchanged(*framework_->api, prototype, tensor));
  } else {
    kept.push_back(allocate_function()(framework_->name, nb::make_tuple(bytes), "uint8",
                                       static_cast<int>(kDLCUDA), call.device.device_id));
    View view;
    if (!view.read(kept.back(), reader_of(kept.back()), "scratch")) raise_python();
    tensor = view.tensor;
  }
  if (needs_status_) last_scratch_ = kept.back();
  return address_of(tensor);
}

void Entry::reject_missing_values(Call& call) const {
  const auto& roles = executor_.output_roles();
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (roles[i].needs_initial && call.output(i) == nullptr)
      raise_argument(call.interface.output_texts[i] +
                     " is accumulated onto: give memory with values in outputs=");
  }
}

void Entry::reject_shared_memory(Call& call, std::span<const DLTensor> outputs) const {
  const auto& roles = executor_.output_roles();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    for (std::size_t i = 0; i < call.inputs(); ++i) {
      const DLTensor& input = call.input(i).tensor;
      const bool same = static_cast<int>(i) == roles[o].in_place_of;
      if (same ? address_of(input) == address_of(outputs[o])
               : !overlap(outputs[o], output_reach_[o], input, input_reach_[i]))
        continue;
      raise_argument(call.interface.output_texts[o] +
                     (same ? " is updated in place: it must be the memory of input '"
                           : " shares memory with input '") +
                     executor_.input_names()[i] + "'" +
                     (same ? "" : "; give it memory of its own"));
    }
    for (std::size_t other = 0; other < o; ++other) {
      if (overlap(outputs[o], output_reach_[o], outputs[other], output_reach_[other]))
        raise_argument(call.interface.output_texts[o] + " shares memory with output '" +
                       roles[other].name + "'; give it memory of its own");
    }
  }
}

std::optional<Failure> Entry::run_pointers(std::span<void* const> pointers, void* stream) {
  using Clock = std::chrono::steady_clock;
  // Other threads may go on while kernels run, except where giving way costs more than the kernels.
  if (!gpu_ && timed_runs_ == kTimedRuns && shortest_run_ < kShortRun)
    return executor_.run_unchecked(pointers, stream, device_.device_id);
  const Clock::time_point start = Clock::now();
  std::optional<Failure> failure;
  {
    const nb::gil_scoped_release released;
    failure = executor_.run_unchecked(pointers, stream, device_.device_id);
  }
  if (timed_runs_ < kTimedRuns) {
    shortest_run_ = std::min(shortest_run_, Clock::now() - start);
    ++timed_runs_;
  }
  return failure;
}

void Entry::run_kernels(Call& call, std::span<const DLTensor> outputs, void* scratch, void* stream,
                        Checks checks) {
  std::optional<Failure> failure;
  if (checks == Checks::All) {
    std::vector<const DLTensor*> inputs, results;
    for (std::size_t i = 0; i < call.inputs(); ++i)
      inputs.push_back(&call.input(i).tensor);
    for (const DLTensor& output : outputs)
      results.push_back(&output);
    const nb::gil_scoped_release released;
    failure = executor_.run(inputs, results, stream, scratch);
  } else {
    const std::size_t count = call.inputs() + outputs.size() + 1;
    std::array<void*, 2 * kFew + 1> few;
    std::vector<void*> many(count > few.size() ? count : 0);
    void** pointers = many.empty() ? few.data() : many.data();
    for (std::size_t i = 0; i < call.inputs(); ++i)
      pointers[i] = address_of(call.input(i).tensor);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      pointers[call.inputs() + i] = address_of(outputs[i]);
    pointers[count - 1] = scratch;
    failure = run_pointers({pointers, count}, stream);
  }
  if (failure) raise_failure(*failure, call.interface.text);
}

/// Tensors of the caller that the run wrote to.
void Entry::tell_of_writes(const Call& call, std::span<const nb::object> results) const {
  std::array<PyObject*, kFew> written;
  std::size_t count = 0;
  const auto tell = [&] {
    const nb::object tensors = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (std::size_t i = 0; i < count; ++i)
      PyTuple_SetItem(tensors.ptr(), static_cast<Py_ssize_t>(i),
                      nb::borrow(written[i]).release().ptr());
    count = 0;
    PyObject* argument = tensors.ptr();
    if (!nb::steal(PyObject_Vectorcall(framework_->written, &argument, 1, nullptr)).is_valid())
      raise_python();
  };
  for (std::size_t o = 0; o < results.size(); ++o) {
    const bool is_given = call.gives_outputs && call.output_object(o).is(results[o]);
    if (!is_given && executor_.output_roles()[o].in_place_of < 0) continue;
    written[count++] = results[o].ptr();
    if (count == written.size()) tell();
  }
  if (count > 0) tell();
}

nb::object Entry::run(Call& call, Checks checks) {
  if (needs_values_) reject_missing_values(call);
  std::vector<nb::object> kept;
  if (gpu_) numbers_to_device(call, kept);
  const std::size_t count = fresh_.size();
  std::array<DLTensor, kFew> few_tensors;
  std::array<nb::object, kFew> few_objects;
  std::vector<DLTensor> many_tensors(count > kFew ? count : 0);
  std::vector<nb::object> many_objects(count > kFew ? count : 0);
  const std::span<DLTensor> tensors(count > kFew ? many_tensors.data() : few_tensors.data(), count);
  const std::span<nb::object> objects(count > kFew ? many_objects.data() : few_objects.data(),
                                      count);
  for (std::size_t i = 0; i < count; ++i) {
    if (aliases_ || call.gives_outputs) objects[i] = adopt_output(i, call, tensors[i]);
    if (!objects[i].is_valid()) objects[i] = make_output(i, call, tensors[i]);
  }
  if (aliases_ && !call.unchecked && checks == Checks::Needed) reject_shared_memory(call, tensors);
  void* scratch = scratch_for(call, kept);
  void* stream = stream_of(call);
  run_kernels(call, tensors, scratch, stream, checks);
  if (needs_status_) {
    last_stream_ = stream;
    last_address_ = scratch;
    if (!gpu_) {
      if (auto problem = check()) raise_argument(*problem);
    }
  }
  if (framework_->written != nullptr && aliases_) tell_of_writes(call, objects);
  if (framework_->immutable) {
    for (nb::object& object : objects)
      object = frameworks().attr("finish")(framework_->name, object);
  }
  if (count == 1) return std::move(objects[0]);
  nb::object results = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t i = 0; i < count; ++i)
    PyTuple_SetItem(results.ptr(), static_cast<Py_ssize_t>(i), objects[i].release().ptr());
  return results;
}

std::optional<std::string> Entry::check() {
  if (last_address_ == nullptr) return std::nullopt;
  const nb::gil_scoped_release released;
  return executor_.check(last_address_, last_stream_, device_.device_id);
}

}  // namespace tc::python
