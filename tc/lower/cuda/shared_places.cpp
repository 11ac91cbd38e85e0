// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/shared_places.h"

#include <algorithm>
#include <map>
#include <set>

#include "tc/lower/cuda/shared_bytes.h"
#include "tc/lower/op/program_names.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

using kernel::BufferPtr;
using kernel::ExprPtr;

namespace {

constexpr std::int64_t kCoreThreads = 2048;
constexpr std::int64_t kReservedBytes = 1024;  ///< of each block, for the system

/// From the first to the last node of the list that touches a buffer.
struct Lifetime {
  std::size_t first, last;
};

/// A place in memory and the buffers that use it.
struct Place {
  DType type;
  std::int64_t elements = 0;
  std::size_t last = 0;  ///< node that uses it
  std::vector<BufferPtr> users;
};

std::int64_t elements_of(const kernel::Buffer& buffer) {
  return buffer.extents.front() * buffer.strides.front();
}

/// Rows that follow one another, the innermost elements side by side.
bool is_plain(const kernel::Buffer& buffer) {
  if (buffer.extents.empty() || buffer.strides.back() != 1 || bits(buffer.type) < 8) return false;
  for (std::size_t d = 0; d + 1 < buffer.extents.size(); ++d)
    if (buffer.strides[d] < buffer.extents[d + 1] * buffer.strides[d + 1]) return false;
  return true;
}

class Uses {
public:
  /// False: something works on shared memory on its own.
  bool collect(const std::vector<tile::Node>& nodes) {
    for (position_ = 0; position_ < nodes.size(); ++position_) {
      if (const auto* local = std::get_if<tile::Local>(&nodes[position_])) {
        if (local->buffer->space == kernel::Space::Shared) declared_.push_back(local->buffer);
        continue;
      }
      if (!node(nodes[position_])) return false;
    }
    return true;
  }

  const std::vector<BufferPtr>& declared() const { return declared_; }
  /// A reduction has to see which dims tell the elements of its target apart.
  bool may_move(const kernel::Buffer& buffer) const {
    return lifetime(buffer.id) && combined_.count(buffer.id) == 0 && is_plain(buffer);
  }
  const Lifetime* lifetime(int buffer) const {
    const auto at = lifetimes_.find(buffer);
    return at == lifetimes_.end() ? nullptr : &at->second;
  }

private:
  bool node(const tile::Node& node) {
    if (const auto* op = std::get_if<tile::Op>(&node)) {
      for (const auto& condition : op->conditions)
        expression(condition);
      for (const auto& target : op->targets) {
        touch(*target.buffer);
        if (op->combine) combined_.insert(target.buffer->id);
        expression(target.value);
        for (const auto& subscript : target.subscripts)
          expression(subscript);
      }
      return !op->layout || !op->layout->async;
    }
    if (const auto* loop = std::get_if<std::shared_ptr<const tile::Loop>>(&node))
      return std::all_of((*loop)->body.begin(), (*loop)->body.end(),
                         [&](const tile::Node& inner) { return this->node(inner); });
    return std::holds_alternative<tile::Local>(node) || std::holds_alternative<tile::Barrier>(node);
  }

  void expression(const ExprPtr& expr) {
    if (!expr) return;
    kernel::walk(expr, [&](const kernel::Expr& e) {
      if (const auto* load = std::get_if<kernel::Load>(&e.node)) touch(*load->buffer);
    });
  }

  void touch(const kernel::Buffer& buffer) {
    if (buffer.space != kernel::Space::Shared) return;
    auto& lifetime =
        lifetimes_.try_emplace(buffer.id, Lifetime{position_, position_}).first->second;
    lifetime.last = position_;
  }

  std::size_t position_ = 0;
  std::vector<BufferPtr> declared_;
  std::map<int, Lifetime> lifetimes_;  ///< by id
  std::set<int> combined_;             ///< targets of reductions
};

/// Accesses of buffers that have become parts of another.
class Renaming {
public:
  explicit Renaming(std::map<int, BufferPtr> places) : places_(std::move(places)) {}

