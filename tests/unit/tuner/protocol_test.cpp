// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/protocol.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tc::tuner {
namespace {

WorkerSetup example_setup() {
  WorkerSetup setup;
  setup.versions = "0.1.0 0123";
  setup.text = "def f(float(N) x, const float32 c) -> (y) { y(i) = x(i) * c }\n# \"quoted\"\n";
  setup.def = "f";
  setup.metadata.inputs = {{DType::Float32, {10}, {2}, 16}};
  setup.metadata.outputs = {std::nullopt, TensorMeta{DType::Int4, {4, 3}, {}, 1}};
  setup.metadata.consts = {{"c", {0, 0.1}}};
  setup.metadata.sizes = {{"N", 10}};
  setup.metadata.output_alignment = 64;
  setup.target = *cuda_target("sm_90a");
  setup.device = 3;
  setup.cuda = {"/path", {"a", "b"}, "driver"};
  setup.folder = "/tmp/folder";
  setup.memory_bytes = 1 << 30;
  setup.run_limit = 2.5;
  setup.faults = {{2, Fault::Crash}, {5, Fault::Wrong}};
  return setup;
}

TEST(Protocol, SetupRoundTrip) {
  const WorkerSetup setup = example_setup();
  const std::string line = to_line(setup);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const Result<WorkerSetup, std::string> read = setup_from_line(line);
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(to_line(*read), line);
  EXPECT_EQ(read->text, setup.text);
  EXPECT_EQ(read->target, setup.target);
  EXPECT_EQ(read->metadata.inputs, setup.metadata.inputs);
  EXPECT_EQ(read->metadata.outputs, setup.metadata.outputs);
  EXPECT_EQ(read->metadata.consts, setup.metadata.consts);
  EXPECT_EQ(read->faults, setup.faults);
}

TEST(Protocol, ConstsThatJsonHasNoNumberFor) {
  WorkerSetup setup = example_setup();
  const double infinity = std::numeric_limits<double>::infinity();
  setup.metadata.consts = {{"least", {0, -infinity}},
                           {"most", {0, infinity}},
                           {"none", {0, std::numeric_limits<double>::quiet_NaN()}}};
  const Result<WorkerSetup, std::string> read = setup_from_line(to_line(setup));
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(read->metadata.consts.at("least").real, -infinity);
  EXPECT_EQ(read->metadata.consts.at("most").real, infinity);
  EXPECT_TRUE(std::isnan(read->metadata.consts.at("none").real));
}

TEST(Protocol, JobsAndReplies) {
  Job job;
  job.kind = Job::Kind::Compile;
  job.id = 17;
  job.options.tile = {3, 0};
  job.stop_us = 1.5;
  const Result<Job, std::string> read = job_from_line(to_line(job));
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(read->options, job.options);
  EXPECT_EQ(to_line(*read), to_line(job));
  const Reply reply{4, Outcome::Wrong, "wrong", "line\nbreak", 0.25, 7, "exact", 1ULL << 63};
  const Result<Reply, std::string> answer = reply_from_line(to_line(reply));
  ASSERT_TRUE(answer.has_value()) << answer.error();
  EXPECT_EQ(answer->detail, reply.detail);
  EXPECT_EQ(answer->code, reply.code);
  EXPECT_EQ(to_line(*answer), to_line(reply));
}

TEST(Protocol, WhatIsNoMessageIsAnError) {
  for (const char* line : {"", "{", "[]", "{\"job\":\"dance\",\"id\":1}", "{\"id\":\"one\"}"}) {
    EXPECT_FALSE(setup_from_line(line).has_value()) << line;
    EXPECT_FALSE(job_from_line(line).has_value()) << line;
    EXPECT_FALSE(reply_from_line(line).has_value()) << line;
  }
}

}  // namespace
}  // namespace tc::tuner
