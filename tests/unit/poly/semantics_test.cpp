// SPDX-License-Identifier: Apache-2.0
//
// Whatever the strategy, and with every reduction split: the schedule is legal, its text reads
// back, and running it gives what the interpreter of the language gives.
#include <gtest/gtest.h>

#include <cmath>

#include "tc/lang/interpreter.h"
#include "tests/unit/poly/evaluator.h"
#include "tests/unit/poly/programs.h"

namespace tc::poly::testing {
namespace {

/// Small integers, so that sums are exact in any order; subscripts of gathers stay in range.
double content(const Tensor& tensor, std::size_t position) {
  const auto scrambled =
      static_cast<std::int64_t>(position * 7 + static_cast<std::size_t>(tensor.param_position) * 3);
  if (tensor.type == DType::Bool) return static_cast<double>(scrambled % 3 == 0);
  if (is_integer(tensor.type)) return static_cast<double>(scrambled % 5);
  return static_cast<double>(scrambled % 11 - 4);
}

std::vector<lang::Value> inputs(const Scop& scop) {
  std::map<int, lang::Value> by_position;
  for (const Tensor& tensor : scop.tensors) {
    if (!tensor.is_param) continue;
    lang::Value value = lang::Value::zeros(tensor.type, tensor.extent);
    for (std::size_t i = 0; i < static_cast<std::size_t>(elements(tensor)); ++i) {
      if (is_float(tensor.type)) {
        value.real[i] = content(tensor, i);
      } else {
        value.integer[i] = static_cast<std::int64_t>(content(tensor, i));
      }
    }
    by_position.emplace(tensor.param_position, std::move(value));
  }
  std::vector<lang::Value> result;
  for (auto& [position, value] : by_position)
    result.push_back(std::move(value));
  return result;
}

void expect_outputs(const Scop& scop, const Memory& memory,
                    const std::vector<lang::Value>& expected) {
  for (std::size_t t = 0; t < scop.tensors.size(); ++t) {
    const Tensor& tensor = scop.tensors[t];
    if (!tensor.is_output) continue;
    const lang::Value& value = expected.at(static_cast<std::size_t>(tensor.output_position));
    for (std::size_t i = 0; i < memory[t].size(); ++i) {
      const double want =
          is_float(tensor.type) ? value.real[i] : static_cast<double>(value.integer[i]);
      const double got =
          tensor.type == DType::Bool ? static_cast<double>(memory[t][i] != 0) : memory[t][i];
      ASSERT_NEAR(got, want, 1e-9 * (1 + std::abs(want))) << tensor.name << " element " << i;
    }
  }
}

Scop split_all(Scop scop, std::int64_t parts) {
  for (std::size_t s = 0; s < scop.statements.size(); ++s) {
    if (!can_split(scop, static_cast<int>(s))) continue;
    const std::size_t before = scop.statements.size();
    scop = split_reduction(scop, static_cast<int>(s), parts);
    s += scop.statements.size() - before;
  }
  return scop;
}

class Semantics : public ::testing::TestWithParam<Program> {};

TEST_P(Semantics, EveryPlanGivesTheResultOfTheProgram) {
  const lang::TypedDef def = front_end(GetParam().text, GetParam().sizes);
  const Scop whole = build_scop(def);
  const auto expected =
      lang::interpret(def, inputs(whole), {}, {.precision = lang::Precision::Double});
  for (const std::int64_t parts : {std::int64_t{1}, std::int64_t{3}}) {
    const Polyhedral poly(split_all(whole, parts));
    for (const Fusion fusion : {Fusion::Max, Fusion::Preserve3Coincident, Fusion::Min}) {
      const Schedule schedule = poly.schedule(fusion);
      EXPECT_EQ(poly.violations(schedule), std::vector<std::string>()) << poly.text(schedule);
      const auto again = parse_schedule(poly.scop, poly.text(schedule), poly.context);
      ASSERT_TRUE(again.has_value()) << again.error() << "\n" << poly.text(schedule);
      EXPECT_EQ(poly.text(*again), poly.text(schedule));
      for (const std::int64_t tile : {1, 2, 100}) {
        SCOPED_TRACE(shape(poly.scop, schedule));
        expect_outputs(poly.scop,
                       run(poly.scop, schedule, initial_memory(poly.scop, content), tile),
                       expected);
        expect_outputs(poly.scop, run(poly.scop, *again, initial_memory(poly.scop, content), tile),
                       expected);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Semantics, ::testing::ValuesIn(programs()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tc::poly::testing
