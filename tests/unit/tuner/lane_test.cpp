// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/lane.h"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

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
  EXPECT_EQ(crashed.reason, "crashed");
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
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "and was waited for";
}

TEST(Lane, AProcessThatIsKilled) {
  Lane lane = lane_of("read job; kill -KILL $$");
  lane.start(job_of(1), in(60));
  const Reply reply = wait(lane);
  EXPECT_EQ(reply.outcome, Outcome::Crashed);
  EXPECT_EQ(reply.reason, kKilled);
}

TEST(Lane, RubbishIsNoReply) {
  Lane lane = lane_of("read job; echo hello; exec sleep 1000");
  lane.start(job_of(1), in(60));
  EXPECT_EQ(wait(lane).outcome, Outcome::Crashed);
  Lane other = lane_of("read job; printf " + kReply + " 9; exec sleep 1000");
  other.start(job_of(1), in(60));
  const Reply rubbish = wait(other);
  EXPECT_EQ(rubbish.outcome, Outcome::Crashed) << "the reply to another job";
  EXPECT_EQ(rubbish.reason, "crashed");
}

TEST(Lane, AProgramThatIsNotThere) {
  WorkerSetup setup;
  setup.folder = ::testing::TempDir();
  Lane lane({"/nowhere/tensorc", {}, {}}, setup);
  lane.start(job_of(1), in(60));
  const Reply reply = wait(lane);
  EXPECT_EQ(reply.outcome, Outcome::Crashed);
  EXPECT_NE(reply.detail.find("could not be started"), std::string::npos);
  EXPECT_EQ(reply.reason, kNoWorker) << "nothing about the job";
}

TEST(Lane, AWorkerThatRefusesItsSetup) {
  Lane lane = lane_of("echo 'another build' >&2; exit 3");
  lane.start(job_of(1), in(60));
  const Reply reply = wait(lane);
  EXPECT_EQ(reply.reason, kNoWorker);
  EXPECT_NE(reply.detail.find("another build"), std::string::npos) << reply.detail;
}

TEST(Lane, AProcessThatDoesNotReadMakesNobodyWait) {
  WorkerSetup setup;
  setup.folder = ::testing::TempDir();
  setup.text.assign(std::size_t{1} << 20, 'x');  // more than a pipe holds
  Lane deaf({"/bin/sh", {"-c", "exec sleep 1000"}, {}}, setup);
  deaf.start(job_of(1), in(0.3));
  EXPECT_TRUE(deaf.is_sending());
  EXPECT_EQ(wait(deaf).outcome, Outcome::Hung);
  Lane slow({"/bin/sh", {"-c", "sleep 0.2; read setup; read job; printf " + kReply + " 2"}, {}},
            setup);
  slow.start(job_of(2), in(60));
  EXPECT_EQ(wait(slow).outcome, Outcome::Measured) << "it gets the rest when it reads";
}

TEST(Lane, WorkersLeaveSignalsOfTheGroupToTheRun) {
  Lane lane = lane_of("read job; for s in INT TERM HUP QUIT; do kill -$s $$; done; printf " +
                      kReply + " 1");
  lane.start(job_of(1), in(60));
  EXPECT_EQ(wait(lane).outcome, Outcome::Measured);
}

/// Stops this process for a while, as Ctrl-Z and fg do.
void suspend(const std::string& seconds) {
  const std::string pid = std::to_string(getpid());
  const std::string line = "(sleep " + seconds + "; kill -CONT " + pid + ") & kill -STOP " + pid;
  ASSERT_EQ(std::system(line.c_str()), 0);
}

TEST(Lane, TimeInWhichTheRunIsSuspendedIsNotCharged) {
  Lane lane = lane_of("read job; sleep 4; printf " + kReply + " 1");
  lane.start(job_of(1), in(3));
  std::thread other([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    suspend("2.5");
  });
  const auto late = Lane::Clock::now() + std::chrono::seconds(60);
  std::optional<Reply> reply;
  while (!reply && Lane::Clock::now() < late) {
    wait_for_any({&lane}, std::chrono::milliseconds(500));
    reply = lane.poll();
  }
  other.join();
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->outcome, Outcome::Measured);
}

TEST(Lane, AProcessThatEndedWhileItWasIdleCostsNothing) {
  const std::string file = ::testing::TempDir() + "/idle-" + std::to_string(getpid());
  Lane lane = lane_of("read job; printf " + kReply + " 1; echo $$ > " + file + "; exec sleep 1000");
  for (int round = 0; round < 3; ++round) {
    lane.start(job_of(1), in(60));
    ASSERT_EQ(wait(lane).outcome, Outcome::Measured);
    pid_t worker = 0;
    while (worker == 0)
      std::ifstream(file) >> worker;
    std::filesystem::remove(file);
    kill(worker, SIGKILL);
    siginfo_t info{};
    // Until it has ended, and without taking its status from the lane.
    waitid(P_PID, static_cast<id_t>(worker), &info, WEXITED | WNOWAIT);
  }
}

TEST(Lane, WorkersEndWithTheirRun) {
  const std::string file = ::testing::TempDir() + "/worker-" + std::to_string(getpid());
  const pid_t run = fork();
  if (run == 0) {
    // It would be stuck for long, and it has what it needs.
    Lane lane = lane_of("read job; echo $$ > " + file + ".new; mv " + file + ".new " + file +
                        "; exec sleep 1000");
    lane.start(job_of(1), in(600));
    pause();
    _exit(0);
  }
  while (!std::filesystem::exists(file))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  pid_t worker = 0;
  std::ifstream(file) >> worker;
  ASSERT_GT(worker, 0);
  kill(run, SIGKILL);
  waitpid(run, nullptr, 0);
  const auto is_running = [&] {
    std::ifstream stat("/proc/" + std::to_string(worker) + "/stat");
    std::string text;
    std::getline(stat, text);
    return stat && text.find(") Z") == std::string::npos;
  };
  const auto late = Lane::Clock::now() + std::chrono::seconds(60);
  while (is_running() && Lane::Clock::now() < late)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(is_running());
  std::filesystem::remove(file);
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
