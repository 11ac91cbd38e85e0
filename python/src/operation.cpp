// SPDX-License-Identifier: Apache-2.0
#include "operation.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>

#include "errors.h"
#include "xla_call.h"

namespace nb = nanobind;

namespace tc::python {

namespace {

nb::dict keywords(nb::handle kwargs) {
  return kwargs.is_valid() ? nb::borrow<nb::dict>(kwargs) : nb::dict();
}

/// Kernels that an operation keeps; the compile cache has the others.
constexpr std::size_t kMaxEntries = 4096;

}  // namespace

Operation::Operation(std::shared_ptr<const Session> session,
                     std::shared_ptr<const Interface> interface, std::string options,
                     nb::object hooks)
    : session_(std::move(session)), interface_(std::move(interface)), options_(std::move(options)),
      hooks_(std::move(hooks)) {}

std::size_t Operation::Hash::operator()(std::span<const std::uint64_t> words) const {
  std::uint64_t hash = words.size();
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  }
  return hash;
}

std::string Operation::target_name(const Call& call) const {
  if (call.device.device_type == kDLCUDA) return "cuda:" + std::to_string(call.device.device_id);
  if (call.device.device_type != kDLCPU)
    raise_argument("'" + interface_->def.name +
                   "': tensors lie on a device that is neither a CPU nor a CUDA device");
  return session_->cpu;
}

std::shared_ptr<Entry> Operation::make_entry(Call& call) const {
  if (call.framework == nullptr) call.framework = default_framework();
  const Metadata metadata = call.metadata();
  std::string options = options_;
  if (nb::object factory = hooks_.attr("factory"); !factory.is_none()) {
    nb::list inputs;
    for (std::size_t i = 0; i < call.inputs(); ++i)
      inputs.append(call.input_object(i));
    options = nb::cast<std::string>(factory(interface_->def.name, inputs));
  }
  const bool gpu = call.device.device_type == kDLCUDA;
  const std::string target = target_name(call);
  nb::object started = hooks_.attr("started")(interface_->def.name, target);
  Result<Executor, Failure> compiled = Failure{};
  {
    const nb::gil_scoped_release released;
    compiled = [&]() -> Result<Executor, Failure> {
      const Result<NamedTarget, Failure> named = find_target(target, session_->context);
      if (!named) return named.error();
      const Result<MappingOptions, std::string> mapping = read_options(options, named->target.kind);
      if (!mapping) {
        Failure failure;
        failure.kind = Failure::Kind::Argument;
        failure.message = mapping.error();
        return failure;
      }
      Result<Executor, Failure> made = tc::compile(interface_->text, interface_->def.name, metadata,
                                                   *mapping, named->target, session_->context);
      // A capture of a CUDA graph may follow at once.
      if (made && gpu) {
        if (auto failure = made->prepare(call.device.device_id)) return *failure;
      }
      return made;
    }();
  }
  started.attr("finished")();
  Executor executor = value_or_raise(std::move(compiled), interface_->text);
  for (const Diagnostic& warning : executor.report().warnings)
    hooks_.attr("warn")(render(interface_->text, warning));
  return std::make_shared<Entry>(std::move(executor), call, metadata);
}

std::shared_ptr<Entry> Operation::known(const Call& call) {
  const std::span<const std::uint64_t> words = call.signature.words();
  if (last_ != nullptr && are_equal(last_->signature, words)) return last_;
  const auto found = entries_.find(words);
  if (found == entries_.end()) return nullptr;
  last_ = found->second;
  return last_;
}

std::shared_ptr<Entry> Operation::find(Call& call) {
  if (std::shared_ptr<Entry> entry = known(call)) return entry;
  std::shared_ptr<Entry> made = make_entry(call);
  // Runs in other threads hold their own entries.
  if (entries_.size() >= kMaxEntries) entries_.clear();
  // Another thread may have been here while the compiler ran.
  last_ = entries_.try_emplace(made->signature, made).first->second;
  return last_;
}

