// SPDX-License-Identifier: Apache-2.0
//
// tensor_comprehensions._tc: the C++ interface for the Python package, nothing more.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.h"
#include "operation.h"
#include "tc/tune.h"
#include "xla_call.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tc::python {

namespace {

nb::tuple strings(const std::vector<std::string>& values) {
  nb::list list;
  for (const std::string& value : values)
    list.append(value);
  return nb::steal<nb::tuple>(PySequence_Tuple(list.ptr()));
}

nb::list parameters_of(const Interface& interface) {
  nb::list result;
  for (const ParameterInfo& parameter : interface.def.parameters)
    result.append(nb::make_tuple(parameter.name, std::string(name(parameter.type)),
                                 parameter.is_const, strings(parameter.dims)));
  return result;
}

nb::list results_of(const Interface& interface) {
  nb::list result;
  for (const ResultInfo& output : interface.def.results)
    result.append(nb::make_tuple(output.name, output.rank, output.in_place_of, output.needs_initial,
                                 strings(output.dims)));
  return result;
}

std::vector<std::shared_ptr<const Interface>> describe_text(const std::string& text) {
  std::vector<std::shared_ptr<const Interface>> result;
  for (DefInfo& info : value_or_raise(describe(text), text))
    result.push_back(std::make_shared<const Interface>(text, std::move(info)));
  return result;
}

nb::tuple batch_text(const std::string& text, const std::string& def,
                     const std::vector<bool>& inputs) {
  const BatchedDef made = value_or_raise(batch(text, def, inputs), text);
  nb::list results;
  for (const bool batched : made.results)
    results.append(batched);
  return nb::make_tuple(made.text, nb::tuple(results));
}

nb::list option_fields() {
  nb::list result;
  for_each_field([&](const auto& field) {
    result.append(nb::make_tuple(field.name, field.domain, field.doc));
  });
  return result;
}

/// The JSON of options with every field, or ArgumentError.
std::string complete_options(const std::string& text, const std::string& target) {
  const Result<MappingOptions, std::string> options =
      read_options(text, target == "cuda" ? TargetKind::Cuda : TargetKind::Cpu);
  if (!options) raise_argument(options.error());
  if (const std::string problem = validate(*options); !problem.empty()) raise_argument(problem);
  return to_json(*options);
}

std::shared_ptr<Session> make_session(const std::string& cache_dir, bool cached,
                                      const std::string& dump_dir, const std::string& cuda_path,
                                      const std::vector<std::string>& site_packages,
                                      const std::string& cpu) {
  auto session = std::make_shared<Session>();
  session->context.cache = cached ? open_cache(cache_dir) : nullptr;
  session->context.dump_dir = dump_dir;
  session->search = {cuda_path, site_packages, {}};
  session->context.cuda = find_cuda(session->search);
  session->cpu = cpu;
  return session;
}

std::string problem_of_cache(const Session& session) {
  const nb::gil_scoped_release released;
  return session.context.cache ? cache_problem(*session.context.cache) : std::string();
}

std::string target_facts(const Session& session, const std::string& target) {
  return value_or_raise(find_target(target, session.context), {}).target.to_string();
}

void compile_xla(std::int64_t call, const std::string& platform, const std::string& text) {
  Result<Executor, Failure> executor = Failure{};
  {
    const nb::gil_scoped_release released;
    executor = compile_xla_call(call, platform == "cpu" ? TargetKind::Cpu : TargetKind::Cuda);
  }
  value_or_raise(std::move(executor), text);
}

/// A call as Python makes it, with its own tuple and dictionary: nothing is converted on the way.
template <class T, class... Rest>
PyObject* call_slot(PyObject* self, PyObject* args, PyObject* kwargs, Rest... rest) {
  try {
    if (!nb::inst_ready(self)) raise_argument("an object that was never initialised was called");
    return nb::inst_ptr<T>(self)->call(args, kwargs, rest...).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* call_operation(PyObject* self, PyObject* args, PyObject* kwargs) {
  return call_slot<Operation>(self, args, kwargs, false);
}
PyObject* call_launcher(PyObject* self, PyObject* args, PyObject* kwargs) {
  return call_slot<Launcher>(self, args, kwargs);
}

PyType_Slot operation_slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_operation)},
                                 {0, nullptr}};
PyType_Slot launcher_slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_launcher)}, {0, nullptr}};

