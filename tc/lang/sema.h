// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tc/lang/ast.h"
#include "tc/lang/typed.h"
#include "tc/support/diagnostic.h"

namespace tc::lang {

/// Values that make a def concrete: sizes by name and `const` parameters by name.
struct Bindings {
  std::map<std::string, std::int64_t> sizes;
  /// Value of each const parameter: integer consts in `integer`, floating ones in `real`.
  struct ConstValue {
    std::int64_t integer = 0;
    double real = 0;
  };
  std::map<std::string, ConstValue> consts;
};

/// Names, types, promotion, calls inlined, lets substituted. Ranges are still null (see ranges.h).
/// Reports every error into `sink`; returns nullopt if `def` cannot be represented.
std::optional<TypedDef> resolve(const ast::Program& program, const std::string& def,
                                DiagnosticSink& sink);

/// Finishes what waits for the ranges: drops preconditions that hold for all sizes, fills
/// Statement::position of argmin/argmax over several axes: the flat row-major position counted from
/// each range's begin. Placement: after infer_ranges, since it is built from the ranges. Reports
/// E0234 where the ranges are no box.
void set_positions(TypedDef& def, DiagnosticSink& sink);

/// resolve + infer_ranges + set_positions: the front end of one def without sizes.
std::optional<TypedDef> analyse(const ast::Program& program, const std::string& def,
                                DiagnosticSink& sink);

/// Checks program-wide rules (duplicate defs, recursion) and analyses every def (`tensorc check`).
std::vector<TypedDef> analyse_all(const ast::Program& program, DiagnosticSink& sink);

/// Solves the sizes from the shapes of the tensor parameters: bare identifiers first, then dims
/// with one unknown, then everything is checked. `shapes[i]` belongs to the i-th tensor parameter
/// (scalars have rank 0). `known` holds sizes given otherwise (-D) and const values. Errors are
/// text for the caller (no source place): e.g. "argument 'B' has size 5 in dimension 0 where K = 4
/// is expected"; values that do not fit what the text declares are diagnostics.
struct BindResult {
  Bindings bindings;
  std::vector<std::string> errors;
  DiagnosticSink beyond_limits;
  bool ok() const { return errors.empty() && !beyond_limits.has_errors(); }
};
BindResult bind_sizes(const TypedDef& def, const std::vector<std::vector<std::int64_t>>& shapes,
                      const Bindings& known);

/// E0334 for dimension `dim` of a tensor whose declared size leaves 64 bits.
void report_dimension(const TypedDef& def, const Tensor& tensor, std::size_t dim,
                      const Bindings& bindings, DiagnosticSink& sink);
/// " (N = 3, K = 4)": the sizes that have a value; empty if none has.
std::string sizes_text(const Bindings& bindings, const TypedDef& def);

/// Canonical text: identity of a program up to names of everything and layout. Equal programs give
/// equal text.
std::string canonical(const TypedDef& def);

}  // namespace tc::lang
