// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>

namespace tc::math::test {

namespace {

// Expression templates off: Boost.Math accepts the results of operators directly.
using Big = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<50>,
                                          boost::multiprecision::et_off>;
using Args = std::vector<Big>;
using Function = std::function<Big(const Args&)>;

Big pi() {
  return boost::math::constants::pi<Big>();
}

Big length(const Args& x) {
  Big sum = 0;
  for (const Big& v : x)
    sum += v * v;
  return sqrt(sum);
}

/// Real cube root.
Big cube_root(const Big& x) {
  return x < 0 ? -pow(-x, Big(1) / 3) : pow(x, Big(1) / 3);
}

Big log_one_plus(const Big& x) {
  // 50 digits minus the 30 that a subnormal-free double can cancel.
  if (abs(x) < Big("1e-12")) return x - x * x / 2 + x * x * x / 3 - x * x * x * x / 4;
  return log(1 + x);
}
Big exp_minus_one(const Big& x) {
  if (abs(x) < Big("1e-9")) return x + x * x / 2 + x * x * x / 6 + x * x * x * x / 24;
  return exp(x) - 1;
}
Big hyperbolic_sine(const Big& x) {
  return abs(x) < Big("1e-9") ? x + x * x * x / 6 : (exp(x) - exp(-x)) / 2;
}
Big hyperbolic_tangent(const Big& x) {
  const Big e = exp_minus_one(2 * x);
  return e / (e + 2);
}
Big area_tangent(const Big& x) {
  return (log_one_plus(x) - log_one_plus(-x)) / 2;
}
Big area_sine(const Big& x) {
  const Big a = abs(x);
  const Big y = log_one_plus(a + a * a / (1 + sqrt(a * a + 1)));
  return x < 0 ? -y : y;
}

Big arc_tangent(const Args& x) {
  return atan2(x[0], x[1]);
}

const std::map<std::string, Function, std::less<>>& elementary() {
  static const std::map<std::string, Function, std::less<>> table{
      {"abs", [](const Args& x) { return abs(x[0]); }},
      {"acos", [](const Args& x) { return acos(x[0]); }},
      {"acosh",
       [](const Args& x) {
         const Big t = x[0] - 1;
         return log_one_plus(t + sqrt(t * t + 2 * t));
       }},
      {"asin", [](const Args& x) { return asin(x[0]); }},
      {"asinh", [](const Args& x) { return area_sine(x[0]); }},
      {"atan", [](const Args& x) { return atan(x[0]); }},
      {"atan2", arc_tangent},
      {"atanh", [](const Args& x) { return area_tangent(x[0]); }},
      {"cbrt", [](const Args& x) { return cube_root(x[0]); }},
      {"ceil", [](const Args& x) { return ceil(x[0]); }},
      {"copysign", [](const Args& x) { return signbit(x[1]) ? -abs(x[0]) : abs(x[0]); }},
      {"cos", [](const Args& x) { return cos(x[0]); }},
      {"cosh", [](const Args& x) { return (exp(x[0]) + exp(-x[0])) / 2; }},
      {"cospi", [](const Args& x) { return cos(pi() * fmod(x[0], Big(2))); }},
      {"exp", [](const Args& x) { return exp(x[0]); }},
      {"exp10", [](const Args& x) { return pow(Big(10), x[0]); }},
      {"exp2", [](const Args& x) { return pow(Big(2), x[0]); }},
      {"expm1", [](const Args& x) { return exp_minus_one(x[0]); }},
      {"fabs", [](const Args& x) { return abs(x[0]); }},
      {"fdim", [](const Args& x) { return x[0] > x[1] ? Big(x[0] - x[1]) : Big(0); }},
      {"fdivide", [](const Args& x) { return x[0] / x[1]; }},
      {"floor", [](const Args& x) { return floor(x[0]); }},
      {"fma", [](const Args& x) { return x[0] * x[1] + x[2]; }},
      {"fmax", [](const Args& x) { return x[0] > x[1] ? x[0] : x[1]; }},
      {"fmin", [](const Args& x) { return x[0] < x[1] ? x[0] : x[1]; }},
      {"fmod", [](const Args& x) { return x[0] - x[1] * trunc(x[0] / x[1]); }},
      {"hypot", length},
      {"log", [](const Args& x) { return log(x[0]); }},
      {"log10", [](const Args& x) { return log(x[0]) / log(Big(10)); }},
      {"log1p", [](const Args& x) { return log_one_plus(x[0]); }},
      {"log2", [](const Args& x) { return log(x[0]) / log(Big(2)); }},
      {"logb", [](const Args& x) { return Big(ilogb(x[0])); }},
      {"norm3d", length},
      {"norm4d", length},
      {"pow", [](const Args& x) { return pow(x[0], x[1]); }},
      {"rcbrt", [](const Args& x) { return 1 / cube_root(x[0]); }},
      {"relu", [](const Args& x) { return x[0] > 0 ? x[0] : Big(0); }},
      {"remainder",
       [](const Args& x) {
         const Big q = x[0] / x[1];
         Big n = floor(q + Big(0.5));
         if (n - q == Big(0.5) && fmod(n, Big(2)) != 0) n -= 1;  // ties to even
         return x[0] - n * x[1];
       }},
      {"rhypot", [](const Args& x) { return 1 / length(x); }},
      {"rint",
       [](const Args& x) {
         Big n = floor(x[0] + Big(0.5));
         if (n - x[0] == Big(0.5) && fmod(n, Big(2)) != 0) n -= 1;
         return n;
       }},
      {"rnorm3d", [](const Args& x) { return 1 / length(x); }},
      {"rnorm4d", [](const Args& x) { return 1 / length(x); }},
      {"round",
       [](const Args& x) {
         const Big n = floor(abs(x[0]) + Big(0.5));
         return x[0] < 0 ? -n : n;
       }},
      {"rsqrt", [](const Args& x) { return 1 / sqrt(x[0]); }},
      {"sigmoid", [](const Args& x) { return 1 / (1 + exp(-x[0])); }},
      {"sin", [](const Args& x) { return sin(x[0]); }},
      {"sinh", [](const Args& x) { return hyperbolic_sine(x[0]); }},
      {"sinpi", [](const Args& x) { return sin(pi() * fmod(x[0], Big(2))); }},
      {"sqrt", [](const Args& x) { return sqrt(x[0]); }},
      {"tan", [](const Args& x) { return tan(x[0]); }},
      {"tanh", [](const Args& x) { return hyperbolic_tangent(x[0]); }},
      {"trunc", [](const Args& x) { return trunc(x[0]); }},
  };
  return table;
}

const std::map<std::string, Function, std::less<>>& special() {
  static const std::map<std::string, Function, std::less<>> table{
      {"cyl_bessel_i0", [](const Args& x) { return boost::math::cyl_bessel_i(0, x[0]); }},
      {"cyl_bessel_i1", [](const Args& x) { return boost::math::cyl_bessel_i(1, x[0]); }},
      {"erf", [](const Args& x) { return boost::math::erf(x[0]); }},
      {"erfc", [](const Args& x) { return boost::math::erfc(x[0]); }},
      {"erfcinv", [](const Args& x) { return boost::math::erfc_inv(x[0]); }},
      {"erfcx", [](const Args& x) { return exp(x[0] * x[0]) * boost::math::erfc(x[0]); }},
      {"erfinv", [](const Args& x) { return boost::math::erf_inv(x[0]); }},
      {"j0", [](const Args& x) { return boost::math::cyl_bessel_j(0, x[0]); }},
      {"j1", [](const Args& x) { return boost::math::cyl_bessel_j(1, x[0]); }},
      {"lgamma", [](const Args& x) { return boost::math::lgamma(x[0]); }},
      {"normcdf", [](const Args& x) { return boost::math::erfc(-x[0] / sqrt(Big(2))) / 2; }},
      {"normcdfinv", [](const Args& x) { return -sqrt(Big(2)) * boost::math::erfc_inv(2 * x[0]); }},
      {"tgamma", [](const Args& x) { return boost::math::tgamma(x[0]); }},
      {"y0", [](const Args& x) { return boost::math::cyl_neumann(0, x[0]); }},
      {"y1", [](const Args& x) { return boost::math::cyl_neumann(1, x[0]); }},
  };
  return table;
}

const Function& function_of(std::string_view builtin) {
  for (const auto* table : {&elementary(), &special()}) {
    const auto at = table->find(builtin);
    if (at != table->end()) return at->second;
  }
  throw std::invalid_argument("no reference for " + std::string(builtin));
}

}  // namespace

double ulp_error(std::string_view builtin, const std::vector<double>& x, double result,
                 int precision, int min_exponent, double floor) {
  Args args(x.begin(), x.end());
  const Big exact = function_of(builtin)(args);
  Big magnitude = abs(exact);
  if (magnitude < floor) magnitude = floor;
  const int exponent = magnitude == 0 ? min_exponent : std::max(ilogb(magnitude), min_exponent);
  const Big unit = ldexp(Big(1), exponent - (precision - 1));
  return static_cast<double>(Big(abs(Big(result) - exact) / unit));
}

}  // namespace tc::math::test
