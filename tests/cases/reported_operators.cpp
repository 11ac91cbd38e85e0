// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "reported.h"
#include "values.h"

namespace tc::cases {

namespace {

using lang::Value;

constexpr DType kFloat = DType::Float32;

std::vector<Case> log_convolution() {
  Reals a(10, -kInf);
  a[3] = 0;
  Reals k;
  for (int d = 0; d < 19; ++d)
    k.push_back(-(d - 9.0) * (d - 9.0) / 4);
  const Value y = f32({10}, {-2.25, -1, -.25, 0, -.25, -1, -2.25, -4, -6.25, -9});
  return {reported_case("01_log_convolution.tc", "log_convolution",
                        {{f32({10}, a)}, {f32({19}, k)}}, {{y, 1e-6}})};
}

std::vector<Case> compound_index() {
  std::vector<Case> cases;
  for (const std::int64_t n : {30, 31, 32, 33, 34, 63, 64, 65, 127, 128, 129}) {
    Value a = Value::zeros(kFloat, {n});
    a.real[10] = 1;
    Value k = Value::zeros(kFloat, {2 * n - 1});
    k.real[static_cast<std::size_t>(n - 1)] = 1;
    cases.push_back(reported_case("02_compound_index.tc", "convolution", {{a}, {k}}, {{a}}));
  }
  return cases;
}

std::vector<Case> average_pooling() {
  std::vector<Case> cases;
  for (const auto& [h, w] : {std::pair<std::int64_t, std::int64_t>(20, 20), {70, 90}, {7, 7}}) {
    const Value x = f32({2, 3, h, w}, 3);
    const auto pooled = [&](double before) {
      return tabulate(kFloat, {2, 3, h / 2, w / 2}, [&](const Shape& s) {
        double sum = before;
        for (int i = 0; i < 2; ++i) {
          for (int j = 0; j < 2; ++j)
            sum += at(x, {s[0], s[1], 2 * s[2] + i, 2 * s[3] + j}) / 4;
        }
        return sum;
      });
    };
    cases.push_back(reported_case("03_average_pooling.tc", "pooled", {{x}}, {{pooled(0)}}));
    Case onto = reported_case("03_average_pooling.tc", "onto_buffer", {{x}}, {{pooled(2)}});
    onto.initial[0] = tabulate(kFloat, {2, 3, h / 2, w / 2}, [](const Shape&) { return 2; });
    onto.warning = "W0203";
    onto.warning_text = {"+=!"};
    cases.push_back(onto);
  }
  return cases;
}

std::vector<Case> inferred_offset() {
  return {reported_case("04_inferred_offset.tc", "add", {{f32({5}, Reals{0, 1, 2, 3, 4})}},
                        {{f32({5, 2}, Reals{3, 4, 4, 5, 5, 6, 6, 7, 7, 8})}})};
}

std::vector<Case> max_pooling() {
  const Value x = tabulate(kFloat, {2, 7, 90}, [](const Shape& s) {
    return -1 - (s[0] * 5 + s[1] * 3 + s[2] * 7) % 11;
  });
  const Value y = tabulate(kFloat, {2, 3, 45}, [&](const Shape& s) {
    double best = -kInf;
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j)
        best = std::max(best, at(x, {s[0], 2 * s[1] + i, 2 * s[2] + j}));
    }
    return best;
  });
  return {reported_case("05_max_pooling.tc", "max_pooling", {{x}}, {{y}})};
}

std::vector<Case> guarded_gather() {
  const Value image = f32({5, 4}, 1);
  const Value scale = f32({4}, 2);
  const Value rows =
      tabulate(DType::Int32, {37, 3}, [](const Shape& s) { return (s[0] * 7 + s[1] * 3) % 5; });
  const Value o = tabulate(kFloat, {5, 37}, [&](const Shape& s) {
    double sum = 0;
    for (std::int64_t a = 0; a < 3; ++a) {
      const std::int64_t r = rows.integer[static_cast<std::size_t>(s[1] * 3 + a)];
      if (r != 4) sum += at(image, {s[0], r}) * at(scale, {r});
    }
    return sum;
  });
  return {
      reported_case("06_guarded_gather.tc", "guarded_gather", {{image}, {scale}, {rows}}, {{o}})};
}

