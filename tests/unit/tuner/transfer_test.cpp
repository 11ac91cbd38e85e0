// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/transfer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "example_space.h"
#include "tc/compiler/compile_cache.h"
#include "tc/tune.h"

namespace tc::tuner {
namespace {

class TransferTest : public ::testing::Test {
protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(::testing::TempDir()) / ("tc-transfer-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    context_.cache = open_cache(folder_);
    target_ = *cpu_target("x86-64-v3");
    target_.cores = 8;
  }
  void TearDown() override {
    context_.cache.reset();
    std::filesystem::remove_all(folder_);
  }

  static Metadata metadata(std::int64_t size) {
    Metadata metadata;
    metadata.inputs.assign(2, {DType::Float32, {size, size}, {}, 4});
    return metadata;
  }
  compiler::FrontEnd front(std::int64_t size) const {
    const SourceBuffer source("<text>", kChain);
    return std::move(compiler::front_end(source, "f", metadata(size))).value();
  }
  Record record(std::int64_t size, std::vector<std::int64_t> tile, double us) const {
    Record record;
    record.identity = identity_of(front(size), target_);
    record.options.tile = std::move(tile);
    record.outcome = Outcome::Measured;
    record.median_us = us;
    return record;
  }
  Choice choice(const Record& record, std::optional<double> default_us) const {
    Choice choice;
    choice.record = record;
    choice.default_us = default_us;
    return choice;
  }

  std::filesystem::path folder_;
  CompileContext context_;
  Target target_;
};

TEST_F(TransferTest, WhatWasMeasuredTimesTheChangeThatTheModelSees) {
  const compiler::FrontEnd here = front(2048);
  const Metadata call = metadata(2048);
  Transfer transfer(kChain, "f", call, here, target_);
  // One task is all right where there is little to do, and keeps one of eight cores busy elsewhere.
  const Choice one_task = choice(record(64, {0, 0}, 8), 10);
  const std::optional<double> relative = transfer.relative_time(one_task);
  ASSERT_TRUE(relative.has_value());
  EXPECT_GT(*relative, 3);
  // At the sizes of the record nothing changes.
  EXPECT_NEAR(*transfer.relative_time(choice(record(2048, {64, 0}, 8), 10)), 0.8, 1e-9);
  EXPECT_FALSE(transfer.relative_time(choice(record(64, {0, 0}, 8), std::nullopt)).has_value());
}

TEST_F(TransferTest, RecordsThatTheModelExpectsToLoseDoNotServe) {
  const std::unique_ptr<RecordStore> records = open_records(context_);
  for (const Record& some : {record(64, {0, 0}, 8), record(64, {}, 10), record(64, {16, 0}, 9)})
    ASSERT_TRUE(records->put(some));
  const auto served = tuned_options(kChain, "f", metadata(2048), target_, context_);
  ASSERT_TRUE(served.has_value());
  EXPECT_EQ(served->source, TunedOptions::Source::Default);
  EXPECT_NE(served->note.find("so the default options serve"), std::string::npos) << served->note;
  // Of two that may serve, the one that the model thinks more of, though the other is nearer.
  for (const Record& some : {record(1024, {0, 0}, 30), record(1024, {}, 35),
                             record(512, {32, 0}, 6), record(512, {}, 10)})
    ASSERT_TRUE(records->put(some));
  const auto better = tuned_options(kChain, "f", metadata(2048), target_, context_);
  ASSERT_TRUE(better.has_value());
  EXPECT_EQ(better->source, TunedOptions::Source::Nearest) << better->note;
  EXPECT_EQ(better->options.tile, (std::vector<std::int64_t>{32, 0})) << better->note;
  EXPECT_NE(better->note.find("the model expects"), std::string::npos) << better->note;
}

TEST_F(TransferTest, AGpuIsAskedForItsKernels) {
  const Target gpu = *cuda_target("sm_90a");
  const compiler::FrontEnd here = front(4096);
  const Metadata call = metadata(4096);
  Transfer transfer(kChain, "f", call, here, gpu);
  const Choice columns = choice(record(64, {64, 1}, 8), 10);
  const std::optional<double> relative = transfer.relative_time(columns);
  ASSERT_TRUE(relative.has_value());
  EXPECT_GT(*relative, 1.5) << "neighbours share no lines";
  Choice impossible = choice(record(64, {}, 8), 10);
  impossible.record.options.threads = 4096;
  EXPECT_FALSE(transfer.relative_time(impossible).has_value());
}

TEST_F(TransferTest, SizesAtWhichTheProgramIsNoneSayNothing) {
  const std::string text =
      "def f(float(N,M) x, float(P) k) -> (y) { y(n,p) +=! x(n,2*r_m+p) where r_m in 0:M/4, "
      "p in 0:P }";
  Metadata call;
  call.inputs = {{DType::Float32, {64, 256}, {}, 4}, {DType::Float32, {16}, {}, 4}};
  const SourceBuffer source("<text>", text);
  for (const Target& target : {target_, *cuda_target("sm_90a")}) {
    const auto here = compiler::front_end(source, "f", call);
    ASSERT_TRUE(here.has_value()) << here.error().message;
    ASSERT_FALSE(compiler::prove(source, *here));
    Transfer transfer(text, "f", call, *here, target);
    Record record;
    record.identity = identity_of(*here, target);
    record.options.tile = {8, 8};
    record.outcome = Outcome::Measured;
    record.median_us = 8;
    EXPECT_TRUE(transfer.relative_time(choice(record, 10)).has_value());
    // Its subscripts are beyond M.
    record.identity.sizes = {64, 4, 16};
    EXPECT_FALSE(transfer.relative_time(choice(record, 10)).has_value());
  }
}

}  // namespace
}  // namespace tc::tuner
