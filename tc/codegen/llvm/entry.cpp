// SPDX-License-Identifier: Apache-2.0
#include "tc/codegen/llvm/entry.h"

#include <algorithm>

#include "tc/codegen/llvm/emitter.h"
#include "tc/support/check.h"

namespace tc::codegen::native {
namespace {

using llvm::Value;

/// Local buffers beyond this many bytes per kernel live outside the stack.
constexpr std::int64_t kStackBytes = 32 << 10;
constexpr std::int64_t kLocalAlignment = 64;

std::int64_t local_bytes(const kernel::Buffer& buffer) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < buffer.extents.size(); ++d)
    last += std::max<std::int64_t>(buffer.extents[d] - 1, 0) * buffer.strides[d];
  const std::int64_t bytes = (last + 1) * std::max(bits(buffer.type), 4) / 8 + 1;
  return (bytes + kLocalAlignment - 1) / kLocalAlignment * kLocalAlignment;
}

/// Offsets of local buffers in one region. Buffers of disjoint scopes share space.
struct LocalLayout {
  std::vector<std::pair<kernel::BufferPtr, std::int64_t>> places;
  std::int64_t bytes = 0;
};

/// Lays out what `stmt` allocates from `depth` on; returns the depth after it for what follows in
/// the same block.
std::int64_t lay_out(const kernel::StmtPtr& stmt, std::int64_t depth, LocalLayout& layout) {
  if (!stmt) return depth;
  if (const auto* n = std::get_if<kernel::Alloc>(&stmt->node)) {
    layout.places.emplace_back(n->buffer, depth);
    depth += local_bytes(*n->buffer);
    layout.bytes = std::max(layout.bytes, depth);
  } else if (const auto* block = std::get_if<kernel::Block>(&stmt->node)) {
    for (const auto& child : block->stmts) {
      const std::int64_t after = lay_out(child, depth, layout);
      // Only an allocation of this very block stays in scope.
      if (std::holds_alternative<kernel::Alloc>(child->node)) depth = after;
    }
  } else if (const auto* loop = std::get_if<kernel::For>(&stmt->node)) {
    lay_out(loop->body, depth, layout);
  } else if (const auto* branch = std::get_if<kernel::If>(&stmt->node)) {
    lay_out(branch->then_body, depth, layout);
    lay_out(branch->else_body, depth, layout);
  }
  return depth;
}

/// The start of a region of `bytes` that belongs to this thread until the kernel ends.
Value* local_region(Builder& b, llvm::Module& module, const Facts& facts, std::int64_t bytes) {
  llvm::LLVMContext& context = module.getContext();
  if (facts.request.linkage == Request::Linkage::Freestanding) {
    auto* type = llvm::ArrayType::get(b.getInt8Ty(), static_cast<std::uint64_t>(bytes));
    auto* region = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                            llvm::ConstantAggregateZero::get(type), "locals",
                                            nullptr, llvm::GlobalValue::GeneralDynamicTLSModel);
    region->setAlignment(llvm::Align(kLocalAlignment));
    return b.CreateThreadLocalAddress(region);
  }
  auto* type = llvm::FunctionType::get(llvm::PointerType::get(context, 0), {b.getInt64Ty()}, false);
  auto callee = module.getOrInsertFunction("tc_local_acquire", type);
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addRetAttr(llvm::Attribute::NoAlias);
  return b.CreateCall(callee, {b.getInt64(static_cast<std::uint64_t>(bytes))});
}

void place_locals(Emitter& emitter, llvm::Module& module, const Facts& facts,
                  const LocalLayout& layout) {
  if (layout.places.empty()) return;
  Builder& b = emitter.builder();
  if (layout.bytes <= kStackBytes) {
    for (const auto& [buffer, offset] : layout.places) {
      auto* type =
          llvm::ArrayType::get(b.getInt8Ty(), static_cast<std::uint64_t>(local_bytes(*buffer)));
      emitter.define(*buffer, emitter.stack_slot(type, kLocalAlignment, buffer->name));
    }
    return;
  }
  Value* region = local_region(b, module, facts, layout.bytes);
  for (const auto& [buffer, offset] : layout.places)
    emitter.define(*buffer,
                   b.CreateConstGEP1_64(b.getInt8Ty(), region, static_cast<std::uint64_t>(offset)));
}

std::set<int> indexed_registers(const kernel::Kernel& kernel) {
  std::set<int> indexed;
  const auto note = [&](int reg, const kernel::ExprPtr& slot) {
    if (!std::holds_alternative<kernel::IntImm>(slot->node)) indexed.insert(reg);
  };
  walk(
      kernel.body,
      [&](const kernel::Stmt& stmt) {
        if (const auto* n = std::get_if<kernel::Assign>(&stmt.node)) note(n->reg, n->slot);
      },
      [&](const kernel::Expr& expr) {
        if (const auto* n = std::get_if<kernel::RegRef>(&expr.node)) note(n->reg, n->slot);
      });
  return indexed;
}

/// Groups of the kernel's own buffers and of its local ones. Local buffers that lie at one place
/// are never live together, but code must not be moved across the border between their lives: they
/// are one group.
std::map<int, int> with_locals(std::map<int, int> groups, const LocalLayout& layout) {
  int next = 0;
  for (const auto& [buffer, group] : groups)
    next = std::max(next, group + 1);
  std::int64_t end_of_group = -1;
  auto places = layout.places;
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [buffer, offset] : places) {
    if (offset >= end_of_group) ++next;
    groups[buffer->id] = next;
    end_of_group = std::max(end_of_group, offset + local_bytes(*buffer));
  }
  return groups;
}

