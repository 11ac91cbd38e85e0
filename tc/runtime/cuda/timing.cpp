// SPDX-License-Identifier: Apache-2.0
#include "tc/runtime/cuda/timing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tc/runtime/cuda/call.h"
#include "tc/support/check.h"

namespace tc::runtime::cuda {
namespace {

CuStream handle(const Stream& stream) {
  return static_cast<CuStream>(stream.get());
}

/// µs of one replay, from an event before it to one behind it.
Result<double, Rejection> time_replay(const Graph& graph, const Stream& stream, const Event& begin,
                                      const Event& end) {
  if (auto problem = begin.record(stream)) return *problem;
  if (auto problem = graph.replay(stream)) return *problem;
  if (auto problem = end.record(stream)) return *problem;
  return end.microseconds_since(begin);
}

}  // namespace

Result<Event, Rejection> Event::create(std::shared_ptr<const Driver> driver, int device) {
  Event event;
  event.device_ = device;
  if (auto problem = call(*driver, device, "creating an event",
                          [&](const DriverApi& api) { return api.event_create(&event.event_, 0); }))
    return *problem;
  event.driver_ = std::move(driver);
  return event;
}
Event::Event(Event&& other) noexcept {
  *this = std::move(other);
}
Event& Event::operator=(Event&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(device_, other.device_);
  std::swap(event_, other.event_);
  return *this;
}
Event::~Event() {
  if (event_ == nullptr || !driver_) return;
  release(*driver_, device_, [&](const DriverApi& api) { api.event_destroy(event_); });
}

std::optional<Rejection> Event::record(const Stream& stream) const {
  return call(*driver_, device_, "recording an event",
              [&](const DriverApi& api) { return api.event_record(event_, handle(stream)); });
}

Result<double, Rejection> Event::microseconds_since(const Event& start) const {
  float milliseconds = 0;
  if (auto problem = call(*driver_, device_, "waiting for an event", [&](const DriverApi& api) {
        const CuResult code = api.event_synchronize(event_);
        return code == result::kSuccess ? api.event_elapsed(&milliseconds, start.event_, event_)
                                        : code;
      }))
    return *problem;
  return 1000.0 * static_cast<double>(milliseconds);
}

Result<Graph, Rejection> Graph::capture(std::shared_ptr<const Driver> driver, int device,
                                        const Stream& stream, int runs, const Enqueue& enqueue) {
  if (auto problem = call(*driver, device, "beginning a capture", [&](const DriverApi& api) {
        return api.stream_begin_capture(handle(stream), kCaptureThreadLocal);
      }))
    return *problem;
  std::optional<Rejection> failed;
  for (int run = 0; run < runs && !failed; ++run)
    failed = enqueue(stream, run);
  // Ended also after a failure, or the stream would stay unusable.
  CuGraph captured = nullptr;
  const auto ended = call(*driver, device, "ending a capture", [&](const DriverApi& api) {
    return api.stream_end_capture(handle(stream), &captured);
  });
  Graph graph;
  graph.device_ = device;
  if (!failed) failed = ended;
  if (!failed)
    failed = call(*driver, device, "instantiating a graph", [&](const DriverApi& api) {
      return api.graph_instantiate(&graph.graph_, captured, 0);
    });
  if (captured != nullptr)
    release(*driver, device, [&](const DriverApi& api) { api.graph_destroy(captured); });
  if (failed) return *failed;
  graph.driver_ = std::move(driver);
  return graph;
}
Graph::Graph(Graph&& other) noexcept {
  *this = std::move(other);
}
Graph& Graph::operator=(Graph&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(device_, other.device_);
  std::swap(graph_, other.graph_);
  return *this;
}
Graph::~Graph() {
  if (graph_ == nullptr || !driver_) return;
  release(*driver_, device_, [&](const DriverApi& api) { api.graph_exec_destroy(graph_); });
}

std::optional<Rejection> Graph::replay(const Stream& stream) const {
  return call(*driver_, device_, "replaying a graph",
              [&](const DriverApi& api) { return api.graph_launch(graph_, handle(stream)); });
}

Result<KernelTime, Rejection> time_kernels(const std::shared_ptr<const Driver>& driver, int device,
                                           const Enqueue& enqueue, const TimingOptions& options) {
  check(options.replays > 0 && options.most_runs > 0, "a time needs replays and runs");
  auto stream = Stream::create(driver, device);
  if (!stream) return stream.error();
  auto begin = Event::create(driver, device);
  if (!begin) return begin.error();
  auto end = Event::create(driver, device);
  if (!end) return end.error();
  // Outside of a capture first: the device loads code and grows its stacks here.
  if (auto problem = enqueue(*stream, 0)) return *problem;
  if (auto problem = stream->synchronise()) return *problem;

  constexpr int kProbeRuns = 10;
  int runs = std::min(kProbeRuns, options.most_runs);
  auto graph = Graph::capture(driver, device, *stream, runs, enqueue);
  if (!graph) return graph.error();
  double probe = 0;
  for (int i = 0; i < std::max(2, options.warmup); ++i) {
    auto time = time_replay(*graph, *stream, *begin, *end);
    if (!time) return time.error();
    probe = *time / runs;
  }
  const double wanted = probe > 0 ? std::ceil(options.graph_us / probe) : options.most_runs;
  if (const int more = static_cast<int>(std::clamp(wanted, 1.0, double(options.most_runs)));
      more != runs) {
    runs = more;
    graph = Graph::capture(driver, device, *stream, runs, enqueue);
    if (!graph) return graph.error();
  }
  KernelTime result;
  result.runs_per_graph = runs;
  for (int i = 0; i < options.warmup + options.replays; ++i) {
    auto time = time_replay(*graph, *stream, *begin, *end);
    if (!time) return time.error();
    if (i >= options.warmup) result.samples_us.push_back(*time / runs);
  }
  std::vector<double> sorted = result.samples_us;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  result.median_us =
      sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  result.min_us = sorted.front();
  result.max_us = sorted.back();
  return result;
}

}  // namespace tc::runtime::cuda
