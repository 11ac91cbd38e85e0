// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/builtins.h"

#include <algorithm>

namespace tc::lang {

const std::vector<BuiltinInfo>& builtins() {
  using enum BuiltinInfo::Result;
  static const std::vector<BuiltinInfo> table = {
      // keep-sorted by name: find_builtin() searches by halves.
      {"abs", 1, Keep},
      {"acos", 1, Float},
      {"acosh", 1, Float},
      {"asin", 1, Float},
      {"asinh", 1, Float},
      {"atan", 1, Float},
      {"atan2", 2, Float},
      {"atanh", 1, Float},
      {"cbrt", 1, Float},
      {"ceil", 1, Float},
      {"copysign", 2, Float},
      {"cos", 1, Float},
      {"cosh", 1, Float},
      {"cospi", 1, Float},
      {"cyl_bessel_i0", 1, Float},
      {"cyl_bessel_i1", 1, Float},
      {"erf", 1, Float},
      {"erfc", 1, Float},
      {"erfcinv", 1, Float},
      {"erfcx", 1, Float},
      {"erfinv", 1, Float},
      {"exp", 1, Float},
      {"exp10", 1, Float},
      {"exp2", 1, Float},
      {"expm1", 1, Float},
      {"fabs", 1, Float},
      {"fdim", 2, Float},
      {"fdivide", 2, Float},
      {"floor", 1, Float},
      {"fma", 3, Float},
      {"fmax", 2, Float},
      {"fmin", 2, Float},
      {"fmod", 2, Float},
      {"hypot", 2, Float},
      {"isinf", 1, Bool},
      {"isnan", 1, Bool},
      {"j0", 1, Float},
      {"j1", 1, Float},
      {"lgamma", 1, Float},
      {"log", 1, Float},
      {"log10", 1, Float},
      {"log1p", 1, Float},
      {"log2", 1, Float},
      {"logb", 1, Float},
      {"nextafter", 2, Float},
      {"norm3d", 3, Float},
      {"norm4d", 4, Float},
      {"normcdf", 1, Float},
      {"normcdfinv", 1, Float},
      {"pow", 2, Float},
      {"rcbrt", 1, Float},
      {"relu", 1, Keep},
      {"remainder", 2, Float},
      {"rhypot", 2, Float},
      {"rint", 1, Float},
      {"rnorm3d", 3, Float},
      {"rnorm4d", 4, Float},
      {"round", 1, Float},
      {"rsqrt", 1, Float},
      {"sigmoid", 1, Float},
      {"sin", 1, Float},
      {"sinh", 1, Float},
      {"sinpi", 1, Float},
      {"sqrt", 1, Float},
      {"tan", 1, Float},
      {"tanh", 1, Float},
      {"tgamma", 1, Float},
      {"trunc", 1, Float},
      {"y0", 1, Float},
      {"y1", 1, Float},
  };
  return table;
}

const BuiltinInfo* find_builtin(std::string_view name) {
  const std::vector<BuiltinInfo>& table = builtins();
  const auto found = std::lower_bound(
      table.begin(), table.end(), name,
      [](const BuiltinInfo& info, std::string_view wanted) { return info.name < wanted; });
  if (found == table.end() || found->name != name) return nullptr;
  return &*found;
}

}  // namespace tc::lang
