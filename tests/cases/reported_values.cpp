// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reported.h"
#include "values.h"

namespace tc::cases {

namespace {

using lang::Value;

constexpr DType kFloat = DType::Float32;

std::vector<Case> views() {
  std::vector<Case> cases;
  const Value x = f32({5, 37}, 1);
  for (const View view : {View::Contiguous, View::Aligned, View::Offset, View::Padded,
                          View::Strided, View::Transposed, View::Reversed})
    cases.push_back(reported_case("18_views.tc", "copy", {{x, view}}, {{x}}));
  const Value repeated =
      tabulate(kFloat, {5, 37}, [](const Shape& s) { return (s[1] * 7) % 11 - 5; });
  cases.push_back(reported_case("18_views.tc", "copy", {{repeated, View::Expanded}}, {{repeated}}));
  return cases;
}

std::vector<Case> names() {
  const Value a = f32({33}, 2);
  std::vector<Case> cases = {
      reported_case("19_names.tc", "scalar", {{f32({}, Reals{3.5})}}, {{f32({}, Reals{3.5})}}),
      reported_case("19_names.tc", "no_inputs", {}, {{i32({10}, Integers(10, 4))}})};
  for (const char* def : {"main", "__global__", "kernel", "int", "auto"})
    cases.push_back(reported_case("19_names.tc", def, {{a}}, {{a}}));
  return cases;
}

std::vector<Case> empty_tensors() {
  const std::string file = "21_empty.tc";
  const auto zeros = [](Shape shape) { return Value::zeros(kFloat, std::move(shape)); };
  return {
      reported_case(file, "elementwise", {{zeros({0, 4})}}, {{zeros({0, 4})}}),
      reported_case(file, "elementwise", {{zeros({4, 0})}}, {{zeros({4, 0})}}),
      reported_case(file, "sums", {{zeros({2, 0})}}, {{zeros({2})}}),
      reported_case(file, "products", {{zeros({2, 0})}}, {{f32({2}, Reals{1, 1})}}),
      reported_case(file, "contraction", {{zeros({3, 0})}, {zeros({0})}}, {{zeros({3})}}),
      reported_case(file, "maxima", {{zeros({0, 0})}}, {{zeros({0})}}),
      reported_case(file, "maxima", {{zeros({0, 3})}}, {{zeros({0})}}),
  };
}

/// Sum and smallest of the elements with `fixed` in dimension `dim` of a matrix.
std::pair<double, double> fold(const Value& x, std::size_t dim, std::int64_t fixed) {
  double sum = 0;
  double least = kInf;
  for (std::int64_t i = 0; i < x.shape[1 - dim]; ++i) {
    const double value = dim == 0 ? at(x, {fixed, i}) : at(x, {i, fixed});
    sum += value;
    least = std::min(least, value);
  }
  return {sum, least};
}

std::vector<Case> boundary_sizes() {
  std::vector<Case> cases;
  for (const std::int64_t n : {1, 2, 31, 32, 33, 127, 257, 1000, 65537}) {
    const Value x = f32({n}, 7);
    double sum = 0;
    for (const double value : x.real)
      sum += value;
    const double best = *std::max_element(x.real.begin(), x.real.end());
    const Value y = tabulate(kFloat, {n}, [&](const Shape& s) { return 2 * at(x, {s[0]}); });
    cases.push_back(reported_case("22_boundary_sizes.tc", "reductions", {{x}},
                                  {{f32({}, Reals{sum})}, {f32({}, Reals{best})}, {y}}));
    for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>(3, n), {n, 2}}) {
      const Value m = f32({rows, columns}, 8);
      const auto row_sum = [&](const Shape& s) { return fold(m, 0, s[0]).first; };
      const auto row_min = [&](const Shape& s) { return fold(m, 0, s[0]).second; };
      const auto column_sum = [&](const Shape& s) { return fold(m, 1, s[0]).first; };
      cases.push_back(reported_case(
          "22_boundary_sizes.tc", "rows", {{m}},
          {{tabulate(kFloat, {rows}, row_sum)}, {tabulate(kFloat, {rows}, row_min)}}));
      cases.push_back(reported_case("22_boundary_sizes.tc", "columns", {{m}},
                                    {{tabulate(kFloat, {columns}, column_sum)}}));
    }
  }
  return cases;
}

std::vector<Case> nan_and_infinity() {
  const std::string file = "23_nan_and_infinity.tc";
  std::vector<Case> cases = {reported_case(file, "maxima",
                                           {{f32({2, 2}, Reals{kNan, kInf, 1, kNan})}},
                                           {{f32({2}, Reals{kNan, kNan})}})};
  // Row r holds its one NaN at position r: before, at and behind every boundary.
  const Value x = tabulate(kFloat, {70, 70}, [](const Shape& s) {
    return s[0] == s[1] ? kNan : s[1] == 0 ? kInf : static_cast<double>(s[1] % 5);
  });
  cases.push_back(reported_case(file, "maxima", {{x}}, {{f32({70}, Reals(70, kNan))}}));
  // The first tile of row 0 is -inf, row 1 is, row 2 starts with one finite element.
  const Value y = tabulate(kFloat, {3, 96}, [](const Shape& s) {
    return (s[0] == 0 && s[1] >= 32) || (s[0] == 2 && s[1] == 0) ? 0 : -kInf;
  });
  cases.push_back(reported_case(file, "log_sum_exp", {{y}},
                                {{f32({3}, Reals{std::log(64.0), kNan, 0}), 1e-6}}));
  cases.push_back(reported_case(file, "guarded_log_sum_exp", {{y}},
                                {{f32({3}, Reals{std::log(64.0), -kInf, 0}), 1e-6}}));
  return cases;
}

