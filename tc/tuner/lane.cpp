// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/lane.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/env.hpp>
#include <boost/process/environment.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/io.hpp>
#include <boost/process/pipe.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace tc::tuner {

namespace {

namespace bp = boost::process;

/// Of a wait that took longer than it was to take: the run was suspended.
constexpr std::chrono::seconds kSuspended{1};

/// Called between fork and exec.
struct BindToRun {
  pid_t run = ::getpid();

  template <class Executor>
  void operator()(Executor&) const {
    // What a signal to the group means is decided by the run, not by its workers.
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
      ::signal(number, SIG_IGN);
    // No worker outlives its run, also where that ends before the worker has begun.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != run) ::_exit(EXIT_FAILURE);
  }
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// Writes to a process that may be gone: that is an answer of write(), not a signal to this thread.
class QuietPipeSignal {
public:
  QuietPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~QuietPipeSignal() {
    const timespec now{0, 0};
    if (sigismember(&before_, SIGPIPE) == 0) {
      while (sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

private:
  sigset_t pipe_{}, before_{};
};

/// The last line of a file that is not empty.
std::string last_message(const std::string& file) {
  std::ifstream in(file);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) last = line;
  }
  return last.substr(0, 500);
}

}  // namespace

struct Lane::Process {
  bp::pipe to, from;
  bp::child child;
  std::string received;  ///< bytes behind the last whole line
  std::string to_send;   ///< what the process has not read yet
  std::string messages;  ///< file of its standard error
};

Lane::Lane(WorkerProgram program, WorkerSetup setup)
    : program_(std::move(program)), setup_(std::move(setup)) {}
Lane::~Lane() {
  stop();
}
Lane::Lane(Lane&&) noexcept = default;
Lane& Lane::operator=(Lane&&) noexcept = default;

int Lane::descriptor() const {
  return process_ ? process_->from.native_source() : -1;
}

int Lane::input() const {
  return process_ ? process_->to.native_sink() : -1;
}

void Lane::stop() {
  job_.reset();
  end_process();
}

void Lane::end_process() {
  if (!process_) return;
  std::error_code error;
  // child::terminate() would not wait for the end, and leave a zombie.
  if (process_->child.running(error)) ::kill(process_->child.id(), SIGKILL);
  process_->child.wait(error);
  std::remove(process_->messages.c_str());
  process_.reset();
}

void Lane::start(const Job& job, Clock::time_point deadline) {
  job_ = job;
  deadline_ = deadline;
  // What ended it while it had nothing to do says nothing about this job.
  std::error_code unknown;
  if (process_ && !process_->child.running(unknown)) end_process();
  if (!process_) {
    // A program that is not there would leave the process that was to become it, as a zombie.
    if (::access(program_.file.c_str(), X_OK) != 0) return;
    auto process = std::make_unique<Process>();
    // No other worker may hold an end: the death of this one must show as the end of its output.
    for (const int end : {process->to.native_source(), process->to.native_sink(),
                          process->from.native_source(), process->from.native_sink()})
      fcntl(end, F_SETFD, FD_CLOEXEC);
    bp::environment environment = boost::this_process::environment();
    for (const auto& [name, value] : program_.variables)
      environment[name] = value;
    // What dying programs print is no output of this one; the end of it tells why they died.
    static std::atomic<int> started{0};
    process->messages = fmt::format("{}/messages-{}", setup_.folder, ++started);
    const std::unique_ptr<std::FILE, CloseFile> errors(std::fopen(process->messages.c_str(), "w"));
    std::error_code error;
    process->child = bp::child(bp::exe = program_.file.string(), bp::args = program_.arguments,
                               environment, bp::std_in<process->to, bp::std_out> process->from,
                               bp::std_err > (errors ? errors.get() : stderr),
                               bp::extend::on_exec_setup = BindToRun(), error);
    if (error) return;  // poll() reports a process that ended
    // A process that does not read or write must not make this one wait.
    fcntl(process->from.native_source(), F_SETFL, O_NONBLOCK);
    fcntl(process->to.native_sink(), F_SETFL, O_NONBLOCK);
    process_ = std::move(process);
    process_->to_send = to_line(setup_);
  }
  process_->to_send += to_line(job);
  send();
}

bool Lane::is_sending() const {
  return process_ && !process_->to_send.empty();
}

/// As much as the pipe takes. A process that is gone shows when its output is read.
void Lane::send() {
  const QuietPipeSignal quiet;
  while (is_sending()) {
    const ssize_t count =
        ::write(process_->to.native_sink(), process_->to_send.data(), process_->to_send.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    process_->to_send.erase(0, static_cast<std::size_t>(count));
  }
}

Reply Lane::ended() {
  Reply reply;
  reply.id = job_->id;
  reply.outcome = Outcome::Crashed;
  reply.reason = kNoWorker;
  reply.detail = fmt::format("the worker '{}' could not be started", program_.file.string());
  if (process_) {
    // Its output has ended, and so must it; a process that is already dying keeps its status.
    ::kill(process_->child.id(), SIGKILL);
    std::error_code error;
    process_->child.wait(error);
    const int status = process_->child.native_exit_code();
    const bool has_refused = WIFEXITED(status) && WEXITSTATUS(status) == kRefusedSetup;
    const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    reply.reason = has_refused ? kNoWorker : is_killed ? kKilled : "crashed";
    reply.detail = WIFSIGNALED(status)
                       ? fmt::format("the process ended by signal {} ({})", WTERMSIG(status),
                                     strsignal(WTERMSIG(status)))
                       : fmt::format("the process ended with status {}", WEXITSTATUS(status));
    if (const std::string last = last_message(process_->messages); !last.empty())
      reply.detail += ": " + last;
  }
  stop();
  return reply;
}

std::optional<Reply> Lane::read_reply() {
  for (;;) {
    const std::size_t end = process_->received.find('\n');
    if (end != std::string::npos) {
      const std::string line = process_->received.substr(0, end);
      process_->received.erase(0, end + 1);
      Result<Reply, std::string> reply = reply_from_line(line);
      if (!reply || reply->id != job_->id) {
        // Something else wrote to its output: it cannot be trusted any more.
        Reply rubbish = ended();
        rubbish.reason = "crashed";
        return rubbish;
      }
      // What its process left behind must not be charged to the next job.
      if (reply->is_last) stop();
      job_.reset();
      return std::move(reply).value();
    }
    char bytes[4096];
    const ssize_t count = ::read(descriptor(), bytes, sizeof bytes);
    if (count > 0) {
      process_->received.append(bytes, static_cast<std::size_t>(count));
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return std::nullopt;
    return ended();
  }
}

std::optional<Reply> Lane::poll() {
  if (!job_) return std::nullopt;
  if (!process_) return ended();
  send();
  if (std::optional<Reply> reply = read_reply()) return reply;
  if (Clock::now() < deadline_) return std::nullopt;
  Reply reply;
  reply.id = job_->id;
  reply.outcome = Outcome::Hung;
  reply.reason = "hung";
  reply.detail = "beyond the time limit";
  stop();
  return reply;
}

void wait_for_any(const std::vector<Lane*>& lanes, std::chrono::milliseconds most) {
  std::vector<pollfd> descriptors;
  const Lane::Clock::time_point begin = Lane::Clock::now();
  Lane::Clock::time_point until = begin + most;
  for (const Lane* lane : lanes) {
    if (lane->is_idle()) continue;
    until = std::min(until, lane->deadline());
    if (lane->descriptor() < 0) return;
    descriptors.push_back({lane->descriptor(), POLLIN, 0});
    if (lane->is_sending()) descriptors.push_back({lane->input(), POLLOUT, 0});
  }
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - Lane::Clock::now()).count();
  ::poll(descriptors.data(), descriptors.size(), static_cast<int>(std::max<long>(left, 0)));
  const auto late = Lane::Clock::now() - std::max(until, begin);
  if (late < kSuspended) return;
  for (Lane* lane : lanes)
    lane->extend(late);
}

}  // namespace tc::tuner
