// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tc/lang/resolver.h"
#include "tc/lang/sema.h"
#include "tc/support/numeric.h"

namespace tc::lang {

namespace {

/// Language.md section 4, "Dims of parameters": bare identifiers bind first, then dims with one
/// unknown are solved, then everything is checked.
class SizeBinder {
public:
  SizeBinder(const TypedDef& def, const std::vector<std::vector<std::int64_t>>& shapes)
      : def_(def), shapes_(shapes) {
    for (const Tensor& tensor : def.tensors)
      if (tensor.is_param) params_.push_back(&tensor);
    values_.assign(def.sizes.size(), std::nullopt);
    consts_.assign(def.consts.size(), 0);
  }

  BindResult run(const Bindings& known) {
    take_known(known);
    if (check_ranks()) {
      bind_bare();
      solve();
      check_sizes();
      set_bindings();
      if (result_.errors.empty()) check_dims();
    }
    set_bindings();
    return std::move(result_);
  }

private:
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    result_.errors.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void set_bindings() {
    for (std::size_t s = 0; s < values_.size(); ++s)
      if (values_[s]) result_.bindings.sizes[def_.sizes[s].name] = *values_[s];
  }

  int size_named(const std::string& name) const {
    for (std::size_t s = 0; s < def_.sizes.size(); ++s)
      if (def_.sizes[s].name == name) return static_cast<int>(s);
    return -1;
  }

  void take_known(const Bindings& known) {
    for (const auto& [name, value] : known.sizes) {
      const int size = size_named(name);
      if (size < 0)
        error("'{}' has no size '{}'", def_.name, name);
      else
        values_[size] = value;
    }
    for (const auto& [name, value] : known.consts) {
      bool found = false;
      for (std::size_t c = 0; c < def_.consts.size(); ++c) {
        if (def_.consts[c].name != name) continue;
        found = true;
        consts_[c] = value.integer;
        check_const(def_.consts[c], value.integer);
      }
      if (!found) error("'{}' has no const '{}'", def_.name, name);
    }
    for (const Const& constant : def_.consts)
      if (!known.consts.count(constant.name))
        error("const '{}' of '{}' has no value", constant.name, def_.name);
    result_.bindings.consts = known.consts;
  }

  void check_const(const Const& constant, std::int64_t value) {
    if (!is_integer(constant.type) || wrap_to(constant.type, value) == value) return;
    result_.beyond_limits.error("E0335", constant.range,
                                fmt::format("'{}' = {} does not fit {}, which holds {} to {}",
                                            constant.name, value, name(constant.type),
                                            min_value(constant.type), max_value(constant.type)));
  }

  bool check_ranks() {
    const std::size_t before = result_.errors.size();
    if (shapes_.size() != params_.size()) {
      error("'{}' takes {} tensor argument{}, {} given", def_.name, params_.size(),
            params_.size() == 1 ? "" : "s", shapes_.size());
      return false;
    }
    for (std::size_t p = 0; p < params_.size(); ++p) {
      const Tensor& param = *params_[p];
      if (static_cast<int>(shapes_[p].size()) != param.rank) {
        error("argument '{}' has {} dimension{} where {} {} expected", param.name,
              shapes_[p].size(), shapes_[p].size() == 1 ? "" : "s", param.rank,
              param.rank == 1 ? "is" : "are");
        continue;
      }
      for (std::size_t d = 0; d < shapes_[p].size(); ++d) {
        if (shapes_[p][d] < 0)
          error("argument '{}' has the negative size {} in dimension {}", param.name, shapes_[p][d],
                d);
      }
    }
    return result_.errors.size() == before;
  }

  std::optional<std::int64_t> value_of(const ExprPtr& expr, int unknown = -1,
                                       std::int64_t trial = 0) const {
    std::vector<std::int64_t> sizes(values_.size());
    for (std::size_t s = 0; s < values_.size(); ++s)
      sizes[s] = static_cast<int>(s) == unknown ? trial : values_[s].value_or(0);
    IntEnv env;
    env.sizes = &sizes;
    env.consts = &consts_;
    return evaluate(expr, env);
  }

  void bind_bare() {
    for (std::size_t p = 0; p < params_.size(); ++p)
      for (int d = 0; d < params_[p]->rank; ++d) {
        const auto* bare = std::get_if<SizeRef>(&params_[p]->extent[d]->node);
        if (bare && !values_[bare->size]) values_[bare->size] = shapes_[p][d];
      }
  }