std::vector<Case> narrow_accumulation() {
  const Value ones = tabulate(DType::Float16, {4096}, [](const Shape&) { return 1; });
  const Value half = {DType::Float16, {}, {4096}, {}};
  const Value a = {DType::Int8, {2, 2}, {}, {-44, -20, -126, 6}};
  const Value b = {DType::Int8, {2, 2}, {}, {24, -75, 127, -101}};
  return {reported_case("24_narrow_accumulation.tc", "half_sum", {{ones}}, {{half}}),
          reported_case("24_narrow_accumulation.tc", "int8_product", {{a}, {b}},
                        {{i32({2, 2}, {-3596, 5320, -2262, 8844})}})};
}

std::vector<Case> bool_sums() {
  const Value ones = tabulate(DType::Bool, {256}, [](const Shape&) { return 1; });
  return {reported_case("25_bool_sums.tc", "count", {{ones}}, {{i32({}, {256})}}),
          reported_case("25_bool_sums.tc", "any", {{ones}}, {{Value{DType::Bool, {}, {}, {1}}}})};
}

std::vector<Case> floor_division() {
  const std::string file = "26_floor_division.tc";
  const auto scalar = [](std::int64_t value) { return i32({}, {value}); };
  const Value a = i32({8}, {-7, 7, -7, 7, -8, 5, INT32_MIN, INT32_MIN});
  const Value b = i32({8}, {2, -2, -2, 2, 4, 0, -1, 0});
  const Value places = tabulate(DType::Int32, {15}, [](const Shape& s) {
    return static_cast<std::int64_t>(std::floor((static_cast<double>(s[0]) - 7) / 2));
  });
  const Value rest = tabulate(DType::Int32, {15}, [](const Shape& s) { return (s[0] + 2) % 3; });
  return {
      reported_case(file, "values", {{scalar(-7)}, {scalar(2)}},
                    {{scalar(-4)}, {scalar(1)}, {scalar(-4)}}),
      reported_case(file, "element_wise", {{a}, {b}},
                    {{i32({8}, {-4, -4, 3, 3, -2, 0, INT32_MIN, 0})},
                     {i32({8}, {1, -1, -1, 1, 0, 0, 0, 0})}}),
      reported_case(file, "constants", {}, {{scalar(-4)}, {scalar(1)}, {scalar(-4)}}),
      reported_case(file, "subscripts", {{i32({2}, {10, 20})}}, {{i32({3}, {10, 20, 20})}}),
      reported_case(file, "positions", {}, {{places}, {rest}}),
  };
}

std::vector<Case> nested_modulo() {
  return {reported_case("27_nested_modulo.tc", "nested", {}, {{i32({6}, {0, 0, 2, 2, 0, 0})}})};
}

std::vector<Case> two_reductions() {
  std::vector<Case> cases;
  for (const std::int64_t n : {1, 33, 100, 1000}) {
    const Value x = f32({3, n}, 3);
    const auto mean = [&](const Shape& s) { return fold(x, 0, s[0]).first / double(n); };
    const auto variance = [&](const Shape& s) {
      double squares = 0;
      for (std::int64_t k = 0; k < n; ++k)
        squares += at(x, {s[0], k}) * at(x, {s[0], k});
      return squares / double(n) - mean(s) * mean(s);
    };
    cases.push_back(reported_case(
        "29_two_reductions.tc", "moments", {{x}},
        {{tabulate(kFloat, {3}, mean), 1e-6}, {tabulate(kFloat, {3}, variance), 1e-5}}));
  }
  return cases;
}

std::vector<Case> smaller_consumer() {
  std::vector<Case> cases;
  for (const std::int64_t rows : {3, 6, 33, 70}) {
    const Value a = f32({rows, 5}, 1);
    const auto sum = [&](std::int64_t row) { return fold(a, 0, row).first; };
    cases.push_back(
        reported_case("30_smaller_consumer.tc", "rows", {{a}},
                      {{tabulate(kFloat, {rows}, [&](const Shape& s) { return sum(s[0]); })},
                       {tabulate(kFloat, {rows - 2},
                                 [&](const Shape& s) { return sum(s[0]) + sum(s[0] + 2); })}}));
  }
  return cases;
}

