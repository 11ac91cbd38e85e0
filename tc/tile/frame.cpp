// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/frame.h"

#include <algorithm>
#include <cctype>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::tile {
namespace {

using kernel::ExprPtr;

void collect_indices(const lang::ExprPtr& expr, std::vector<int>& indices) {
  if (!expr) return;
  lang::walk(expr, [&](const lang::Expr& e) {
    if (const auto* ref = std::get_if<lang::IndexRef>(&e.node))
      if (std::find(indices.begin(), indices.end(), ref->index) == indices.end())
        indices.push_back(ref->index);
  });
}

/// Left-hand indices in the order in which the subscripts name them, then the rest; an index comes
/// after those that bound it.
std::vector<int> dim_order(const poly::Statement& statement) {
  std::vector<int> wanted;
  for (const auto& target : statement.targets)
    for (const auto& subscript : target.subscripts)
      collect_indices(subscript, wanted);
  std::erase_if(wanted,
                [&](int i) { return !statement.indices[static_cast<std::size_t>(i)].on_left; });
  for (int pass = 0; pass < 2; ++pass)
    for (std::size_t i = 0; i < statement.indices.size(); ++i)
      if (statement.indices[i].on_left == (pass == 0) &&
          std::find(wanted.begin(), wanted.end(), static_cast<int>(i)) == wanted.end())
        wanted.push_back(static_cast<int>(i));
  std::vector<int> order;
  while (!wanted.empty()) {
    const auto ready = std::find_if(wanted.begin(), wanted.end(), [&](int i) {
      const auto& index = statement.indices[static_cast<std::size_t>(i)];
      std::vector<int> needs;
      collect_indices(index.lo, needs);
      collect_indices(index.hi, needs);
      return std::all_of(needs.begin(), needs.end(), [&](int need) {
        return std::find(order.begin(), order.end(), need) != order.end();
      });
    });
    check(ready != wanted.end(), "bounds of indices form no cycle");
    order.push_back(*ready);
    wanted.erase(ready);
  }
  return order;
}

bool never_above(const ExprPtr& a, const ExprPtr& b, const Scope& scope) {
  const auto difference = upper_bound(kernel::sub(a, b), scope);
  return difference && *difference <= 0;
}

class FrameBuilder {
public:
  FrameBuilder(const poly::Scop& scop, const poly::Group& group) : scop_(scop) {
    frame_.group = &group;
    frame_.statements.resize(group.statements.size());
  }

  GroupFrame build(const std::vector<LaunchCounter>& counters,
                   const std::vector<std::int64_t>& tile) {
    const auto& band = frame_.group->band;
    check(tile.size() == band.size(), "one tile size per band member");
    member_var_.resize(band.size());
    for (std::size_t m = 0; m < band.size(); ++m) {
      const std::int64_t extent = std::max<std::int64_t>(band[m].hi - band[m].lo, 1);
      check(tile[m] >= 1, "a tile size is positive");
      frame_.tile.push_back(std::min(tile[m], extent));
      if (frame_.tile[m] == extent) continue;
      GridLoop loop{new_var(band[m].name.empty() ? "v" : band[m].name + "_tile", outer_names_),
                    band[m].lo, band[m].hi, frame_.tile[m]};
      member_var_[m] = kernel::var_ref(loop.var);
      scope_.push(loop);
      frame_.grid.push_back(std::move(loop));
      frame_.grid_member.push_back(m);
    }
    for (const auto& counter : counters) {
      const Translator translator(scop_, outer_, scope_, no_places_, Bounds::Check);
      const ExprPtr begin = translator.address(counter.loop->lo);
      const ExprPtr end = translator.address(counter.loop->hi);
      const kernel::Var var = new_var(counter.loop->name, outer_names_);
      frame_.int_params.push_back(var);
      outer_.for_vars[counter.loop->var] = kernel::var_ref(var);
      scope_.push(var, begin, end);
    }
    frame_.body = items(frame_.group->body);
    frame_.next_var = next_var_;
    return std::move(frame_);
  }

private:
  kernel::Var new_var(const std::string& name, std::vector<std::string>& taken) {
    return {next_var_++, unique_name(name, taken), {DType::Int64, 1}};
  }

  std::vector<FrameItem> items(const std::vector<poly::Item>& body) {
    std::vector<FrameItem> result;
    for (const auto& item : body) {
      if (const auto* position = std::get_if<int>(&item)) {
        statement(*position);
        result.emplace_back(*position);
        continue;
      }
      const auto& ordered = *std::get<std::shared_ptr<const poly::Ordered>>(item);
      if (auto loop = this->loop(ordered)) result.emplace_back(std::move(loop));
    }
    return result;
  }

  std::shared_ptr<const LoopFrame> loop(const poly::Ordered& ordered) {
    const Translator translator(scop_, outer_, scope_, no_places_, Bounds::Check);
    LoopFrame loop;
    loop.begin = translator.address(ordered.lo);
    loop.end = translator.address(ordered.hi);
    if (never_above(loop.end, loop.begin, scope_)) {
      mark_empty(ordered.body);
      return nullptr;
    }
    const auto names = outer_names_;
    loop.var = new_var(ordered.name, outer_names_);
    outer_.for_vars[ordered.var] = kernel::var_ref(loop.var);
    scope_.push(loop.var, loop.begin, loop.end);
    loop.body = items(ordered.body);
    scope_.pop();
    outer_.for_vars.erase(ordered.var);
    outer_names_ = names;
    return std::make_shared<const LoopFrame>(std::move(loop));
  }