/// Makes `function` what reads `type.__call__`, such as PyTorch's tracer, finds, while calls of
/// instances keep going to the slot that the type has inherited. An assignment would change both.
void show_call(const nb::type_object& type, const nb::object& function) {
  const nb::object dictionary = nb::steal(PyObject_GenericGetDict(type.ptr(), nullptr));
  if (!dictionary.is_valid() ||
      PyDict_SetItemString(dictionary.ptr(), "__call__", function.ptr()) != 0)
    raise_python();
  PyType_Modified(reinterpret_cast<PyTypeObject*>(type.ptr()));
}

}  // namespace

NB_MODULE(_tc, m) {
  // Operators that PyTorch knows live as long as the process.
  nb::set_leak_warnings(false);
  m.def("version", [] { return version(); });
  m.def("build_identity", [] { return build_identity(); });
  m.def("describe", describe_text, "text"_a);
  m.def("batch", batch_text, "text"_a, "name"_a, "inputs"_a);
  m.def("option_fields", option_fields);
  m.def("xla_handlers", [] {
    // PyCapsules named as XLA expects them.
    return nb::make_tuple(
        nb::steal(PyCapsule_New(xla_cpu_handler(), "xla._CUSTOM_CALL_TARGET", nullptr)),
        nb::steal(PyCapsule_New(xla_cuda_handler(), "xla._CUSTOM_CALL_TARGET", nullptr)));
  });
  m.def("compile_xla", compile_xla, "call"_a, "platform"_a, "text"_a);
  m.def("run_tune_worker", &run_tune_worker, nb::call_guard<nb::gil_scoped_release>());
  m.def("complete_options", complete_options, "text"_a, "target"_a);
  m.def("show_call", show_call, "type"_a, "function"_a);

  nb::class_<Session>(m, "Session");
  m.def("open_session", make_session, "cache_dir"_a, "cached"_a, "dump_dir"_a, "cuda_path"_a,
        "site_packages"_a, "cpu"_a);
  m.def("cache_problem", problem_of_cache, "session"_a);
  m.def("target_facts", target_facts, "session"_a, "target"_a);

  nb::class_<Interface>(m, "Interface")
      .def_prop_ro("name", [](const Interface& self) { return self.def.name; })
      .def_prop_ro("text", [](const Interface& self) { return self.text; })
      .def_prop_ro("parameters", parameters_of)
      .def_prop_ro("results", results_of)
      .def_prop_ro("sizes", [](const Interface& self) { return strings(self.def.sizes); });

  nb::class_<Entry>(m, "Kernel");
  nb::class_<Launcher>(m, "Launcher", nb::type_slots(launcher_slots))
      .def(nb::init<std::shared_ptr<const Interface>, std::shared_ptr<Entry>>(), "interface"_a,
           "kernel"_a)
      .def("_report", [](const Launcher& self) { return to_json(self.entry().executor()); })
      .def("_stage",
           [](const Launcher& self, const std::string& stage) {
             Result<std::string, Failure> text = Failure{};
             {
               const nb::gil_scoped_release released;
               text = self.entry().executor().stage_text(stage);
             }
             return value_or_raise(std::move(text), {});
           })
      .def("_check", [](const Launcher& self) { return self.entry().check(); });

  // The base of Operator: names that are not for users begin with an underscore.
  nb::class_<Operation>(m, "Operation", nb::type_slots(operation_slots))
      .def(nb::init<std::shared_ptr<const Session>, std::shared_ptr<const Interface>, std::string,
                    nb::object>(),
           "session"_a, "interface"_a, "options"_a, "hooks"_a)
      .def("_call_plain", [](Operation& self, const nb::args& args,
                             const nb::kwargs& kwargs) { return self.call(args, kwargs, true); })
      .def("_compile", [](Operation& self, const nb::args& args,
                          const nb::kwargs& kwargs) { return self.compile(args, kwargs); })
      .def("_register_xla", &Operation::register_xla, "inputs"_a, "values"_a, "cpu_options"_a,
           "cuda_options"_a)
      .def(
          "_tune",
          [](const Operation& self, const nb::tuple& args, const nb::dict& kwargs,
             const nb::dict& settings, nb::object progress) {
            return self.tune(args, kwargs, settings, std::move(progress));
          },
          "args"_a, "kwargs"_a, "settings"_a, "progress"_a.none())
      .def(
          "_tuned",
          [](const Operation& self, const nb::tuple& args, const nb::dict& kwargs) {
            return self.tuned(args, kwargs);
          },
          "args"_a, "kwargs"_a)
      .def(
          "_call_key",
          [](const Operation& self, const nb::tuple& args, const nb::dict& kwargs) {
            return self.call_key(args, kwargs);
          },
          "args"_a, "kwargs"_a)
      .def("_infer", &Operation::infer, "inputs"_a, "values"_a);
}

}  // namespace tc::python