std::vector<Case> strided_convolution() {
  std::vector<Case> cases;
  struct Sizes {
    std::int64_t channels, filters, height, width;
  };
  for (const Sizes& size : {Sizes{64, 128, 58, 58}, Sizes{5, 3, 11, 14}}) {
    const Value x = f32({1, size.channels, size.height, size.width}, 1);
    const Value k = f32({size.filters, size.channels, 3, 3}, 2);
    const Shape shape{1, size.filters, (size.height - 3) / 2 + 1, (size.width - 3) / 2 + 1};
    const Value y = tabulate(kFloat, shape, [&](const Shape& s) {
      double sum = 0;
      for (std::int64_t c = 0; c < size.channels; ++c) {
        for (int p = 0; p < 3; ++p) {
          for (int q = 0; q < 3; ++q)
            sum += at(x, {0, c, 2 * s[2] + p, 2 * s[3] + q}) * at(k, {s[1], c, p, q});
        }
      }
      return sum;
    });
    cases.push_back(
        reported_case("07_strided_convolution.tc", "strided_convolution", {{x}, {k}}, {{y}}));
  }
  return cases;
}

Case gram_case(const Value& image, const Value& other, const Value& filter) {
  const std::int64_t h = std::min(image.shape[2], other.shape[2] - filter.shape[0] + 1);
  const std::int64_t w = std::min(image.shape[3], other.shape[3] - filter.shape[1] + 1);
  const Shape full{1, other.shape[1], other.shape[2] - filter.shape[0] + 1,
                   other.shape[3] - filter.shape[1] + 1};
  const Value o = tabulate(kFloat, full, [&](const Shape& s) {
    double sum = 0;
    for (std::int64_t p = 0; p < filter.shape[0]; ++p) {
      for (std::int64_t q = 0; q < filter.shape[1]; ++q)
        sum += at(other, {0, s[1], s[2] + p, s[3] + q}) * at(filter, {p, q});
    }
    return sum;
  });
  const Value g = tabulate(kFloat, {image.shape[1], other.shape[1]}, [&](const Shape& s) {
    double sum = 0;
    for (std::int64_t y = 0; y < h; ++y) {
      for (std::int64_t x = 0; x < w; ++x)
        sum += at(image, {0, s[0], y, x}) * at(o, {0, s[1], y, x});
    }
    return sum;
  });
  return reported_case("08_minimum_bound.tc", "gram", {{image}, {other}, {filter}}, {{o}, {g}});
}

std::vector<Case> minimum_bound() {
  return {gram_case(f32({1, 5, 184, 184}, 1), f32({1, 5, 186, 186}, 2), f32({3, 3}, 3)),
          gram_case(f32({1, 2, 9, 5}, 1), f32({1, 3, 8, 17}, 2), f32({3, 2}, 3))};
}

std::vector<Case> indexed_convolution() {
  const Value x = f32({2, 3, 16, 16}, 1);
  const Value k = f32({5, 3, 3, 3}, 2);
  const Value positions = i32({2, 3}, {10, 12, 10, 12, 12, 10});
  const Value y = tabulate(kFloat, {2, 5, 3}, [&](const Shape& s) {
    const std::int64_t o = positions.integer[static_cast<std::size_t>(s[0] * 3 + s[2])];
    double sum = 0;
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t p = 0; p < 3; ++p) {
        for (std::int64_t q = 0; q < 3; ++q)
          sum += at(x, {s[0], c, o + p, o + q}) * at(k, {s[1], c, p, q});
      }
    }
    return sum;
  });
  return {reported_case("09_indexed_convolution.tc", "indexed_convolution", {{x}, {k}, {positions}},
                        {{y}})};
}

std::vector<Case> padding() {
  std::vector<Case> cases;
  for (const auto& [h, w] : {std::pair<std::int64_t, std::int64_t>(5, 6), {17, 33}, {1, 1}}) {
    const Value x = f32({1, 2, h, w}, 1);
    const Value k = f32({3, 2, 3, 3}, 2);
    const Value y = tabulate(kFloat, {1, 3, h, w}, [&](const Shape& s) {
      double sum = 0;
      for (std::int64_t c = 0; c < 2; ++c) {
        for (std::int64_t p = 0; p < 3; ++p) {
          for (std::int64_t q = 0; q < 3; ++q) {
            const std::int64_t row = s[2] + p - 1;
            const std::int64_t column = s[3] + q - 1;
            if (row >= 0 && row < h && column >= 0 && column < w)
              sum += at(x, {s[0], c, row, column}) * at(k, {s[1], c, p, q});
          }
        }
      }
      return sum;
    });
    for (const char* def : {"padded", "guarded"})
      cases.push_back(reported_case("10_padding.tc", def, {{x}, {k}}, {{y}}));
  }
  return cases;
}