std::vector<Case> odd_rows() {
  std::vector<Case> cases;
  for (const std::int64_t width : {1185, 1953}) {
    for (const View view : {View::Contiguous, View::Offset, View::Padded}) {
      const Value x = f32({3, width}, 1);
      const Value w = f32({width}, 2);
      const Value y = tabulate(kFloat, {3, width},
                               [&](const Shape& s) { return at(x, {s[0], s[1]}) * at(w, {s[1]}); });
      const Value s =
          tabulate(kFloat, {3}, [&](const Shape& row) { return fold(y, 0, row[0]).first; });
      const View of_weights = view == View::Padded ? View::Offset : view;
      cases.push_back(
          reported_case("31_odd_rows.tc", "scaled", {{x, view}, {w, of_weights}}, {{y}, {s}}));
    }
  }
  return cases;
}

std::vector<Case> poisoned_output() {
  const Value x = f32({67}, 2);
  const double best = *std::max_element(x.real.begin(), x.real.end());
  const Value y = tabulate(kFloat, {67}, [&](const Shape& s) { return at(x, {s[0]}) + 1; });
  return {reported_case("33_poisoned_output.tc", "mixed", {{x}}, {{y}, {f32({}, Reals{best})}})};
}

TensorMeta meta(DType type, Shape sizes) {
  return meta_of(View::Contiguous, type, sizes);
}

Refusal refusal(int number, const std::string& what, const std::string& text,
                std::vector<TensorMeta> inputs, const std::string& code,
                std::vector<std::string> parts) {
  Refusal result;
  result.name = std::to_string(number) + " " + what;
  result.text = text;
  result.metadata.inputs = std::move(inputs);
  result.code = code;
  result.kind = code.empty() ? Failure::Kind::Argument : Failure::Kind::Program;
  result.parts = std::move(parts);
  return result;
}

}  // namespace

std::vector<ReportedCase> reported_values() {
  return {{18, "views", views},
          {19, "names_and_no_inputs", names},
          {21, "empty_tensors", empty_tensors},
          {22, "sizes_around_boundaries", boundary_sizes},
          {23, "nan_and_infinity", nan_and_infinity},
          {24, "narrow_accumulation", narrow_accumulation},
          {25, "sums_of_bool", bool_sums},
          {26, "floor_division", floor_division},
          {27, "nested_modulo", nested_modulo},
          {29, "two_reductions", two_reductions},
          {30, "consumer_with_smaller_extent", smaller_consumer},
          {31, "odd_rows_and_offset_bases", odd_rows},
          {33, "poisoned_output", poisoned_output}};
}

std::vector<Refusal> reported_refusals() {
  const std::string copy = "def f(float(I,J) x) -> (y) { y(i,j) = x(i,j) }";
  Refusal expanded =
      refusal(18, "output with stride 0", copy, {meta(kFloat, {3, 4})}, "", {"stride 0"});
  expanded.metadata.outputs = {TensorMeta{kFloat, {3, 4}, {0, 1}, 4}};
  std::vector<Refusal> refusals = {
      expanded,
      refusal(20, "float subscript", "def f(float(N) a) -> (b) { b(i) = a(i+.5) }",
              {meta(kFloat, {3})}, "E0240", {"float"}),
      refusal(20, "arity", "def f(float(N) a) -> (b) { b(i) = exp(a(i), a(i)) }",
              {meta(kFloat, {3})}, "E0213", {"1", "2"}),
      refusal(20, "subscripts", "def f(float(N) a) -> (b) { b(i) = a(i,i) }", {meta(kFloat, {3})},
              "E0212", {"1", "2"}),
      refusal(20, "rank of an argument", copy, {meta(kFloat, {3})}, "",
              {"'x'", "rank 1", "rank 2"}),
      refusal(20, "type of an argument", copy, {meta(DType::Int32, {3, 4})}, "",
              {"'x'", "int32", "float32"}),
      refusal(20, "number of arguments", copy, {}, "", {"'x'", "missing"}),
      refusal(20, "bound on data",
              "def f(float(N) S, float(N) a) -> (b) { b(i) +=! a(i) * a(j) where j in 0:S(0) }",
              {meta(kFloat, {3}), meta(kFloat, {3})}, "E0240", {}),
      refusal(20, "bound on integer data",
              "def f(int32(N) S, float(N) a) -> (b) { b(i) +=! a(i) * a(j) where j in 0:S(0) }",
              {meta(DType::Int32, {3}), meta(kFloat, {3})}, "E0224", {"S"}),
      refusal(20, "no arrow", "def f(float(N) a) (b) { b(i) = a(i) }", {meta(kFloat, {3})}, "E0117",
              {"->"}),
      refusal(21, "a maximum of nothing", "def f(float(N,K) a) -> (b) { b(i) max=! a(i,j) }",
              {meta(kFloat, {2, 0})}, "E0419", {}),
  };
  for (const std::int64_t n : {8, 1024}) {
    refusals.push_back(refusal(32, "x = x + reversed x, in place",
                               "def f(float(M,N) x) -> (x) { x(i,j) = x(i,j) + x(i,N-1-j) }",
                               {meta(kFloat, {n, n})}, "E0415", {"for"}));
    refusals.push_back(refusal(32, "x += reversed x, in place",
                               "def f(float(M,N) x) -> (x) { x(i,j) += x(i,N-1-j) }",
                               {meta(kFloat, {n, n})}, "E0416", {}));
  }
  return refusals;
}

}  // namespace tc::cases
