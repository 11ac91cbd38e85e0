// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <nanobind/stl/string.h>

#include "tc/program.h"

namespace nb = nanobind;

namespace tc::python {

namespace {

const char* kind_name(Failure::Kind kind) {
  switch (kind) {
  case Failure::Kind::Program: return "program";
  case Failure::Kind::Argument: return "argument";
  case Failure::Kind::Mapping: return "mapping";
  case Failure::Kind::Target: return "target";
  case Failure::Kind::Internal: return "internal";
  }
  return "internal";
}

[[noreturn]] void raise(nb::handle exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

nb::object errors() {
  return nb::module_::import_("tensor_comprehensions._errors");
}

}  // namespace

void raise_failure(const Failure& failure, std::string_view text) {
  const SourceBuffer source("<text>", std::string(text));
  nb::list diagnostics;
  for (const Diagnostic& diagnostic : failure.diagnostics) {
    const SourceBuffer::Position begin = source.position(diagnostic.range.begin);
    const SourceBuffer::Position end = source.position(diagnostic.range.end);
    nb::list notes;
    for (const DiagnosticNote& note : diagnostic.notes)
      notes.append(nb::str(note.message.c_str()));
    diagnostics.append(nb::make_tuple(diagnostic.severity == Severity::Error ? "error" : "warning",
                                      diagnostic.code, diagnostic.message, begin.line, begin.column,
                                      end.line, end.column, notes, render(source, diagnostic)));
  }
  raise(errors().attr("from_failure")(kind_name(failure.kind), failure.message, diagnostics,
                                      failure.reproducer));
}

void raise_argument(const std::string& message) {
  raise(errors().attr("ArgumentError")(message));
}

void raise_python() {
  throw nb::python_error();
}

}  // namespace tc::python
