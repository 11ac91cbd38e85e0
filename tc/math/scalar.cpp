// SPDX-License-Identifier: Apache-2.0
#include "tc/math/scalar.h"

#include <algorithm>

namespace tc::math {

const std::vector<ScalarFunction>& scalar_functions() {
  static const std::vector<ScalarFunction> table = [] {
#define TC_MATH_ENTRY(name, arity, is_bool)                                                        \
  {#name, arity, reinterpret_cast<void*>(&tc_math_##name##_f32),                                   \
   reinterpret_cast<void*>(&tc_math_##name##_f64), is_bool},
#define TC_MATH_ENTRY1(name) TC_MATH_ENTRY(name, 1, false)
#define TC_MATH_ENTRY1_BOOL(name) TC_MATH_ENTRY(name, 1, true)
#define TC_MATH_ENTRY2(name) TC_MATH_ENTRY(name, 2, false)
#define TC_MATH_ENTRY3(name) TC_MATH_ENTRY(name, 3, false)
#define TC_MATH_ENTRY4(name) TC_MATH_ENTRY(name, 4, false)
    std::vector<ScalarFunction> all = {
        TC_MATH_UNARY(TC_MATH_ENTRY1)           //
        TC_MATH_PREDICATE(TC_MATH_ENTRY1_BOOL)  //
        TC_MATH_BINARY(TC_MATH_ENTRY2)          //
        TC_MATH_TERNARY(TC_MATH_ENTRY3)         //
        TC_MATH_QUATERNARY(TC_MATH_ENTRY4)      //
    };
#undef TC_MATH_ENTRY4
#undef TC_MATH_ENTRY3
#undef TC_MATH_ENTRY2
#undef TC_MATH_ENTRY1_BOOL
#undef TC_MATH_ENTRY1
#undef TC_MATH_ENTRY
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
