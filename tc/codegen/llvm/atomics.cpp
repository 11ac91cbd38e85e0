// SPDX-License-Identifier: Apache-2.0
#include "tc/codegen/llvm/arithmetic.h"
#include "tc/codegen/llvm/emitter.h"
#include "tc/support/check.h"

namespace tc::codegen::native {

using llvm::Value;

namespace {

constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;

/// The instruction of the machine for an update whose storage type is its compute type.
std::optional<llvm::AtomicRMWInst::BinOp> instruction(const kernel::Atomic& node) {
  const DType type = node.buffer->type;
  if (!is_integer(type) || type != compute_type(type)) return std::nullopt;
  const bool is_unsigned = is_unsigned_integer(type);
  switch (node.op) {
  case kernel::ReduceOp::Add: return llvm::AtomicRMWInst::Add;
  case kernel::ReduceOp::Min:
    return is_unsigned ? llvm::AtomicRMWInst::UMin : llvm::AtomicRMWInst::Min;
  case kernel::ReduceOp::Max:
    return is_unsigned ? llvm::AtomicRMWInst::UMax : llvm::AtomicRMWInst::Max;
  case kernel::ReduceOp::Mul:
  case kernel::ReduceOp::And:
  case kernel::ReduceOp::Or: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

/// Read, combine in the compute type, exchange if nothing came between.
void Emitter::atomic_exchange_loop(const kernel::Atomic& node, Value* offset, Value* operand) {
  const kernel::Buffer& buffer = *node.buffer;
  const bool packed = bits(buffer.type) == 4;
  llvm::Type* word = b_.getIntNTy(static_cast<unsigned>(std::max(bits(buffer.type), 8)));
  llvm::Type* storage = storage_type(b_.getContext(), buffer.type);
  Value* at = packed ? byte_pointer(buffer, offset) : pointer(buffer, offset);
  const llvm::Align align(word->getIntegerBitWidth() / 8);
  Value* shift = packed ? nibble_shift(offset) : nullptr;
  llvm::LoadInst* first = b_.CreateAlignedLoad(word, at, align);
  first->setAtomic(kOrder);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* again = llvm::BasicBlock::Create(b_.getContext(), "exchange", &function_);
  auto* done = llvm::BasicBlock::Create(b_.getContext(), "exchanged", &function_);
  b_.CreateBr(again);
  b_.SetInsertPoint(again);
  llvm::PHINode* old = b_.CreatePHI(word, 2);
  old->addIncoming(first, before);
  Value* stored = b_.CreateBitCast(old, storage);
  if (packed) stored = b_.CreateAnd(b_.CreateLShr(old, shift), b_.getInt8(15));
  Value* current = from_storage(b_, facts_, buffer.type, stored);
  Value* updated = to_storage(b_, facts_, buffer.type,
                              combine(b_, node.op, compute_type(buffer.type), current, operand));
  Value* next = b_.CreateBitCast(updated, word);
  if (packed) {
    Value* kept = b_.CreateAnd(old, b_.CreateNot(b_.CreateShl(b_.getInt8(15), shift)));
    next = b_.CreateOr(kept, b_.CreateShl(updated, shift));
  }
  Value* exchange = b_.CreateAtomicCmpXchg(at, old, next, align, kOrder, kOrder);
  old->addIncoming(b_.CreateExtractValue(exchange, 0), again);
  b_.CreateCondBr(b_.CreateExtractValue(exchange, 1), done, again);
  b_.SetInsertPoint(done);
}

void Emitter::atomic_update(const kernel::Atomic& node, Value* offset, Value* operand) {
  const auto op = instruction(node);
  if (!op) return atomic_exchange_loop(node, offset, operand);
  const llvm::Align align(static_cast<std::uint64_t>(bits(node.buffer->type)) / 8);
  b_.CreateAtomicRMW(*op, pointer(*node.buffer, offset), operand, align, kOrder);
}

void Emitter::atomic(const kernel::Atomic& node) {
  int lanes = node.value->type.lanes;
  for (const auto& index : node.indices)
    lanes = std::max(lanes, index->type.lanes);
  Value* operand = value(node.value, lanes);
  const Address at = address(*node.buffer, node.indices, lanes);
  Value* mask = node.mask ? value(node.mask, lanes) : nullptr;
  each_lane(at, mask, [&](Value* offset, int lane) {
    atomic_update(node, offset,
                  lanes == 1 ? operand
                             : b_.CreateExtractElement(operand, static_cast<std::uint64_t>(lane)));
  });
}

}  // namespace tc::codegen::native
