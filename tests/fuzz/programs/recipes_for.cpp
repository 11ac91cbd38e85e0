// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "recipe_parts.h"
#include "recipes.h"
#include "runner.h"

namespace tc::fuzz {

namespace {

/// A `for` variable as the statements inside see it.
void enter_for(Writer& w, const std::string& name, std::int64_t lo, std::int64_t hi) {
  IndexVar var;
  var.name = name;
  var.lo = lo;
  var.hi = hi;
  var.is_for = true;
  w.vars.push_back(var);
}

std::string loop(const std::string& name, const std::string& lo, const std::string& hi,
                 const std::vector<std::string>& body) {
  std::string text = fmt::format("for {} in {}:{} {{\n", name, lo, hi);
  for (const std::string& statement : body)
    text += "    " + statement + "\n";
  return text + "  }";
}

}  // namespace

void write_recurrence(State& s, Random& r) {
  const std::string h = s.fresh("h"), t = s.fresh("t");
  const std::int64_t steps = r.between(2, 6);
  Writer start(s, r);
  start.hidden.insert(h);
  const int rank = static_cast<int>(r.weighted({20, 55, 25}));
  std::vector<std::int64_t> extents;
  for (int d = 0; d < rank; ++d)
    start.add_var(0, start.extent(), true);
  start.shrink_to(300);
  std::vector<std::string> at = {"0"};
  for (const IndexVar& var : start.vars) {
    at.push_back(var.name);
    extents.push_back(var.hi);
  }
  s.body.push_back(start.finish(start.left(h, at), "=", start.expr(Class::Float, 1)));

  std::vector<std::string> body;
  Writer w(s, r);
  enter_for(w, t, 1, steps);
  w.hidden.insert(h);
  std::vector<std::string> now = {t}, before = {t + "-1"};
  for (std::int64_t extent : extents) {
    IndexVar& var = w.add_var(0, extent, true);
    var.settled = true;
    now.push_back(var.name);
    before.push_back(var.name);
  }
  std::string value;
  if (rank > 0 && s.may_have_params && r.percent(55)) {
    // A product with the last step, kept in a temporary.
    const std::string g = s.fresh("g");
    Writer sum(s, r);
    enter_for(sum, t, 1, steps);
    sum.hidden.insert(h);
    sum.hidden.insert(g);
    std::vector<std::string> left, read = {t + "-1"};
    std::vector<std::size_t> weights;
    for (std::int64_t extent : extents) {
      IndexVar& var = sum.add_var(0, extent, true);
      var.settled = true;
      left.push_back(var.name);
      read.push_back(var.name);
    }
    weights.push_back(sum.vars.size() - 1);
    IndexVar& inner = sum.add_var(0, extents.back(), false);
    inner.settled = true;
    read.back() = inner.name;
    weights.push_back(sum.vars.size() - 1);
    const std::string factor = read_over(s, r, sum, weights, DType::Float32);
    body.push_back(sum.finish(sum.left(g, left), r.percent(85) ? "+=!" : "max=!",
                              fmt::format("{}({}) * {}", h, fmt::join(read, ","), factor)));
    value = fmt::format("{}({}) * 0.125", g, fmt::join(left, ","));
    for (std::size_t d = 0; d < left.size(); ++d)
      value.replace(value.find(left[d]), left[d].size(), now[d + 1]);
    TensorInfo info{g,       DType::Float32, std::vector<std::int64_t>(extents.size(), 0),
                    extents, false,          r.percent(20),
                    "",      false};
    s.tensors.push_back(info);
    w.hidden.insert(g);
  } else {
    value = fmt::format("0.5 * {}({})", h, fmt::join(before, ","));
  }
  if (r.percent(50)) value = fmt::format("tanh({})", value);
  value = fmt::format("{} + ({})", value, w.expr(Class::Float, 1));
  body.push_back(w.finish(w.left(h, now), "=", value));
  s.body.push_back(loop(t, "1", w.bound(steps), body));
  extents.insert(extents.begin(), steps);
  declare(s, r, w, Left{h, {}, std::vector<std::int64_t>(extents.size(), 0), extents},
          DType::Float32, false);
}

void write_time_steps(State& s, Random& r) {
  const int chosen = writable(s, r, r.percent(60));
  if (chosen < 0) return write_recurrence(s, r);
  const TensorInfo state = s.tensors[static_cast<std::size_t>(chosen)];
  if (state.rank() == 0 || state.rank() > 2 || class_of(state.type) == Class::Bool ||
      state.type == DType::UInt64)
    return write_recurrence(s, r);
  const std::string g = s.fresh("g"), t = s.fresh("t");
  const std::int64_t steps = r.between(1, 4);
  const Class of = class_of(state.type);
  std::vector<std::string> body;
  Writer w(s, r);
  enter_for(w, t, 0, steps);
  w.hidden.insert(g);
  std::vector<std::string> at;
  for (std::size_t d = 0; d < state.rank(); ++d) {
    IndexVar& var = w.add_var(state.begin[d], state.begin[d] + state.extent[d], true);
    var.settled = state.begin[d] == 0;
    at.push_back(var.name);
  }
  const std::string value =
      fmt::format("{} + {}", w.read(state), r.percent(60) ? w.read(state) : w.expr(of, 1));
  body.push_back(w.finish(w.left(g, at), "=", value));
  Writer back(s, r);
  enter_for(back, t, 0, steps);
  back.hidden = w.hidden;
  back.hidden.insert(state.name);
  std::vector<std::string> again;
  for (std::size_t d = 0; d < state.rank(); ++d) {
    IndexVar& var = back.add_var(state.begin[d], state.begin[d] + state.extent[d], true);
    var.settled = state.begin[d] == 0;
    again.push_back(var.name);
  }
  std::string update = fmt::format("{}({})", g, fmt::join(again, ","));
  if (of == Class::Float) update += " * 0.5";
  if (r.percent(40)) update += fmt::format(" + {}({})", state.name, fmt::join(again, ","));
  body.push_back(back.finish(back.left(state.name, again), "=", update));
  s.body.push_back(loop(t, "0", w.bound(steps), body));
  s.tensors.push_back({g, state.type, state.begin, state.extent, false, r.percent(25), "", false});
}

void write_nested_for(State& s, Random& r) {
  const std::string d = s.fresh("d"), t = s.fresh("t"), u = s.fresh("u"), i = s.fresh("i");
  const std::int64_t rows = r.between(2, 7), columns = r.between(2, 7);
  const Class of = r.percent(60) ? Class::Float : Class::Integer;
  Writer first(s, r);
  first.hidden.insert(d);
  first.add_var(0, columns, true);
  const std::string top = first.expr(of, 1);
  s.body.push_back(first.finish(first.left(d, {"0", first.vars[0].name}), "=", top));
  s.body.push_back(fmt::format("{0}({1},0) = {2} where {1} in 1:{3}", d, i, first.literal(of),
                               first.bound(rows)));
  Writer w(s, r);
  enter_for(w, t, 1, rows);
  enter_for(w, u, 1, columns);
  w.hidden.insert(d);
  const char* form =
      r.pick<const char*>({"max({0}({1}-1,{2}), {0}({1},{2}-1)) + {3}", "{0}({1}-1,{2}-1) + {3}",
                           "min({0}({1}-1,{2}), {0}({1},{2}-1), {0}({1}-1,{2}-1)) + {3}",
                           "{0}({1},{2}-1) - {0}({1}-1,{2}) + {3}"});
  const std::string value = fmt::format(fmt::runtime(form), d, t, u, w.expr(of, 1));
  const std::string statement = w.finish(fmt::format("{}({},{})", d, t, u), "=", value);
  const std::string inner = loop(u, "1", w.bound(columns), {statement});
  s.body.push_back(loop(t, "1", w.bound(rows), {inner}));
  declare(s, r, w, Left{d, {}, {0, 0}, {rows, columns}},
          of == Class::Float ? DType::Float32 : DType::Int32, false);
}

void write_for_updates(State& s, Random& r) {
  const std::string t = s.fresh("t");
  const std::int64_t lo = r.between(0, 2), hi = lo + r.between(1, 4);
  const bool fresh = r.percent(50);
  Writer w(s, r);
  enter_for(w, t, fresh ? 0 : lo, hi);
  if (fresh) {
    // A new tensor, one slice an iteration.
    const std::string y = s.fresh("v");
    w.hidden.insert(y);
    w.add_var(0, w.extent(), true);
    const bool sums = r.percent(50);
    if (sums) add_reduction(r, w, 1, 2000);
    const Class of = r.percent(65) ? Class::Float : Class::Integer;
    const std::string value = w.expr(of, any_depth(r));
    const std::string statement =
        w.finish(fmt::format("{}({},{})", y, t, w.vars[1].name),
                 sums ? r.pick<const char*>({"+=!", "max=!"}) : "=", value);
    s.body.push_back(loop(t, "0", w.bound(hi), {statement}));
    declare(s, r, w, Left{y, {}, {0, 0}, {hi, w.vars[1].hi}},
            of == Class::Float ? DType::Float32 : DType::Int32, false);
    return;
  }
  const int chosen = writable(s, r, r.percent(50));
  if (chosen < 0) return write_recurrence(s, r);
  const TensorInfo tensor = s.tensors[static_cast<std::size_t>(chosen)];
  const Left left = old_left(r, w, tensor);
  if (r.percent(50)) add_reduction(r, w, 1);
  w.shrink_to(3000);
  const Class of = class_of(tensor.type);
  const bool reduces = std::any_of(w.vars.begin(), w.vars.end(),
                                   [](const IndexVar& var) { return !var.is_for && !var.on_left; });
  const std::string value = w.expr(of, any_depth(r));
  const std::string op = reduces ? r.pick<const char*>({"+=", "max=", "min="})
                                 : r.pick<const char*>({"=", "+=", "max="});
  const std::string statement = w.finish(w.left(left.tensor, left.subscripts), op, value);
  s.body.push_back(loop(t, w.bound(lo), w.bound(hi), {statement}));
}

void write_call(State& s, Random& r) {
  if (!s.may_have_params || s.is_helper || s.helpers.size() >= 2) return write_assign(s, r);
  State callee;
  callee.is_helper = true;
  callee.name = s.fresh(r.percent(20) ? "kernel" : "g");
  callee.names = 1000 * (static_cast<int>(s.helpers.size()) + 1);
  callee.sizes.clear();
  write_assign(callee, r);
  if (r.percent(60)) (r.percent(50) ? write_reduce : write_copy)(callee, r);
  if (r.percent(30)) write_contract(callee, r);
  if (!callee.has_outputs()) callee.tensors.back().is_output = true;
  const Acceptance alone = accept(callee.to_case());
  if (!alone.accepted || !alone.message.empty()) return write_assign(s, r);
  s.helpers.push_back(callee.text());

  // Arguments: tensors of the caller that fit, or new parameters; scalars may be literals.
  Writer w(s, r);
  std::vector<std::string> arguments;
  for (const std::string& declaration : callee.declarations) {
    const std::string name = declaration.substr(declaration.rfind(' ') + 1);
    const auto constant = std::find_if(callee.consts.begin(), callee.consts.end(),
                                       [&](const ConstInfo& info) { return info.name == name; });
    if (constant != callee.consts.end()) {
      arguments.push_back(is_float(constant->type) ? fmt::format("{:.2f}", constant->value.real)
                                                   : std::to_string(constant->value.integer));
      continue;
    }
    const TensorInfo param = *callee.find(name);
    const auto fits =
        std::find_if(s.tensors.begin(), s.tensors.end(), [&](const TensorInfo& known) {
          return known.type == param.type && known.extent == param.extent && known.is_param;
        });
    if (param.rank() == 0 && class_of(param.type) == Class::Float && r.percent(50)) {
      arguments.push_back(w.literal(Class::Float));
    } else if (fits != s.tensors.end()) {
      arguments.push_back(fits->name);
    } else {
      arguments.push_back(w.new_param(param.type, param.extent).name);
    }
  }
  std::vector<std::string> results;
  for (const TensorInfo& info : callee.tensors) {
    if (!info.is_output) continue;
    const std::string name = s.fresh("z");
    results.push_back(name);
    s.tensors.push_back({name, info.type, std::vector<std::int64_t>(info.rank(), 0), info.extent,
                         false, r.percent(75), "", false});
  }
  s.body.push_back(fmt::format("{} = {}({})", fmt::join(results, ", "), callee.name,
                               fmt::join(arguments, ", ")));
}

}  // namespace tc::fuzz
