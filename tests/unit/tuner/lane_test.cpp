// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/lane.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace tc::tuner {
namespace {

/// Lanes whose worker is a shell that reads the setup and then does as the test says.
Lane lane_of(const std::string& script) {
  WorkerSetup setup;
  setup.folder = ::testing::TempDir();
  return Lane({"/bin/sh", {"-c", "read setup; " + script}, {{"ANSWER", "yes"}}}, setup);
}

Job job_of(int id) {
  Job job;
  job.id = id;
  return job;
}

Reply wait(Lane& lane) {
  for (;;) {
    wait_for_any({&lane}, std::chrono::milliseconds(50));
    if (std::optional<Reply> reply = lane.poll()) return *reply;
  }
}

Lane::Clock::time_point in(double seconds) {
  return Lane::Clock::now() + std::chrono::milliseconds(static_cast<int>(seconds * 1000));
}

const std::string kReply =
    R"('{"id":%d,"outcome":"measured","reason":"","detail":"'$ANSWER'","median_us":2.5,"samples":3,"verification":""}\n')";

TEST(Lane, OneProcessAnswersJobAfterJob) {
  Lane lane = lane_of("n=1; while read job; do printf " + kReply + " $n; n=$((n+1)); done");
  for (int id = 1; id <= 3; ++id) {
    EXPECT_TRUE(lane.is_idle());
    lane.start(job_of(id), in(60));
    EXPECT_FALSE(lane.is_idle());
    const Reply reply = wait(lane);
    EXPECT_EQ(reply.id, id);
    EXPECT_EQ(reply.outcome, Outcome::Measured);
    EXPECT_EQ(reply.median_us, 2.5);
    EXPECT_EQ(reply.detail, "yes") << "a variable of the lane";
  }
}

TEST(Lane, AProcessThatEndsCostsItsJob) {
  Lane by_signal = lane_of("read job; kill -SEGV $$");
  by_signal.start(job_of(1), in(60));
  const Reply crashed = wait(by_signal);
  EXPECT_EQ(crashed.outcome, Outcome::Crashed);
  EXPECT_NE(crashed.detail.find("signal 11"), std::string::npos) << crashed.detail;
  EXPECT_TRUE(by_signal.is_idle());
  by_signal.start(job_of(2), in(60));
  EXPECT_EQ(wait(by_signal).id, 2) << "by another process";

  Lane by_status = lane_of("exit 7");
  by_status.start(job_of(1), in(60));
  const Reply ended = wait(by_status);
  EXPECT_EQ(ended.outcome, Outcome::Crashed);
  EXPECT_NE(ended.detail.find("ended"), std::string::npos) << ended.detail;
}

TEST(Lane, AProcessThatSaysThatItEndsCostsNothing) {
  Lane lane = lane_of(
      R"(read job; printf '{"id":1,"outcome":"crashed","reason":"","detail":"","median_us":0,)"
      R"("samples":0,"verification":"","last":true}\n')");
  for (int round = 0; round < 3; ++round) {
    lane.start(job_of(1), in(60));
    const Reply reply = wait(lane);
    EXPECT_TRUE(reply.is_last) << reply.detail;
    EXPECT_EQ(reply.detail, "") << "the answer of a process, not what became of it";
    EXPECT_TRUE(lane.is_idle());
    EXPECT_EQ(lane.descriptor(), -1);
  }
}

TEST(Lane, TheLastWordsTellWhy) {
  Lane lane = lane_of("read job; echo first >&2; echo 'no more memory' >&2; kill -ABRT $$");
  lane.start(job_of(1), in(60));
  const Reply reply = wait(lane);
  EXPECT_NE(reply.detail.find("signal 6"), std::string::npos) << reply.detail;
  EXPECT_NE(reply.detail.find("no more memory"), std::string::npos) << reply.detail;
}

TEST(Lane, BeyondTheDeadlineIsHung) {
  Lane lane = lane_of("read job; exec sleep 1000");
  lane.start(job_of(1), in(0.2));
  EXPECT_EQ(wait(lane).outcome, Outcome::Hung);
  EXPECT_TRUE(lane.is_idle());
  EXPECT_EQ(lane.descriptor(), -1) << "its process has ended";
}

TEST(Lane, RubbishIsNoReply) {
  Lane lane = lane_of("read job; echo hello; exec sleep 1000");
  lane.start(job_of(1), in(60));
  EXPECT_EQ(wait(lane).outcome, Outcome::Crashed);
  Lane other = lane_of("read job; printf " + kReply + " 9; exec sleep 1000");
  other.start(job_of(1), in(60));
  EXPECT_EQ(wait(other).outcome, Outcome::Crashed) << "the reply to another job";
}

TEST(Lane, AProgramThatIsNotThere) {
  WorkerSetup setup;
  setup.folder = ::testing::TempDir();
  Lane lane({"/nowhere/tensorc", {}, {}}, setup);
  lane.start(job_of(1), in(60));
  const Reply reply = wait(lane);
  EXPECT_EQ(reply.outcome, Outcome::Crashed);
  EXPECT_NE(reply.detail.find("could not be started"), std::string::npos);
}

TEST(Lane, TheDeathOfOneShowsWhileOthersLive) {
  Lane living = lane_of("read job; exec sleep 1000");
  living.start(job_of(1), in(600));
  Lane dying = lane_of("read job; exit 0");
  Lane late = lane_of("read job; exec sleep 1000");
  dying.start(job_of(2), in(600));
  late.start(job_of(3), in(600));
  EXPECT_EQ(wait(dying).outcome, Outcome::Crashed);
}

}  // namespace
}  // namespace tc::tuner
