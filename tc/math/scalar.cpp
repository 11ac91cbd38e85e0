// SPDX-License-Identifier: Apache-2.0
#include "tc/math/scalar.h"

#include <algorithm>

namespace tc::math {

const std::vector<ScalarFunction>& scalar_functions() {
  static const std::vector<ScalarFunction> table = [] {
    std::vector<ScalarFunction> all;
    const auto add = [&](std::string_view name, int arity, void* f32, void* f64, bool is_bool) {
      all.push_back({name, arity, f32, f64, is_bool});
    };
#define TC_MATH_ADDRESSES(name)                                                                    \
  reinterpret_cast<void*>(&tc_math_##name##_f32), reinterpret_cast<void*>(&tc_math_##name##_f64)
#define TC_MATH_ENTRY(name) add(#name, 1, TC_MATH_ADDRESSES(name), false);
    TC_MATH_UNARY(TC_MATH_ENTRY)
#undef TC_MATH_ENTRY
#define TC_MATH_ENTRY(name) add(#name, 1, TC_MATH_ADDRESSES(name), true);
    TC_MATH_PREDICATE(TC_MATH_ENTRY)
#undef TC_MATH_ENTRY
#define TC_MATH_ENTRY(name) add(#name, 2, TC_MATH_ADDRESSES(name), false);
    TC_MATH_BINARY(TC_MATH_ENTRY)
#undef TC_MATH_ENTRY
#define TC_MATH_ENTRY(name) add(#name, 3, TC_MATH_ADDRESSES(name), false);
    TC_MATH_TERNARY(TC_MATH_ENTRY)
#undef TC_MATH_ENTRY
#define TC_MATH_ENTRY(name) add(#name, 4, TC_MATH_ADDRESSES(name), false);
    TC_MATH_QUATERNARY(TC_MATH_ENTRY)
#undef TC_MATH_ENTRY
#undef TC_MATH_ADDRESSES
    std::sort(all.begin(), all.end(),
              [](const ScalarFunction& a, const ScalarFunction& b) { return a.name < b.name; });
    return all;
  }();
  return table;
}

const ScalarFunction* find_scalar_function(std::string_view name) {
  const auto& all = scalar_functions();
  const auto at =
      std::lower_bound(all.begin(), all.end(), name,
                       [](const ScalarFunction& f, std::string_view n) { return f.name < n; });
  return at != all.end() && at->name == name ? &*at : nullptr;
}

}  // namespace tc::math
