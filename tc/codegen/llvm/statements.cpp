// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "tc/codegen/llvm/arithmetic.h"
#include "tc/codegen/llvm/emitter.h"
#include "tc/support/check.h"

namespace tc::codegen::native {

using llvm::BasicBlock;
using llvm::Value;

Emitter::Emitter(llvm::Function& function, llvm::Module& module, const Facts& facts)
    : function_(function), module_(module), facts_(facts), b_(module.getContext()),
      math_(b_, module, facts) {
  llvm::FastMathFlags flags;
  flags.setAllowContract();  // a product may fuse with the sum that it feeds
  if (facts.request.fast_math) {
    // Reassociation and approximation, as the option says. NaN and infinities stay: masks and
    // running maxima rest on them.
    flags.setAllowReassoc();
    flags.setAllowReciprocal();
    flags.setApproxFunc();
    flags.setNoSignedZeros();
  }
  b_.setFastMathFlags(flags);
}

llvm::AllocaInst* Emitter::stack_slot(llvm::Type* type, std::int64_t alignment,
                                      const std::string& name) {
  BasicBlock& entry = function_.getEntryBlock();
  Builder at_entry(&entry, entry.begin());
  llvm::AllocaInst* slot = at_entry.CreateAlloca(type, nullptr, name);
  const auto wanted = llvm::Align(static_cast<std::uint64_t>(alignment));
  slot->setAlignment(std::max(slot->getAlign(), wanted));
  return slot;
}

void Emitter::if_then_else(Value* condition, const std::function<void()>& then_part,
                           const std::function<void()>& else_part) {
  llvm::LLVMContext& context = b_.getContext();
  BasicBlock* then_block = BasicBlock::Create(context, "then", &function_);
  BasicBlock* else_block = else_part ? BasicBlock::Create(context, "else", &function_) : nullptr;
  BasicBlock* join = BasicBlock::Create(context, "join", &function_);
  b_.CreateCondBr(condition, then_block, else_block ? else_block : join);
  b_.SetInsertPoint(then_block);
  then_part();
  b_.CreateBr(join);
  if (else_block) {
    b_.SetInsertPoint(else_block);
    else_part();
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
}

void Emitter::counted_loop(Value* lo, Value* hi, std::int64_t step, bool is_unsigned,
                           const std::string& name, const std::function<void(Value*)>& body) {
  const auto below = [&](Value* i) {
    return is_unsigned ? b_.CreateICmpULT(i, hi) : b_.CreateICmpSLT(i, hi);
  };
  llvm::LLVMContext& context = b_.getContext();
  BasicBlock* preheader = BasicBlock::Create(context, name + ".begin", &function_);
  BasicBlock* head = BasicBlock::Create(context, name, &function_);
  BasicBlock* end = BasicBlock::Create(context, name + ".end", &function_);
  b_.CreateCondBr(below(lo), preheader, end);
  b_.SetInsertPoint(preheader);
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  llvm::PHINode* counter = b_.CreatePHI(lo->getType(), 2, name);
  counter->addIncoming(lo, preheader);
  body(counter);
  Value* next = b_.CreateAdd(
      counter, llvm::ConstantInt::get(lo->getType(), static_cast<std::uint64_t>(step)));
  counter->addIncoming(next, b_.GetInsertBlock());
  Value* more = below(next);
  // No bound of 64 bits is near the end of its type; a 32-bit counter may be, and must not wrap.
  if (step != 1 && lo->getType()->getIntegerBitWidth() < 64)
    more = b_.CreateAnd(more, is_unsigned ? b_.CreateICmpUGT(next, counter)
                                          : b_.CreateICmpSGT(next, counter));
  b_.CreateCondBr(more, head, end);
  b_.SetInsertPoint(end);
}

void Emitter::loop(const kernel::For& node) {
  Value* lo = value(node.lo);
  Value* hi = value(node.hi);
  define_multiple(node.var, std::gcd(factor_of(node.lo), node.step));
  counted_loop(lo, hi, node.step, is_unsigned_integer(node.var.type.elem), node.var.name,
               [&](Value* counter) {
                 define(node.var, counter);
                 statement(node.body);
               });
}

void Emitter::declare(const kernel::Declare& node) {
  Registers registers;
  registers.type = type_of(node.type);
  if (indexed_.count(node.reg) != 0) {
    auto* type = llvm::ArrayType::get(registers.type, static_cast<std::uint64_t>(node.count));
    registers.array = stack_slot(type, 64, node.name);
    if (node.init) {
      Value* init = value(node.init);
      for (int slot = 0; slot < node.count; ++slot)
        b_.CreateStore(init, b_.CreateConstGEP1_64(registers.type, registers.array,
                                                   static_cast<std::uint64_t>(slot)));
    }
    registers_[node.reg] = std::move(registers);
    return;
  }
  // One slot each, so that every one of them can become a machine register.
  for (int slot = 0; slot < node.count; ++slot)
    registers.slots.push_back(stack_slot(registers.type, 1, node.name));
  if (node.init) {
    Value* init = value(node.init);
    for (auto* slot : registers.slots)
      b_.CreateStore(init, slot);
  }
  registers_[node.reg] = std::move(registers);
}

void Emitter::assign(const kernel::Assign& node) {
  Value* stored = value(node.value);
  b_.CreateStore(stored, register_slot(node.reg, node.slot));
}

void Emitter::statement(const kernel::StmtPtr& stmt) {
  if (!stmt) return;
  std::visit(
      Overloaded{
          [&](const kernel::Block& n) {
            for (const auto& child : n.stmts)
              statement(child);
          },
          [&](const kernel::For& n) { loop(n); },
          [&](const kernel::If& n) {
            if_then_else(
                value(n.condition), [&] { statement(n.then_body); },
                n.else_body ? std::function<void()>([&] { statement(n.else_body); }) : nullptr);
          },
          [&](const kernel::Let& n) {
            define_multiple(n.var, factor_of(n.value));
            define(n.var, value(n.value));
          },
          [&](const kernel::Declare& n) { declare(n); },
          [&](const kernel::Assign& n) { assign(n); },
          [&](const kernel::Store& n) { store_value(n); },
          [](const kernel::Alloc&) {},  // laid out before the body: entry.cpp
          [&](const kernel::Atomic& n) { atomic(n); },
          [](const kernel::Barrier&) {},  // a task is one thread, so its participants are here
          [](const kernel::Mma&) { unreachable("CPU code has no products of warp groups"); },
          [](const kernel::Copy&) { unreachable("CPU code has no asynchronous copies"); },
          [](const kernel::Await&) { unreachable("CPU code has no asynchronous copies"); },
          [](const kernel::Comment&) {},
      },
      stmt->node);
}

}  // namespace tc::codegen::native
