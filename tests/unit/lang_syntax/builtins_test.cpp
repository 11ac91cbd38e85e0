// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/builtins.h"

#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace tc::lang {
namespace {

/// language.md section 9, by arity.
const std::map<int, std::string> kSection9 = {
    {1, "acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf "
        "erfc erfcinv erfcx "
        "erfinv exp exp10 exp2 expm1 fabs floor j0 j1 lgamma log log10 log1p log2 logb normcdf "
        "normcdfinv rcbrt round "
        "rsqrt sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1 abs isnan isinf sigmoid relu rint"},
    {2, "atan2 copysign fdim fdivide fmax fmin fmod hypot nextafter pow remainder rhypot"},
    {3, "fma norm3d rnorm3d"},
    {4, "norm4d rnorm4d"},
};

TEST(Builtins, AreThoseOfTheLanguage) {
  std::size_t count = 0;
  for (const auto& [arity, names] : kSection9) {
    std::istringstream stream(names);
    for (std::string name; stream >> name; ++count) {
      const BuiltinInfo* info = find_builtin(name);
      ASSERT_NE(info, nullptr) << name;
      EXPECT_EQ(info->name, name);
      EXPECT_EQ(info->arity, arity) << name;
    }
  }
  EXPECT_EQ(builtins().size(), count);
}

TEST(Builtins, AreSortedByName) {
  for (std::size_t i = 1; i < builtins().size(); ++i)
    EXPECT_LT(builtins()[i - 1].name, builtins()[i].name);
}

TEST(Builtins, Results) {
  for (const BuiltinInfo& info : builtins()) {
    BuiltinInfo::Result expected = BuiltinInfo::Result::Float;
    if (info.name == "abs" || info.name == "relu") expected = BuiltinInfo::Result::Keep;
    if (info.name == "isnan" || info.name == "isinf") expected = BuiltinInfo::Result::Bool;
    EXPECT_EQ(info.result, expected) << info.name;
  }
}

TEST(Builtins, OthersAreUnknown) {
  for (const char* name : {"", "min", "max", "float", "Exp", "expp", "ex", "zzz", "pad"})
    EXPECT_EQ(find_builtin(name), nullptr) << name;
}

}  // namespace
}  // namespace tc::lang