std::int64_t task_count(const kernel::Kernel& kernel) {
  std::int64_t tasks = 1;
  for (const auto& dim : kernel.grid)
    tasks *= dim.extent;
  return tasks;
}

}  // namespace

llvm::Function* emit_kernel(llvm::Module& module, const Machine& machine,
                            const kernel::Kernel& kernel, const std::string& symbol,
                            const std::map<int, int>& groups) {
  llvm::LLVMContext& context = module.getContext();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* i64 = llvm::Type::getInt64Ty(context);
  auto* type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, i64, i64}, false);
  const bool jit = machine.facts.request.linkage == Request::Linkage::Jit;
  auto* function = llvm::Function::Create(
      type, jit ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage, symbol,
      module);
  set_target_attributes(*function, machine);
  for (const unsigned table : {0u, 1u}) {
    function->addParamAttr(table, llvm::Attribute::NoAlias);
    function->addParamAttr(table, llvm::Attribute::ReadOnly);
  }
  llvm::BasicBlock::Create(context, "entry", function);
  Emitter emitter(*function, module, machine.facts);
  Builder& b = emitter.builder();
  b.SetInsertPoint(&function->getEntryBlock());
  LocalLayout locals;
  lay_out(kernel.body, 0, locals);
  emitter.set_groups(with_locals(groups, locals));
  emitter.set_indexed_registers(indexed_registers(kernel));
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i)
    emitter.define(*kernel.buffers[i],
                   b.CreateLoad(pointer, b.CreateConstGEP1_64(pointer, function->getArg(0), i),
                                kernel.buffers[i]->name));
  for (std::size_t i = 0; i < kernel.int_params.size(); ++i)
    emitter.define(kernel.int_params[i],
                   b.CreateLoad(i64, b.CreateConstGEP1_64(i64, function->getArg(1), i),
                                kernel.int_params[i].name));
  place_locals(emitter, module, machine.facts, locals);
  emitter.counted_loop(
      function->getArg(2), function->getArg(3), 1, false, "task", [&](Value* task) {
        // The last dimension runs fastest.
        Value* rest = task;
        for (std::size_t d = kernel.grid.size(); d-- > 0;) {
          Value* extent = b.getInt64(
              static_cast<std::uint64_t>(std::max<std::int64_t>(kernel.grid[d].extent, 1)));
          emitter.define(kernel.grid[d].var, d == 0 ? rest : b.CreateURem(rest, extent));
          if (d != 0) rest = b.CreateUDiv(rest, extent);
        }
        emitter.statement(kernel.body);
      });
  b.CreateRetVoid();
  return function;
}

void emit_entry(llvm::Module& module, const Machine& machine, const kernel::Plan& plan,
                const std::vector<llvm::Function*>& kernels) {
  llvm::LLVMContext& context = module.getContext();
  auto* pointer = llvm::PointerType::get(context, 0);
  const std::vector<EntryParameter> parameters = entry_parameters(plan);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       std::vector<llvm::Type*>(parameters.size(), pointer), false);
  auto* function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, entry_name(plan), module);
  set_target_attributes(*function, machine);
  llvm::BasicBlock::Create(context, "entry", function);
  Emitter emitter(*function, module, machine.facts);
  Builder& b = emitter.builder();
  b.SetInsertPoint(&function->getEntryBlock());
  std::vector<Value*> pointers(plan.arguments.size(), nullptr);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    for (const int position : parameters[p].arguments) {
      const auto& argument = plan.arguments[static_cast<std::size_t>(position)];
      pointers[static_cast<std::size_t>(position)] =
          b.CreateConstGEP1_64(b.getInt8Ty(), function->getArg(static_cast<unsigned>(p)),
                               static_cast<std::uint64_t>(argument.offset_bytes));
    }
  }
  std::function<void(const std::vector<kernel::Step>&)> run =
      [&](const std::vector<kernel::Step>& steps) {
        for (const auto& step : steps) {
          if (const auto* loop = std::get_if<kernel::Loop>(&step.node)) {
            emitter.counted_loop(emitter.value(loop->lo), emitter.value(loop->hi), 1, false,
                                 loop->counter.name, [&](Value* counter) {
                                   emitter.define(loop->counter, counter);
                                   run(loop->body);
                                 });
            continue;
          }
          const auto& launch = std::get<kernel::Launch>(step.node);
          const auto table = [&](llvm::Type* element, const std::vector<Value*>& values,
                                 const char* name) {
            auto* array = llvm::ArrayType::get(element, std::max<std::size_t>(values.size(), 1));
            Value* slots = emitter.stack_slot(array, 8, name);
            for (std::size_t i = 0; i < values.size(); ++i)
              b.CreateStore(values[i], b.CreateConstGEP1_64(element, slots, i));
            return slots;
          };
          std::vector<Value*> buffers;
          for (const int position : launch.arguments)
            buffers.push_back(pointers[static_cast<std::size_t>(position)]);
          std::vector<Value*> ints;
          for (const auto& value : launch.ints)
            ints.push_back(emitter.value(value));
          const auto index = static_cast<std::size_t>(launch.kernel);
          const auto tasks = static_cast<std::uint64_t>(task_count(plan.kernels[index]));
          b.CreateCall(kernels[index],
                       {table(pointer, buffers, "buffers"), table(b.getInt64Ty(), ints, "ints"),
                        b.getInt64(0), b.getInt64(tasks)});
        }
      };
  run(plan.steps);
  b.CreateRetVoid();
}

}  // namespace tc::codegen::native