nb::object Operation::call(nb::handle args, nb::handle kwargs, bool plain) {
  Call call(*interface_, args, kwargs);
  if (!call.read()) {
    if (plain) raise_python();
    PyErr_Clear();
    return dispatch(args, kwargs);
  }
  if (!plain && call.framework != nullptr && call.framework->is_watched())
    return dispatch(args, kwargs);
  std::shared_ptr<Entry> entry = known(call);
  if (entry == nullptr) {
    if (!plain) hooks_.attr("met")(*args, **keywords(kwargs));
    if (!plain && call.framework != nullptr && call.other_float_types()) {
      if (nb::object made = hooks_.attr("cast")(*args, **keywords(kwargs)); !made.is_none())
        return made;
    }
    entry = find(call);
  }
  return entry->run(call, Entry::Checks::Needed);
}

nb::object Operation::dispatch(nb::handle args, nb::handle kwargs) const {
  return hooks_.attr("dispatch")(*args, **keywords(kwargs));
}

std::shared_ptr<Entry> Operation::compile(nb::handle args, nb::handle kwargs) {
  Call call(*interface_, args, kwargs);
  call.exported = true;
  if (!call.read()) raise_python();
  return find(call);
}

nb::object Launcher::call(nb::handle args, nb::handle kwargs) const {
  Call call(*interface_, args, kwargs);
  call.exported = true;
  if (!call.read()) raise_python();
  if (are_equal(entry_->signature, call.signature.words()))
    return entry_->run(call, Entry::Checks::Needed);
  const Metadata given = call.metadata();
  if (auto problem = entry_->other_than(call, given))
    raise_argument("the executor of '" + interface_->def.name + "' " + *problem);
  return entry_->run(call, Entry::Checks::All);
}

Metadata Operation::described(nb::list inputs, nb::dict values) const {
  Metadata metadata;
  for (nb::handle item : inputs) {
    const auto pair = nb::cast<nb::tuple>(item);
    const auto type_name = nb::cast<std::string>(pair[0]);
    const std::optional<DType> type = dtype_from_name(type_name);
    if (!type) raise_argument("'" + type_name + "' is no element type of the language");
    TensorMeta meta;
    meta.type = *type;
    for (nb::handle size : pair[1])
      meta.sizes.push_back(nb::cast<std::int64_t>(size));
    meta.alignment = std::max(1, bits(meta.type) / 8);
    metadata.inputs.push_back(std::move(meta));
  }
  for (const auto& [key, value] : values) {
    const auto name = nb::cast<std::string>(key);
    const auto& parameters = interface_->def.parameters;
    const auto found =
        std::find_if(parameters.begin(), parameters.end(),
                     [&](const ParameterInfo& parameter) { return parameter.name == name; });
    if (found == parameters.end())
      metadata.sizes[name] = nb::cast<std::int64_t>(value);
    else if (is_float(found->type))
      metadata.consts[name].real = nb::cast<double>(value);
    else
      metadata.consts[name].integer = nb::cast<std::int64_t>(value);
  }
  return metadata;
}

std::int64_t Operation::register_xla(nb::list inputs, nb::dict values, std::string cpu_options,
                                     std::string cuda_options) const {
  return add_xla_call({session_, interface_, described(std::move(inputs), std::move(values)),
                       std::move(cpu_options), std::move(cuda_options)});
}

nb::list Operation::infer(nb::list inputs, nb::dict values) const {
  const Metadata metadata = described(std::move(inputs), std::move(values));
  nb::list outputs;
  for (const TensorMeta& meta : value_or_raise(
           infer_outputs(interface_->text, interface_->def.name, metadata), interface_->text)) {
    nb::list shape;
    for (const std::int64_t size : meta.sizes)
      shape.append(size);
    outputs.append(nb::make_tuple(std::string(name(meta.type)),
                                  nb::steal<nb::tuple>(PySequence_Tuple(shape.ptr()))));
  }
  return outputs;
}

}  // namespace tc::python
