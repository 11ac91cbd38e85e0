// SPDX-License-Identifier: Apache-2.0
//
// Clustering of `for` loops: in order inside one kernel, or around launches.
#include <algorithm>
#include <numeric>
#include <set>

#include "tc/poly/cluster.h"
#include "tc/support/check.h"

namespace tc::poly {
namespace {

void collect(const std::vector<Node>& body, std::vector<int>& statements) {
  for (const Node& node : body) {
    if (const auto* statement = std::get_if<int>(&node)) {
      statements.push_back(*statement);
      continue;
    }
    collect(std::get<std::shared_ptr<const For>>(node)->body, statements);
  }
}

/// The body with only the given statements.
std::vector<Node> restricted(const std::vector<Node>& body, const std::set<int>& statements) {
  std::vector<Node> result;
  for (const Node& node : body) {
    if (const auto* statement = std::get_if<int>(&node)) {
      if (statements.count(*statement) != 0) result.emplace_back(*statement);
      continue;
    }
    For copy = *std::get<std::shared_ptr<const For>>(node);
    copy.body = restricted(copy.body, statements);
    if (!copy.body.empty()) result.emplace_back(std::make_shared<const For>(std::move(copy)));
  }
  return result;
}

/// Sets of statements that no dependence joins, in textual order.
std::vector<std::set<int>> components(const std::vector<int>& statements,
                                      const Conflicts& conflicts) {
  std::vector<std::size_t> root(statements.size());
  std::iota(root.begin(), root.end(), std::size_t{0});
  for (std::size_t i = 0; i < statements.size(); ++i) {
    for (std::size_t j = i + 1; j < statements.size(); ++j) {
      if (root[i] == root[j] || !conflicts.connected(statements[i], statements[j])) continue;
      const std::size_t from = std::max(root[i], root[j]), to = std::min(root[i], root[j]);
      std::replace(root.begin(), root.end(), from, to);
    }
  }
  std::vector<std::set<int>> result;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    std::set<int> component;
    for (std::size_t j = i; j < statements.size(); ++j) {
      if (root[j] == i) component.insert(statements[j]);
    }
    if (!component.empty()) result.push_back(std::move(component));
  }
  return result;
}

}  // namespace

/// Statements of a loop that nothing joins run in loops of their own: each may then be ordered
/// within a kernel.
std::vector<Cluster> Clustering::plan_for(const For& loop, std::size_t depth) const {
  std::vector<int> statements;
  collect(loop.body, statements);
  std::vector<Cluster> result;
  std::set<int> launched;
  for (const std::set<int>& component : components(statements, conflicts_)) {
    auto cluster = ordered(loop, restricted(loop.body, component), depth);
    if (cluster) {
      result.push_back(std::move(*cluster));
      continue;
    }
    launched.insert(component.begin(), component.end());
  }
  if (!launched.empty()) {
    Cluster cluster;
    cluster.statements.assign(launched.begin(), launched.end());
    cluster.launch_var = loop.var;
    cluster.inner = plan(restricted(loop.body, launched), depth + 1);
    result.push_back(std::move(cluster));
  }
  return result;
}

std::optional<Cluster> Clustering::ordered(const For& loop, const std::vector<Node>& body,
                                           std::size_t depth) const {
  Cluster cluster = sequenced(loop, body, depth);
  if (!keeps_parts(cluster)) return std::nullopt;
  Cluster launched;
  launched.launch_var = loop.var;
  launched.statements = cluster.statements;
  launched.inner = plan(body, depth + 1);
  if (!accepts_ordered(cluster, launched, depth)) return std::nullopt;
  return cluster;
}

bool Clustering::accepts_ordered(const Cluster& cluster, const Cluster& launched,
                                 std::size_t depth) const {
  if (strategy_ == Fusion::Min &&
      (launched.inner.size() != 1 || launched.inner.front().is_launch_loop()))
    return false;
  if (strategy_ == Fusion::Preserve3Coincident) {
    for (const Cluster& inner : launched.inner) {
      if (inner.is_launch_loop() || !keeps_outer_members(inner, cluster)) return false;
    }
  }
  return model_.cost(cluster, depth) <= model_.cost(launched, depth);
}

/// The whole body as one cluster in which the loop runs in order: only members on which no
/// dependence moves, across iterations included, are left.
Cluster Clustering::sequenced(const For& loop, const std::vector<Node>& body,
                              std::size_t depth) const {
  std::vector<Cluster> parts;
  for (const Node& node : body) {
    if (const auto* statement = std::get_if<int>(&node)) {
      parts.push_back(single(*statement, depth));
      continue;
    }
    const For& inner = *std::get<std::shared_ptr<const For>>(node);
    parts.push_back(sequenced(inner, inner.body, depth));
  }
  check(!parts.empty(), "loop without statements");
  Cluster whole = std::move(parts.front());
  parts.erase(parts.begin());
  while (!parts.empty()) {
    std::size_t best = 0;
    std::vector<Match> best_matches;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      std::vector<Match> found = matches(whole, parts[p], Reason::Flow, depth);
      if (found.size() <= best_matches.size()) continue;
      best = p;
      best_matches = std::move(found);
    }
    whole = merged(whole, parts[best], best_matches);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best));
  }
  auto items = std::make_shared<OrderedItems>();
  items->var = loop.var;
  items->body = std::move(whole.items);
  whole.items = {std::shared_ptr<const OrderedItems>(std::move(items))};
  return whole;
}

}  // namespace tc::poly
