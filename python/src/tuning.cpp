// SPDX-License-Identifier: Apache-2.0
//
// Searches for options, and options from records, for the arguments of a call.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>

#include "errors.h"
#include "operation.h"
#include "tc/tune.h"

namespace nb = nanobind;

namespace tc::python {

namespace {

template <class T>
void take(const nb::dict& settings, const char* key, T& value) {
  if (settings.contains(key)) value = nb::cast<T>(settings[key]);
}

TuneSettings settings_from(const nb::dict& given, const Session& session, TargetKind kind) {
  TuneSettings settings;
  take(given, "seconds", settings.seconds);
  take(given, "trials", settings.trials);
  take(given, "search", settings.search);
  take(given, "seed", settings.seed);
  take(given, "rounds", settings.rounds);
  take(given, "jobs", settings.jobs);
  take(given, "devices", settings.devices);
  take(given, "fixed", settings.fixed);
  take(given, "compile_limit", settings.compile_limit);
  take(given, "run_limit", settings.run_limit);
  take(given, "worker_arguments", settings.worker_arguments);
  settings.worker = nb::cast<std::string>(given["worker"]);
  settings.cuda = session.search;
  Result<MappingOptions, std::string> options =
      read_options(nb::cast<std::string>(given["options"]), kind);
  if (!options) raise_argument(options.error());
  settings.options = *options;
  std::vector<std::string> seeds;
  take(given, "seeds", seeds);
  for (const std::string& seed : seeds) {
    options = read_options(seed, kind);
    if (!options) raise_argument(options.error());
    settings.seeds.push_back(*options);
  }
  return settings;
}

/// Interrupts and errors of Python while a search runs without its lock.
class Watch {
public:
  explicit Watch(nb::object progress) : progress_(std::move(progress)) {}

  void tell(const TuneProgress& progress) {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) {
      // The first interrupt ends the search with what there is, a second one is Python's.
      PyErr_Clear();
      ++interrupts;
      stop = true;
    }
    if (error_ || progress_.is_none()) return;
    try {
      progress_(to_json(progress));
    } catch (nb::python_error& raised) {
      stop = true;
      if (raised.matches(PyExc_KeyboardInterrupt))
        ++interrupts;
      else
        error_.emplace(raised);
    }
  }
  /// Raises what the caller's function raised.
  void rethrow() const {
    if (error_) throw nb::python_error(*error_);
  }

  int interrupts = 0;
  std::atomic<bool> stop{false};

private:
  nb::object progress_;
  std::optional<nb::python_error> error_;
};

std::string source_text(TunedOptions::Source source) {
  if (source == TunedOptions::Source::Exact) return "exact";
  return source == TunedOptions::Source::Nearest ? "nearest" : "default";
}

}  // namespace

std::string Operation::tune(nb::handle args, nb::handle kwargs, const nb::dict& given,
                            nb::object progress) const {
  Call call(*interface_, args, kwargs);
  call.exported = true;
  if (!call.read()) raise_python();
  const std::string name = target_name(call);
  const Metadata metadata = call.metadata();
  TuneSettings settings = settings_from(
      given, *session_, call.device.device_type == kDLCUDA ? TargetKind::Cuda : TargetKind::Cpu);
  Watch watch(std::move(progress));
  settings.progress = [&](const TuneProgress& now) { watch.tell(now); };
  settings.stop = &watch.stop;
  Result<TuneReport, Failure> report = Failure{};
  {
    const nb::gil_scoped_release released;
    const Result<NamedTarget, Failure> target = find_target(name, session_->context);
    if (target)
      report = autotune(interface_->text, interface_->def.name, metadata, settings, *target,
                        session_->context);
    else
      report = target.error();
  }
  watch.rethrow();
  if (watch.interrupts > (report ? 1 : 0)) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    raise_python();
  }
  return to_json(value_or_raise(std::move(report), interface_->text));
}

nb::tuple Operation::tuned(nb::handle args, nb::handle kwargs) const {
  Call call(*interface_, args, kwargs);
  call.exported = true;
  if (!call.read()) raise_python();
  const std::string name = target_name(call);
  const Metadata metadata = call.metadata();
  Result<TunedOptions, Failure> found = Failure{};
  {
    const nb::gil_scoped_release released;
    const Result<NamedTarget, Failure> target = find_target(name, session_->context);
    if (target)
      found = tuned_options(interface_->text, interface_->def.name, metadata, target->target,
                            session_->context);
    else
      found = target.error();
  }
  const TunedOptions options = value_or_raise(std::move(found), interface_->text);
  return nb::make_tuple(to_json(options.options), source_text(options.source), options.note,
                        options.expected_loss);
}

nb::dict Operation::call_key(nb::handle args, nb::handle kwargs) const {
  Call call(*interface_, args, kwargs);
  call.exported = true;
  if (!call.read()) raise_python();
  const std::string name = target_name(call);
  const Metadata metadata = call.metadata();
  nb::list inputs;
  for (const TensorMeta& meta : metadata.inputs)
    inputs.append(nb::make_tuple(std::string(tc::name(meta.type)), nb::cast(meta.sizes),
                                 nb::cast(meta.strides)));
  nb::dict values;
  for (const auto& [parameter, value] : metadata.consts) {
    const auto& parameters = interface_->def.parameters;
    const auto found =
        std::find_if(parameters.begin(), parameters.end(),
                     [&](const ParameterInfo& info) { return info.name == parameter; });
    values[parameter.c_str()] =
        is_float(found->type) ? nb::cast(value.real) : nb::cast(value.integer);
  }
  for (const auto& [size, value] : metadata.sizes)
    values[size.c_str()] = value;
  nb::dict key;
  key["inputs"] = inputs;
  key["values"] = values;
  key["target"] =
      value_or_raise(find_target(name, session_->context), interface_->text).target.to_string();
  return key;
}

}  // namespace tc::python
