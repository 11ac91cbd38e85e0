// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#include "tc/kernel/seal.h"

namespace tc::runtime::cuda {

void FakeDriverTest::TearDown() {
  EXPECT_EQ(fake::violations(), std::vector<std::string>{});
  for (const char* kind : {"context", "module", "stream", "event", "graph", "graph exec", "memory"})
    EXPECT_EQ(fake::alive(kind), 0) << kind;
}

Result<std::shared_ptr<const Driver>, Rejection> FakeDriverTest::try_open() {
  return Driver::open({.library = TC_FAKE_CUDA});
}

std::shared_ptr<const Driver> FakeDriverTest::open() {
  auto driver = try_open();
  EXPECT_TRUE(driver) << driver.error().message;
  return *driver;
}

LaunchTable FakeDriverTest::table(std::vector<KernelLaunch> kernels, const std::string& steps) {
  LaunchTable table;
  table.arguments = {{.kind = kernel::Argument::Kind::Input, .name = "x", .position = 0},
                     {.kind = kernel::Argument::Kind::Output, .name = "y", .position = 0},
                     {.kind = kernel::Argument::Kind::Scratch, .name = "t", .size_bytes = 64}};
  table.kernels = std::move(kernels);
  table.scratch_bytes = 64;
  auto parsed = kernel::parse_steps(steps);
  EXPECT_TRUE(parsed) << parsed.error().message;
  table.steps = *parsed;
  return table;
}

LaunchTable FakeDriverTest::scale_table() {
  return table({{.name = "scale", .grid = {7, 1, 1}, .block = {128, 1, 1}, .buffers = 2}},
               "launch 0(0, 1)\n");
}

Result<std::shared_ptr<const Module>, Rejection>
FakeDriverTest::try_create(std::shared_ptr<const Driver> driver, LaunchTable table,
                           const RunLimits& limits) {
  std::string image;
  for (const auto& kernel : table.kernels)
    image += kernel.name + " ";
  return Module::create(std::move(driver), kernel::seal(image), std::move(table), limits);
}

std::shared_ptr<const Module> FakeDriverTest::create(std::shared_ptr<const Driver> driver,
                                                     LaunchTable table) {
  auto module = try_create(std::move(driver), std::move(table));
  EXPECT_TRUE(module) << module.error().to_string();
  return *module;
}

}  // namespace tc::runtime::cuda
