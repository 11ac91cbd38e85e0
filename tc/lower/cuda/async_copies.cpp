// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/async_copies.h"

#include <map>

#include <fmt/format.h>

namespace tc::lower::cuda {

using kernel::ExprPtr;
using kernel::StmtPtr;

namespace {

/// Elements lie side by side: one subscript is a vector, and steps through memory.
bool is_contiguous(const kernel::Buffer& buffer, const std::vector<ExprPtr>& indices, int lanes) {
  std::int64_t step = 0;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (const auto* ramp = std::get_if<kernel::Ramp>(&indices[d]->node))
      step += ramp->stride * buffer.strides[d];
    else if (indices[d]->type.lanes > 1 &&
             !std::holds_alternative<kernel::Broadcast>(indices[d]->node))
      return false;
  }
  return lanes == 1 || step == 1;
}

/// Where the mask fails.
bool yields_zero(const kernel::Load& load) {
  if (!load.otherwise) return true;
  const auto* splat = std::get_if<kernel::Broadcast>(&load.otherwise->node);
  const auto* value =
      std::get_if<kernel::FloatImm>(splat ? &splat->value->node : &load.otherwise->node);
  return value && value->value == 0;
}

std::vector<ExprPtr> first_of(const std::vector<ExprPtr>& indices) {
  std::vector<ExprPtr> first;
  for (const auto& index : indices)
    first.push_back(kernel::lane(index, 0));
  return first;
}

class Rewriting {
public:
  StmtPtr operator()(const StmtPtr& stmt) {
    // The nest may have named what it loads.
    if (const auto* let = std::get_if<kernel::Let>(&stmt->node);
        let && std::holds_alternative<kernel::Load>(let->value->node)) {
      named_[let->var.id] = let->value;
      return kernel::block({});
    }
    const auto* store = std::get_if<kernel::Store>(&stmt->node);
    if (!store)
      return kernel::map_children(
          stmt, [](const ExprPtr& expr) { return expr; },
          [this](const StmtPtr& child) { return (*this)(child); });
    ExprPtr value = store->value;
    if (const auto* ref = std::get_if<kernel::VarRef>(&value->node))
      if (const auto named = named_.find(ref->var.id); named != named_.end()) value = named->second;
    const auto* load = std::get_if<kernel::Load>(&value->node);
    const int lanes = value->type.lanes;
    if (!load || !yields_zero(*load) || store->mask ||
        !is_contiguous(*store->buffer, store->indices, lanes) ||
        !is_contiguous(*load->buffer, load->indices, lanes)) {
      problem_ = fmt::format("an asynchronous copy to '{}' that is not one of neighbours",
                             store->buffer->name);
      return stmt;
    }
    kernel::Copy copy;
    copy.count = lanes;
    copy.to = store->buffer;
    copy.to_indices = first_of(store->indices);
    copy.from = load->buffer;
    copy.from_indices = first_of(load->indices);
    if (load->mask) copy.predicate = kernel::lane(load->mask, 0);
    return kernel::make_stmt(std::move(copy));
  }

  const std::string& problem() const { return problem_; }

private:
  std::map<int, ExprPtr> named_;  ///< loads by the variable that has their value
  std::string problem_;
};

}  // namespace

Result<StmtPtr, Rejection> as_async_copies(const StmtPtr& stmt) {
  Rewriting rewriting;
  StmtPtr result = rewriting(stmt);
  if (!rewriting.problem().empty())
    return Rejection{RejectionKind::Unsupported, rewriting.problem()};
  return result;
}

}  // namespace tc::lower::cuda
