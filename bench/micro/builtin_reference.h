// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace bench {

/// A unary builtin in extended precision, independent of tc/math: the C library's long double
/// functions, Boost.Math in long double, or closed forms over them that neither cancel nor
/// overflow for arguments that are float32.
struct Reference {
  std::string_view name;
  long double (*value)(long double);
};

/// Every unary builtin, predicates included (1 or 0), sorted by name.
const std::vector<Reference>& references();

}  // namespace bench