std::vector<Case> convolution_backward() {
  const std::string file = "11_convolution_backward.tc";
  const Value w = f32({3}, Reals{1, 2, 3});
  const Value ones = f32({3}, Reals{1, 1, 1});
  return {reported_case(file, "data_gradient", {{ones}, {w}}, {{f32({5}, Reals{1, 3, 6, 5, 3})}}),
          reported_case(file, "weight_gradient", {{f32({5}, Reals{1, 2, 3, 4, 5})}, {ones}},
                        {{f32({3}, Reals{6, 9, 12})}}),
          reported_case(file, "strided_data_gradient", {{f32({2}, Reals{1, 1})}, {w}},
                        {{f32({5}, Reals{1, 2, 4, 2, 3})}})};
}

std::vector<Case> bounds_from_another_index() {
  const Value a = tabulate(kFloat, {4, 3}, [](const Shape& s) { return 3 * s[0] + s[1] + 1; });
  return {reported_case("12_bounds_from_another_index.tc", "banded",
                        {{a}, {f32({4, 1}, Reals{1, 1, 1, 1})}},
                        {{f32({4, 1}, Reals{5, 15, 24, 21})}})};
}

std::vector<Case> name_assigned_twice() {
  std::vector<Case> cases;
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>(3, 4), {5, 33}}) {
    const Value x = f32({rows, columns}, 5);
    const Value y = tabulate(kFloat, {rows, columns}, [&](const Shape& s) {
      double sum = 0;
      for (std::int64_t j = 0; j < x.shape[1]; ++j)
        sum += std::exp(at(x, {s[0], j}));
      return std::exp(at(x, {s[0], s[1]})) / sum;
    });
    cases.push_back(reported_case("13_name_assigned_twice.tc", "softmax", {{x}}, {{y, 1e-6}}));
  }
  return cases;
}

std::vector<Case> updates_in_order() {
  const Value a = f32({35, 5}, 1);
  const Value b = f32({35}, 2);
  const Value c = f32({35, 2}, 3);
  const Value y = tabulate(kFloat, {35}, [&](const Shape& s) {
    double sum = at(b, {s[0]});
    for (std::int64_t j = 0; j < 5; ++j)
      sum += at(a, {s[0], j});
    for (std::int64_t j = 0; j < 2; ++j)
      sum += at(c, {s[0], j});
    return sum;
  });
  return {reported_case("14_updates_in_order.tc", "updates", {{a}, {b}, {c}}, {{y}})};
}

std::vector<Case> scatter() {
  std::vector<Case> cases;
  cases.push_back(reported_case("15_scatter.tc", "histogram",
                                {{i32({7}, {0, 3, 3, 1, 3, 0, 3})}, {i32({4}, {1, 1, 1, 1})}},
                                {{i32({4}, {3, 2, 1, 5})}}));
  for (const std::int64_t width : {3, 65}) {
    const Value rows =
        tabulate(DType::Int32, {6, 4}, [](const Shape& s) { return (s[0] * s[1]) % 5; });
    const Value gradient = f32({6, 4, width}, 4);
    const Value table = f32({7, width}, 5);
    const Value right = tabulate(kFloat, {7, width}, [&](const Shape& s) {
      double sum = at(table, {s[0], s[1]});
      for (std::int64_t b = 0; b < 6; ++b) {
        for (std::int64_t n = 0; n < 4; ++n) {
          if (rows.integer[static_cast<std::size_t>(b * 4 + n)] == s[0])
            sum += at(gradient, {b, n, s[1]});
        }
      }
      return sum;
    });
    cases.push_back(
        reported_case("15_scatter.tc", "table_gradient", {{rows}, {gradient}, {table}}, {{right}}));
  }
  return cases;
}

