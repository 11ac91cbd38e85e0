// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/op/program_names.h"

#include <algorithm>

#include "tc/support/check.h"

namespace tc::lower {
namespace {

struct Highest {
  int var = -1;
  int buffer = -1;

  void visit(const kernel::ExprPtr& expr) {
    kernel::walk(expr, [this](const kernel::Expr& e) {
      if (const auto* v = std::get_if<kernel::VarRef>(&e.node)) var = std::max(var, v->var.id);
      if (const auto* l = std::get_if<kernel::Load>(&e.node))
        buffer = std::max(buffer, l->buffer->id);
    });
  }
  void visit(const tile::Op& op) {
    for (const auto& digit : op.digits)
      var = std::max(var, digit.var.id);
    for (const auto& dim : op.dims) {
      var = std::max(var, dim.var.id);
      visit(dim.begin);
      visit(dim.end);
    }
    for (const auto& condition : op.conditions)
      visit(condition);
    for (const auto& target : op.targets) {
      buffer = std::max(buffer, target.buffer->id);
      visit(target.value);
      for (const auto& subscript : target.subscripts)
        visit(subscript);
    }
  }
  void visit(const std::vector<tile::Node>& nodes) {
    for (const auto& node : nodes)
      std::visit(
          Overloaded{
              [this](const tile::Op& op) { visit(op); },
              [this](const std::shared_ptr<const tile::Loop>& loop) {
                var = std::max(var, loop->var.id);
                visit(loop->begin);
                visit(loop->end);
                visit(loop->body);
              },
              [this](const tile::Local& local) { buffer = std::max(buffer, local.buffer->id); },
              [](const tile::Barrier&) {},
              [this](const kernel::Mma& mma) {
                for (const auto* subscripts : {&mma.first, &mma.rows.corner, &mma.columns.corner})
                  for (const auto& subscript : *subscripts)
                    visit(subscript);
              },
              [](const kernel::Await&) {},
          },
          node);
  }
};

}  // namespace

Names names_after(const tile::Kernel& kernel) {
  Highest highest;
  for (const auto& buffer : kernel.buffers)
    highest.buffer = std::max(highest.buffer, buffer->id);
  for (const auto& param : kernel.int_params)
    highest.var = std::max(highest.var, param.id);
  for (const auto& loop : kernel.grid)
    highest.var = std::max(highest.var, loop.var.id);
  if (kernel.thread) highest.var = std::max(highest.var, kernel.thread->var.id);
  highest.visit(kernel.body);
  return Names(highest.var + 1, highest.buffer + 1);
}

}  // namespace tc::lower
