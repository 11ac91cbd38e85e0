// SPDX-License-Identifier: Apache-2.0
//
// What selection chooses is well formed, prints and parses, and computes the same, for every target
// and option.
#include <gtest/gtest.h>

#include <numeric>

#include "check_program.h"
#include "examples.h"
#include "tc/lower/cpu/lower.h"
#include "tc/runtime/cpu/module.h"

namespace tc::test {
namespace {

Target machine(int bits, int registers) {
  Target target;
  target.vector_bits = bits;
  target.vector_registers = registers;
  target.l1_bytes = 4 << 10;  // small caches: packing and blocks at sizes that tests can afford
  target.l2_bytes = 64 << 10;
  return target;
}

struct Setting {
  const char* name;
  Target target;
  MappingOptions options;
};

std::vector<Setting> settings() {
  std::vector<Setting> all = {{"avx512", machine(512, 32), {}}, {"avx2", machine(256, 16), {}},
                              {"sse", machine(128, 16), {}},    {"scalar", machine(256, 16), {}},
                              {"odd", machine(512, 32), {}},    {"unstaged", machine(512, 32), {}}};
  all[3].options.vector_bits = 1;
  all[4].options.register_rows = 5;
  all[4].options.register_vectors = 3;
  all[4].options.contract_block_k = 16;
  all[5].options.stage = false;
  return all;
}

class SelectSmall : public testing::TestWithParam<Example> {};

TEST_P(SelectSmall, ComputesTheSame) {
  for (const auto& setting : settings())
    for (const std::int64_t size : {1, 7, 19})
      ASSERT_EQ(check_selected(GetParam().make(size), setting.options, setting.target, Run::Checked,
                               static_cast<unsigned>(size)),
                "")
          << setting.name << " " << size;
}

/// This machine, and a lesser one that it can run.
std::vector<Target> runnable_targets() {
  std::vector<Target> targets{runtime::cpu::host_target()};
  if (targets[0].features.find("+avx2") != std::string::npos)
    targets.push_back(*cpu_target("x86-64-v3"));
  return targets;
}

TEST_P(SelectSmall, RunsAsMachineCode) {
  for (const Target& host : runnable_targets())
    for (const std::int64_t size : {1, 31, 65})
      ASSERT_EQ(check_selected(GetParam().make(size), {}, host, Run::Native, 4), "") << size;
}

class SelectContraction : public testing::TestWithParam<Example> {};

TEST_P(SelectContraction, ComputesTheSame) {
  for (const auto& setting : settings()) {
    if (setting.name == std::string("scalar") || setting.name == std::string("unstaged")) continue;
    ASSERT_EQ(check_selected(GetParam().make(49), setting.options, setting.target, Run::Checked, 5),
              "")
        << setting.name;
  }
}

TEST_P(SelectContraction, RunsAsMachineCode) {
  for (Target host : runnable_targets()) {
    host.l1_bytes = 4 << 10;
    host.l2_bytes = 64 << 10;
    for (const std::int64_t size : {33, 61})
      for (const std::int64_t block : {0, 24}) {
        MappingOptions options;
        options.contract_block_k = block;
        ASSERT_EQ(check_selected(GetParam().make(size), options, host, Run::Native, 6), "")
            << size << " " << block;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Single, SelectSmall, testing::ValuesIn(single_operations()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Contractions, SelectContraction, testing::ValuesIn(contractions()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tc::test