  /// The only size in `expr` without a value; -1 if there is none or more than one.
  int single_unknown(const ExprPtr& expr) const {
    int unknown = -1;
    bool several = false;
    walk(expr, [&](const Expr& node) {
      const auto* size = std::get_if<SizeRef>(&node.node);
      if (!size || values_[size->size]) return;
      several = several || (unknown >= 0 && unknown != size->size);
      unknown = size->size;
    });
    return several ? -1 : unknown;
  }

  void solve() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t p = 0; p < params_.size(); ++p)
        for (int d = 0; d < params_[p]->rank; ++d)
          progress = solve_dim(p, d) || progress;
    }
  }

  bool solve_dim(std::size_t p, int d) {
    const ExprPtr& dim = params_[p]->extent[d];
    const int unknown = single_unknown(dim);
    if (unknown < 0) return false;
    const bool affine = linear_in(dim, [&](const Expr& node) {
                          const auto* size = std::get_if<SizeRef>(&node.node);
                          return size && size->size == unknown;
                        }).has_value();
    const auto at_zero = value_of(dim, unknown, 0);
    const auto at_one = value_of(dim, unknown, 1);
    std::int64_t factor = 0;
    std::int64_t rest = 0;
    if (!affine || !at_zero || !at_one || *at_zero == INT64_MIN ||
        !checked_add(*at_one, -*at_zero, factor) || factor == 0 || factor == INT64_MIN ||
        !checked_add(shapes_[p][d], -*at_zero, rest))
      return false;
    values_[unknown] = floor_div(rest, factor);
    if (floor_mod(rest, factor) != 0)
      error("argument '{}' has size {} in dimension {}, which is {} for no integer {}",
            params_[p]->name, shapes_[p][d], d, to_string(def_, nullptr, dim),
            def_.sizes[unknown].name);
    return true;
  }

  void check_sizes() {
    for (std::size_t s = 0; s < values_.size(); ++s) {
      const std::string& name = def_.sizes[s].name;
      if (!values_[s])
        error("size '{}' of '{}' does not follow from the arguments; give its value", name,
              def_.name);
      else if (*values_[s] < 0)
        error("size {} = {} is negative", name, *values_[s]);
    }
  }

  void check_dims() {
    for (std::size_t p = 0; p < params_.size(); ++p)
      for (int d = 0; d < params_[p]->rank; ++d) {
        const ExprPtr& dim = params_[p]->extent[d];
        const auto expected = value_of(dim);
        const std::string text = to_string(def_, nullptr, dim);
        if (!expected) {
          report_dimension(def_, *params_[p], static_cast<std::size_t>(d), result_.bindings,
                           result_.beyond_limits);
          continue;
        }
        if (*expected == shapes_[p][d]) continue;
        const bool constant = std::holds_alternative<IntConst>(dim->node);
        error("argument '{}' has size {} in dimension {} where {} is expected", params_[p]->name,
              shapes_[p][d], d, constant ? text : fmt::format("{} = {}", text, *expected));
      }
  }

  const TypedDef& def_;
  const std::vector<std::vector<std::int64_t>>& shapes_;
  std::vector<const Tensor*> params_;
  std::vector<std::optional<std::int64_t>> values_;
  std::vector<std::int64_t> consts_;
  BindResult result_;
};

}  // namespace

std::string sizes_text(const Bindings& bindings, const TypedDef& def) {
  std::string text;
  for (const Size& size : def.sizes) {
    const auto at = bindings.sizes.find(size.name);
    if (at == bindings.sizes.end()) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", size.name, at->second);
  }
  return text.empty() ? text : " (" + text + ")";
}

void report_dimension(const TypedDef& def, const Tensor& tensor, std::size_t dim,
                      const Bindings& bindings, DiagnosticSink& sink) {
  const ExprPtr& extent = tensor.extent[dim];
  sink.error("E0334", extent->range.empty() ? tensor.range : extent->range,
             fmt::format("dimension {} of '{}', {}, leaves 64 bits{}", dim, tensor.name,
                         to_string(def, nullptr, extent), sizes_text(bindings, def)));
}

BindResult bind_sizes(const TypedDef& def, const std::vector<std::vector<std::int64_t>>& shapes,
                      const Bindings& known) {
  return SizeBinder(def, shapes).run(known);
}

}  // namespace tc::lang