std::vector<Case> argmax() {
  const Value x = f32({4, 3}, Reals{-3, -1, -1, kNan, 9, kNan, 5, kNan, 7, -kInf, -kInf, -kInf});
  std::vector<Case> cases = {
      reported_case("16_argmax.tc", "best", {{x}}, {{i32({4}, {1, 0, 1, 0})}}),
      reported_case("16_argmax.tc", "worst_of_everything", {{f32({2, 3}, Reals{4, 2, 3, 1, 1, 5})}},
                    {{i32({}, {3})}})};
  // Ties and NaN across lanes and tiles.
  for (const std::int64_t where : {0, 15, 16, 31, 33, 66}) {
    Value row = tabulate(kFloat, {1, 70}, [](const Shape& s) { return -(s[1] % 2); });
    row.real[static_cast<std::size_t>(where)] = 1;
    row.real[static_cast<std::size_t>(where + 3)] = 1;
    cases.push_back(reported_case("16_argmax.tc", "best", {{row}}, {{i32({1}, {where})}}));
    row.real[static_cast<std::size_t>(where + 3)] = kNan;
    row.real[69] = kNan;
    cases.push_back(reported_case("16_argmax.tc", "best", {{row}}, {{i32({1}, {where + 3})}}));
  }
  return cases;
}

Case qrnn_case(std::int64_t steps, std::int64_t batch) {
  const Value z = f32({steps, batch}, 1);
  const Value f = tabulate(kFloat, {steps, batch},
                           [](const Shape& s) { return double((s[0] * 3 + s[1]) % 5) / 4; });
  Value h = Value::zeros(kFloat, {steps, batch});
  for (std::int64_t t = 0; t < steps; ++t) {
    for (std::int64_t b = 0; b < batch; ++b) {
      const double now = at(z, {t, b});
      const double forget = at(f, {t, b});
      h.real[static_cast<std::size_t>(t * batch + b)] =
          t == 0 ? now : forget * at(h, {t - 1, b}) + (1 - forget) * now;
    }
  }
  return reported_case("17_recurrences.tc", "qrnn", {{z}, {f}}, {{h, 1e-6}});
}

Case rnn_case(std::int64_t steps, std::int64_t batch, std::int64_t width) {
  const Value h0 = tabulate(kFloat, {batch, width},
                            [](const Shape& s) { return double((s[0] * 4 + s[1]) % 9 - 4) / 8; });
  const Value a = tabulate(kFloat, {steps, batch, width}, [](const Shape& s) {
    return double((s[0] * 5 + s[1] * 3 + s[2]) % 7 - 3) / 4;
  });
  const Value u = tabulate(kFloat, {width, width}, [](const Shape& s) {
    return double((s[0] * 3 + s[1] * 2) % 5 - 2) / 16;
  });
  Value h = Value::zeros(kFloat, {steps, batch, width});
  for (std::int64_t t = 0; t < steps; ++t) {
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t k = 0; k < width; ++k) {
        double g = 0;
        for (std::int64_t j = 0; t > 0 && j < width; ++j)
          g += at(h, {t - 1, b, j}) * at(u, {k, j});
        h.real[static_cast<std::size_t>((t * batch + b) * width + k)] =
            t == 0 ? at(h0, {b, k}) : std::tanh(at(a, {t, b, k}) + g);
      }
    }
  }
  return reported_case("17_recurrences.tc", "rnn", {{h0}, {a}, {u}}, {{h, 1e-5}});
}

std::vector<Case> recurrences() {
  return {qrnn_case(5, 3), qrnn_case(40, 33), qrnn_case(1, 2), rnn_case(5, 3, 4),
          rnn_case(9, 2, 33)};
}

}  // namespace

std::vector<ReportedCase> reported_operators() {
  return {{1, "log_convolution", log_convolution},
          {2, "compound_index_under_minus", compound_index},
          {3, "average_pooling", average_pooling},
          {4, "inferred_offset", inferred_offset},
          {5, "max_pooling_of_negative_data", max_pooling},
          {6, "guarded_gather", guarded_gather},
          {7, "strided_convolution", strided_convolution},
          {8, "bound_that_is_a_minimum", minimum_bound},
          {9, "indexed_convolution", indexed_convolution},
          {10, "padding", padding},
          {11, "convolution_backward", convolution_backward},
          {12, "bounds_from_another_index", bounds_from_another_index},
          {13, "name_assigned_twice", name_assigned_twice},
          {14, "updates_in_order", updates_in_order},
          {15, "scatter_with_duplicates", scatter},
          {16, "argmax", argmax},
          {17, "recurrences", recurrences}};
}

}  // namespace tc::cases