  std::vector<tile::Node> list(const std::vector<tile::Node>& nodes) {
    std::vector<tile::Node> out;
    for (const auto& node : nodes) {
      if (const auto* op = std::get_if<tile::Op>(&node)) {
        out.emplace_back(operation(*op));
      } else if (const auto* loop = std::get_if<std::shared_ptr<const tile::Loop>>(&node)) {
        auto copy = std::make_shared<tile::Loop>(**loop);
        copy->body = list((*loop)->body);
        out.emplace_back(std::move(copy));
      } else if (const auto* local = std::get_if<tile::Local>(&node)) {
        const auto place = places_.find(local->buffer->id);
        if (place == places_.end())
          out.push_back(node);
        else if (declared_.insert(place->second->id).second)
          out.emplace_back(tile::Local{place->second});
      } else {
        out.push_back(node);
      }
    }
    return out;
  }

private:
  static ExprPtr linear(const kernel::Buffer& buffer, const std::vector<ExprPtr>& subscripts) {
    ExprPtr sum;
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      const ExprPtr term = buffer.strides[d] == 1
                               ? subscripts[d]
                               : kernel::mul(subscripts[d], kernel::int_imm(buffer.strides[d]));
      sum = sum ? kernel::add(sum, term) : term;
    }
    return sum;
  }

  ExprPtr expression(const ExprPtr& expr) const {
    if (!expr) return expr;
    const ExprPtr mapped =
        kernel::map_children(expr, [&](const ExprPtr& child) { return expression(child); });
    const auto* load = std::get_if<kernel::Load>(&mapped->node);
    const auto place = load ? places_.find(load->buffer->id) : places_.end();
    if (place == places_.end()) return mapped;
    return kernel::load(place->second, {linear(*load->buffer, load->indices)}, load->mask,
                        load->otherwise);
  }

  tile::Op operation(tile::Op op) const {
    for (auto& condition : op.conditions)
      condition = expression(condition);
    for (auto& target : op.targets) {
      target.value = expression(target.value);
      for (auto& subscript : target.subscripts)
        subscript = expression(subscript);
      const auto place = places_.find(target.buffer->id);
      if (place == places_.end()) continue;
      target.subscripts = {linear(*target.buffer, target.subscripts)};
      target.buffer = place->second;
    }
    op.kind = tile::classify(op);
    return op;
  }

  std::map<int, BufferPtr> places_;  ///< by id of what lies there
  std::set<int> declared_;
};

/// Each buffer goes where the least memory has to be added.
std::vector<Place> find_places(const Uses& uses) {
  std::vector<BufferPtr> order;
  for (const auto& buffer : uses.declared())
    if (uses.may_move(*buffer)) order.push_back(buffer);
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return uses.lifetime(a->id)->first < uses.lifetime(b->id)->first;
  });
  std::vector<Place> places;
  for (const auto& buffer : order) {
    const Lifetime& lifetime = *uses.lifetime(buffer->id);
    const std::int64_t elements = elements_of(*buffer);
    Place* best = nullptr;
    const auto added = [&](const Place& place) {
      return std::max<std::int64_t>(elements - place.elements, 0);
    };
    for (auto& place : places)
      if (place.type == buffer->type && place.last < lifetime.first &&
          (!best || added(place) < added(*best)))
        best = &place;
    if (!best) best = &places.emplace_back(Place{buffer->type, 0, 0, {}});
    best->elements = std::max(best->elements, elements);
    best->last = lifetime.last;
    best->users.push_back(buffer);
  }
  return places;
}

std::int64_t blocks_of_core(std::int64_t bytes, std::int64_t threads, const Target& target) {
  const std::int64_t all = target.shared_bytes + kReservedBytes;
  return std::min(all / (bytes + kReservedBytes), kCoreThreads / threads);
}

}  // namespace

void share_places(tile::Kernel& kernel, const Target& target) {
  Uses uses;
  if (!uses.collect(kernel.body)) return;
  Names names = names_after(kernel);
  std::map<int, BufferPtr> places;
  for (const auto& place : find_places(uses)) {
    if (place.users.size() < 2) continue;
    auto buffer = std::make_shared<kernel::Buffer>(*place.users.front());
    buffer->id = names.buffer();
    buffer->extents = {place.elements};
    buffer->strides = {1};
    for (const auto& user : place.users) {
      if (user != place.users.front()) buffer->name += "_" + user->name;
      buffer->alignment = std::max(buffer->alignment, user->alignment);
    }
    for (const auto& user : place.users)
      places[user->id] = buffer;
  }
  if (places.empty()) return;
  const auto body = Renaming(std::move(places)).list(kernel.body);
  const std::int64_t threads = kernel.thread->extent;
  if (blocks_of_core(shared_bytes(body), threads, target) >
      blocks_of_core(shared_bytes(kernel.body), threads, target))
    kernel.body = body;
}

}  // namespace tc::lower::cuda
