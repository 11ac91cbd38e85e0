// SPDX-License-Identifier: Apache-2.0
//
// How long a device takes, without the host's part: events and replays of a captured graph.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tc/runtime/cuda/memory.h"

namespace tc::runtime::cuda {

/// A mark in a stream whose time can be read once it has passed.
class Event {
public:
  static Result<Event, Rejection> create(std::shared_ptr<const Driver> driver, int device);
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  std::optional<Rejection> record(const Stream& stream) const;
  /// Waits for this event; µs from `start` to it.
  Result<double, Rejection> microseconds_since(const Event& start) const;

private:
  Event() = default;

  std::shared_ptr<const Driver> driver_;
  int device_ = 0;
  CuEvent event_ = nullptr;
};

/// Enqueues on a stream; `run` counts from 0, so that inputs can rotate.
using Enqueue = std::function<std::optional<Rejection>(const Stream& stream, int run)>;

/// Runs captured into an executable graph.
class Graph {
public:
  /// Captures `runs` calls of `enqueue`, which must allocate, load and wait for nothing.
  static Result<Graph, Rejection> capture(std::shared_ptr<const Driver> driver, int device,
                                          const Stream& stream, int runs, const Enqueue& enqueue);
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();

  std::optional<Rejection> replay(const Stream& stream) const;

private:
  Graph() = default;

  std::shared_ptr<const Driver> driver_;
  int device_ = 0;
  CuGraphExec graph_ = nullptr;
};

struct TimingOptions {
  int warmup = 3;            ///< replays that are not counted
  int replays = 30;          ///< that are
  int most_runs = 1000;      ///< most runs in one graph
  double graph_us = 1000.0;  ///< a graph holds so many runs that it takes about this long
};

struct KernelTime {
  double median_us = 0;  ///< of one run, as are all of them
  double min_us = 0;
  double max_us = 0;
  int runs_per_graph = 0;
  std::vector<double> samples_us;  ///< one a replay, in order
};

/// Kernel time of one run: the median over replays of a graph with as many runs as fill
/// `graph_us`, so that neither the host nor the resolution of events shows.
Result<KernelTime, Rejection> time_kernels(const std::shared_ptr<const Driver>& driver, int device,
                                           const Enqueue& enqueue,
                                           const TimingOptions& options = {});

}  // namespace tc::runtime::cuda
