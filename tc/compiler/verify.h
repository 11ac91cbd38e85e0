// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tc/compiler/host_tensor.h"
#include "tc/lang/typed.h"

namespace tc::compiler {

struct Comparison {
  bool ok = true;
  double max_abs = 0;   ///< largest |result - reference| over all floating outputs
  double max_rel = 0;   ///< the same over |reference|, where that is not 0
  double bound = 0;     ///< largest absolute error that was allowed
  std::string message;  ///< first mismatch: output, position, both values
};

enum class Exactness {
  Rounded,  ///< results may differ by accumulated rounding
  Exact,    ///< every bit must agree with the interpreter in the language's precision
};

/// What the interpreter makes of one set of inputs.
struct Reference {
  std::vector<lang::Value> language;  ///< outputs in the language's precision
  std::vector<lang::Value> precise;   ///< outputs in float64
  double scale = 0;                   ///< largest finite magnitude among the inputs
  /// Outputs of interpret_shifted(), or none; see compare().
  std::vector<std::vector<lang::Value>> shifted;
};

/// `initial` holds the contents of accumulated outputs by output position. Throws
/// lang::InterpreterLimit when the program is too large to interpret.
Reference interpret_reference(const lang::TypedDef& specialised,
                              const std::vector<HostTensor>& inputs,
                              const std::map<int, HostTensor>& initial);

/// The outputs when every result of a builtin without exactly rounded implementations is 4 units in
/// the last place (docs/builtins_accuracy.md: the most that one is off) lower, and higher, and
/// every float that becomes an integer 64, for the sums before it. An element at which these runs
/// leave the reference sits beside a step (a cast to an integer, floor, a comparison), where either
/// side is right.
///
/// For programs that nobody wrote to be well conditioned. An element that no step is near compares
/// as without: there the runs agree to within the bound.
std::vector<std::vector<lang::Value>> interpret_shifted(const lang::TypedDef& specialised,
                                                        const std::vector<HostTensor>& inputs,
                                                        const std::map<int, HostTensor>& initial);

/// How far an element of a floating output may be from the float64 reference: see compare().
struct Tolerance {
  double common = 0;    ///< of all elements
  double relative = 0;  ///< of the reference's magnitude: the last rounding

  double of(double precise) const;
};
/// Of output `o`, for Exactness::Rounded.
Tolerance tolerance(const lang::TypedDef& specialised, const Reference& reference, std::size_t o);
/// In bounds, or both infinite alike, or both NaN.
bool is_close(double a, double b, double bound);

/// Compares outputs of a run with the reference of the same inputs.
///
/// Rounded: a floating element may differ from the float64 reference by 16 times the largest error
/// that the interpreter itself makes in the language's precision on that output (its conditioning),
/// plus eps * (8 + 4 sqrt(n)) * max|x|, with n the longest reduction, x the inputs and the
/// output, and eps that of float64 only where nothing is computed in float32, plus one rounding to
/// the type of the output. NaN must meet NaN, an infinity the same
/// one. Integers must equal one of the two interpretations, since a value at a discontinuity may
/// round either way. Where the reference holds shifted runs, a value may also lie between the least
/// and the greatest of all its runs; integers of less than 32 bits, which wrap, are not compared
/// where these differ.
Comparison compare(const lang::TypedDef& specialised, const Reference& reference,
                   const std::vector<HostTensor>& outputs, Exactness exactness);

/// interpret_reference() and compare() in one.
Comparison compare_with_interpreter(const lang::TypedDef& specialised,
                                    const std::vector<HostTensor>& inputs,
                                    const std::map<int, HostTensor>& initial,
                                    const std::vector<HostTensor>& outputs, Exactness exactness);

}  // namespace tc::compiler