  void mark_empty(const std::vector<poly::Item>& body) {
    for (const auto& item : body) {
      if (const auto* position = std::get_if<int>(&item)) {
        auto& frame = frame_.statements[static_cast<std::size_t>(*position)];
        frame.statement = &statement_at(*position);
        frame.band = &frame_.group->band;
        frame.position = *position;
        frame.empty = true;
      } else {
        mark_empty(std::get<std::shared_ptr<const poly::Ordered>>(item)->body);
      }
    }
  }

  const poly::Statement& statement_at(int position) const {
    const int id = frame_.group->statements[static_cast<std::size_t>(position)];
    return scop_.statements[static_cast<std::size_t>(id)];
  }

  void statement(int position) {
    auto& frame = frame_.statements[static_cast<std::size_t>(position)];
    const auto& statement = statement_at(position);
    frame.statement = &statement;
    frame.band = &frame_.group->band;
    frame.position = position;
    frame.scope = scope_;
    frame.names = outer_;
    frame.names.indices.resize(statement.indices.size());
    auto names = outer_names_;
    for (const int i : dim_order(statement)) {
      Dim dim = this->dim(frame, statement, i, names);
      const auto extent = upper_bound(kernel::sub(dim.end, dim.begin), frame.scope);
      check(extent.has_value(), "the extent of a dimension is bounded");
      dim.max_extent = std::max<std::int64_t>(*extent, 0);
      frame.empty = frame.empty || dim.max_extent == 0;
      frame.scope.push(dim.var, dim.begin, dim.end);
      frame.names.indices[static_cast<std::size_t>(i)] = kernel::var_ref(dim.var);
      frame.dims.push_back(std::move(dim));
    }
  }

  Dim dim(const StatementFrame& frame, const poly::Statement& statement, int i,
          std::vector<std::string>& names) {
    const auto& index = statement.indices[static_cast<std::size_t>(i)];
    const Translator translator(scop_, frame.names, frame.scope, no_places_, Bounds::Check);
    Dim dim;
    dim.reduction = !index.on_left;
    dim.begin = translator.address(index.lo);
    dim.end = translator.address(index.hi);
    for (std::size_t m = 0; m < member_var_.size(); ++m) {
      if (!member_var_[m]) continue;
      const auto& alignment =
          frame_.group->band[m].alignment[static_cast<std::size_t>(frame.position)];
      if (alignment.index == i) clip(dim, frame.scope, alignment, m);
    }
    dim.var = new_var(index.name, names);
    return dim;
  }

  /// Cuts the range of an index to the tile of band member `m`.
  void clip(Dim& dim, const Scope& scope, const poly::Alignment& alignment, std::size_t m) {
    const ExprPtr& v = member_var_[m];
    const std::int64_t size = frame_.tile[m];
    const auto shifted = [&](const ExprPtr& e, std::int64_t by) {
      return kernel::add(e, kernel::int_imm(by));
    };
    ExprPtr begin, end;
    if (alignment.sign > 0) {
      begin = shifted(v, -alignment.offset);
      end = shifted(v, size - alignment.offset);
    } else {
      const ExprPtr mirrored = kernel::sub(kernel::int_imm(alignment.offset), v);
      begin = shifted(mirrored, 1 - size);
      end = shifted(mirrored, 1);
    }
    if (never_above(dim.begin, begin, scope))
      dim.begin = begin;
    else if (!never_above(begin, dim.begin, scope))
      dim.begin = kernel::binary(kernel::BinaryOp::Max, dim.begin, begin);
    if (never_above(end, dim.end, scope))
      dim.end = end;
    else if (!never_above(dim.end, end, scope))
      dim.end = kernel::binary(kernel::BinaryOp::Min, dim.end, end);
  }

  const poly::Scop& scop_;
  const std::vector<Place> no_places_;
  GroupFrame frame_;
  Scope scope_;  ///< grid, parameters, enclosing loops
  Names outer_;  ///< for variables in scope
  std::vector<std::string> outer_names_;
  std::vector<ExprPtr> member_var_;  ///< null: the member is one tile
  int next_var_ = 0;
};

}  // namespace

GroupFrame make_frame(const poly::Scop& scop, const poly::Group& group,
                      const std::vector<LaunchCounter>& counters,
                      const std::vector<std::int64_t>& tile) {
  return FrameBuilder(scop, group).build(counters, tile);
}

std::vector<int> statements_below(const std::vector<FrameItem>& items) {
  std::vector<int> result;
  for (const auto& item : items) {
    if (const auto* position = std::get_if<int>(&item)) {
      result.push_back(*position);
      continue;
    }
    const auto below = statements_below(std::get<std::shared_ptr<const LoopFrame>>(item)->body);
    result.insert(result.end(), below.begin(), below.end());
  }
  return result;
}

std::string unique_name(const std::string& wanted, std::vector<std::string>& taken) {
  std::string name;
  for (const char c : wanted)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0)
    name.insert(name.begin(), '_');
  const auto is_taken = [&](const std::string& n) {
    return std::find(taken.begin(), taken.end(), n) != taken.end();
  };
  std::string result = name;
  for (int i = 1; is_taken(result); ++i)
    result = name + "_" + std::to_string(i);
  taken.push_back(result);
  return result;
}

}  // namespace tc::tile
