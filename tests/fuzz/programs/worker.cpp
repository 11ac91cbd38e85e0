// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "tc/support/check.h"

namespace tc::fuzz {

namespace {

using Clock = std::chrono::steady_clock;

// A record on the pipe: its length as decimal digits and a blank, then fields, each likewise.
void put(std::string& out, const std::string& field) {
  out += std::to_string(field.size()) + " " + field;
}
void put(std::string& out, std::int64_t number) {
  put(out, std::to_string(number));
}

std::optional<std::string> take(std::string& in) {
  const std::size_t blank = in.find(' ');
  if (blank == std::string::npos) return std::nullopt;
  const auto length = static_cast<std::size_t>(std::strtoull(in.c_str(), nullptr, 10));
  if (in.size() < blank + 1 + length) return std::nullopt;
  std::string field = in.substr(blank + 1, length);
  in.erase(0, blank + 1 + length);
  return field;
}
std::int64_t take_number(std::string& in) {
  return std::strtoll(take(in).value_or("0").c_str(), nullptr, 10);
}

std::string encode(const Record& record) {
  std::string out;
  put(out, static_cast<std::int64_t>(record.seed));
  put(out, record.drafts);
  put(out, record.rejected);
  put(out, record.empty ? 1 : 0);
  put(out, record.last_rejection);
  put(out, record.experiment);
  const Outcome& outcome = record.outcome;
  put(out, static_cast<std::int64_t>(outcome.verdict));
  put(out, outcome.property);
  put(out, outcome.message);
  put(out, outcome.failed_options);
  put(out, outcome.mapped);
  put(out, outcome.refused);
  put(out, outcome.exact ? 1 : 0);
  put(out, outcome.reread ? 1 : 0);
  put(out, outcome.beside_a_step ? 1 : 0);
  for (const std::string& feature : outcome.features)
    put(out, feature);
  return out;
}

Record decode(std::string in) {
  Record record;
  record.seed = static_cast<std::uint64_t>(take_number(in));
  record.drafts = static_cast<int>(take_number(in));
  record.rejected = static_cast<int>(take_number(in));
  record.empty = take_number(in) != 0;
  record.last_rejection = take(in).value_or("");
  record.experiment = take(in).value_or("");
  Outcome& outcome = record.outcome;
  outcome.verdict = static_cast<Verdict>(take_number(in));
  outcome.property = take(in).value_or("");
  outcome.message = take(in).value_or("");
  outcome.failed_options = static_cast<int>(take_number(in));
  outcome.mapped = static_cast<int>(take_number(in));
  outcome.refused = static_cast<int>(take_number(in));
  outcome.exact = take_number(in) != 0;
  outcome.reread = take_number(in) != 0;
  outcome.beside_a_step = take_number(in) != 0;
  while (auto feature = take(in))
    outcome.features.insert(*feature);
  return record;
}

void write_all(int fd, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(3);
    done += static_cast<std::size_t>(written);
  }
}

Record run_seed(std::uint64_t seed) {
  Record record;
  record.seed = seed;
  Generated generated = generate(seed);
  record.drafts = generated.drafts;
  record.rejected = generated.rejected;
  record.last_rejection = generated.last_rejection;
  if (generated.experiment.text.empty()) {
    record.empty = true;
    return record;
  }
  record.outcome = run_case(generated.experiment);
  if (record.outcome.verdict == Verdict::Failed) record.experiment = to_text(generated.experiment);
  return record;
}

/// A process that works on some seeds and writes records.
struct Worker {
  pid_t pid = -1;
  int fd = -1;
  std::string pending;  ///< bytes read that are no whole record yet
  std::vector<std::uint64_t> seeds;
  std::size_t done = 0;
  Clock::time_point since;

  bool idle() const { return done == seeds.size(); }
};

template <class Body>
void start(Worker& worker, Body&& body) {
  int ends[2];
  check(::pipe(ends) == 0, "no pipe for a worker");
  worker.pid = ::fork();
  check(worker.pid >= 0, "no process for a worker");
  if (worker.pid == 0) {
    ::close(ends[0]);
    body(ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  worker.fd = ends[0];
  worker.since = Clock::now();
}

void start_seeds(Worker& worker, std::vector<std::uint64_t> seeds) {
  worker.seeds = std::move(seeds);
  worker.done = 0;
  worker.pending.clear();
  start(worker, [&](int fd) {
    for (std::uint64_t seed : worker.seeds) {
      std::string framed;
      put(framed, encode(run_seed(seed)));
      write_all(fd, framed);
    }
  });
}

/// How a worker ended, in words.
std::string reap(Worker& worker) {
  ::close(worker.fd);
  int status = 0;
  ::waitpid(worker.pid, &status, 0);
  worker.fd = -1;
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

/// Reads what there is; false at the end of the worker's output.
bool read_some(Worker& worker) {
  char buffer[1 << 16];
  const ssize_t got = ::read(worker.fd, buffer, sizeof buffer);
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  worker.pending.append(buffer, static_cast<std::size_t>(got));
  return true;
}

Record died(std::uint64_t seed, const char* property, std::string message) {
  Record record;
  record.seed = seed;
  record.outcome.verdict = Verdict::Failed;
  record.outcome.property = property;
  record.outcome.message = std::move(message);
  return record;
}

/// Seeds for one worker at a time; enough that starting it costs little.
constexpr std::uint64_t kBatch = 20;

/// Hands out seeds and puts the records back into order.
class Pool {
public:
  Pool(std::uint64_t first, std::uint64_t count, int seconds,
       const std::function<bool(const Record&)>& report)
      : next_(first), end_(first + count), reported_(first), seconds_(seconds), report_(report) {}

  void run(int jobs) {
    std::vector<Worker> workers(static_cast<std::size_t>(std::max(1, jobs)));
    for (;;) {
      bool busy = false;
      for (Worker& worker : workers) {
        if (worker.fd < 0 && !stopped_) refill(worker);
        busy = busy || worker.fd >= 0;
      }
      if (!busy) return;
      wait(workers);
      if (stopped_) stop(workers);
    }
  }

private:
  void refill(Worker& worker) {
    std::vector<std::uint64_t> seeds(
        worker.seeds.begin() + static_cast<std::ptrdiff_t>(worker.done), worker.seeds.end());
    while (seeds.empty() ? next_ < end_ : false) {
      for (std::uint64_t i = 0; i < kBatch && next_ < end_; ++i)
        seeds.push_back(next_++);
    }
    if (!seeds.empty()) start_seeds(worker, std::move(seeds));
  }

  void wait(std::vector<Worker>& workers) {
    std::vector<pollfd> polls;
    std::vector<Worker*> live;
    for (Worker& worker : workers) {
      if (worker.fd < 0) continue;
      polls.push_back({worker.fd, POLLIN, 0});
      live.push_back(&worker);
    }
    ::poll(polls.data(), polls.size(), 1000);
    for (std::size_t i = 0; i < live.size(); ++i) {
      if ((polls[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) receive(*live[i]);
      if (live[i]->fd >= 0 && !live[i]->idle() &&
          Clock::now() - std::max(live[i]->since, reported_at_) > std::chrono::seconds(seconds_)) {
        ::kill(live[i]->pid, SIGKILL);
        (void)reap(*live[i]);
        finish(*live[i], died(live[i]->seeds[live[i]->done], "hang",
                              fmt::format("more than {} seconds", seconds_)));
      }
    }
  }

  void receive(Worker& worker) {
    const bool open = read_some(worker);
    while (auto bytes = take(worker.pending))
      finish(worker, decode(*bytes));
    if (open) return;
    const std::string how = reap(worker);
    if (!worker.idle()) finish(worker, died(worker.seeds[worker.done], "crash", how));
  }

  void finish(Worker& worker, Record record) {
    ++worker.done;
    worker.since = Clock::now();
    const std::uint64_t seed = record.seed;
    waiting_.emplace(seed, std::move(record));
    while (!waiting_.empty() && waiting_.begin()->first == reported_ && !stopped_) {
      Record ready = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      ++reported_;
      stopped_ = !report_(ready);
      reported_at_ = Clock::now();
    }
  }

  void stop(std::vector<Worker>& workers) {
    for (Worker& worker : workers) {
      if (worker.fd < 0) continue;
      ::kill(worker.pid, SIGKILL);
      (void)reap(worker);
    }
  }

  std::uint64_t next_, end_, reported_;
  /// Workers are not listened to while a failure is shrunk; that time does not count as theirs.
  Clock::time_point reported_at_;
  int seconds_;
  const std::function<bool(const Record&)>& report_;
  std::map<std::uint64_t, Record> waiting_;
  bool stopped_ = false;
};

}  // namespace

void run_seeds(std::uint64_t first, std::uint64_t count, int jobs, int seconds,
               const std::function<bool(const Record&)>& report) {
  Pool(first, count, seconds, report).run(jobs);
}

Outcome run_isolated(const Case& experiment, int seconds) {
  Worker worker;
  start(worker, [&](int fd) {
    Record record;
    record.outcome = run_case(experiment);
    std::string framed;
    put(framed, encode(record));
    write_all(fd, framed);
  });
  for (;;) {
    pollfd poll{worker.fd, POLLIN, 0};
    ::poll(&poll, 1, 1000);
    if ((poll.revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !read_some(worker)) break;
    if (Clock::now() - worker.since > std::chrono::seconds(seconds)) {
      ::kill(worker.pid, SIGKILL);
      (void)reap(worker);
      return died(0, "hang", fmt::format("more than {} seconds", seconds)).outcome;
    }
  }
  const std::string how = reap(worker);
  if (auto bytes = take(worker.pending)) return decode(*bytes).outcome;
  return died(0, "crash", how).outcome;
}

}  // namespace tc::fuzz
