// SPDX-License-Identifier: Apache-2.0
//
// Accesses to 4-bit elements: two to a byte along the innermost dimension, low nibble first.
// Offsets are in elements; an even offset is the low nibble of byte offset / 2.
#include "tc/codegen/llvm/arithmetic.h"
#include "tc/codegen/llvm/emitter.h"

namespace tc::codegen::native {

using llvm::Value;

namespace {

/// Lanes 2i and 2i+1 of the result are lane i of `low` and of `high`.
Value* interleaved(Builder& b, Value* low, Value* high) {
  const int half = lanes_of(low);
  if (half == 1) {
    Value* pair = llvm::PoisonValue::get(with_lanes(b.getInt8Ty(), 2));
    return b.CreateInsertElement(b.CreateInsertElement(pair, low, std::uint64_t{0}), high,
                                 std::uint64_t{1});
  }
  std::vector<int> mask;
  for (int lane = 0; lane < half; ++lane) {
    mask.push_back(lane);
    mask.push_back(half + lane);
  }
  return b.CreateShuffleVector(low, high, mask);
}

/// Lanes first, first + 2, ...
Value* every_second(Builder& b, Value* vector, int first) {
  std::vector<int> mask;
  for (int lane = first; lane < lanes_of(vector); lane += 2)
    mask.push_back(lane);
  if (mask.size() == 1) return b.CreateExtractElement(vector, static_cast<std::uint64_t>(first));
  return b.CreateShuffleVector(vector, mask);
}

/// Whole bytes without a mask: an even number of elements from an even one on.
bool is_whole_bytes(const Address& at, const Value* mask) {
  return !mask && at.pattern == Pattern::Contiguous && at.count % 2 == 0 && at.factor % 2 == 0;
}

}  // namespace

Value* Emitter::byte_pointer(const kernel::Buffer& buffer, Value* offset) {
  // Rounds toward minus infinity, as offsets may be negative for an input with a negative stride.
  return pointer(buffer, b_.CreateAShr(offset, b_.getInt64(1)));
}

Value* Emitter::nibble_shift(Value* offset) {
  return b_.CreateShl(b_.CreateAnd(b_.CreateTrunc(offset, b_.getInt8Ty()), b_.getInt8(1)),
                      b_.getInt8(2));
}

Value* Emitter::load_nibble(const kernel::Buffer& buffer, Value* offset) {
  Value* byte = tag(
      buffer, b_.CreateAlignedLoad(b_.getInt8Ty(), byte_pointer(buffer, offset), llvm::Align(1)));
  return b_.CreateAnd(b_.CreateLShr(byte, nibble_shift(offset)), b_.getInt8(15));
}

Value* Emitter::load_packed(const kernel::Buffer& buffer, const Address& at, Value* mask) {
  if (is_whole_bytes(at, mask)) {
    llvm::Type* type = with_lanes(b_.getInt8Ty(), at.count / 2);
    Value* bytes =
        tag(buffer, b_.CreateAlignedLoad(type, byte_pointer(buffer, at.offset), llvm::Align(1)));
    Value* low = b_.CreateAnd(bytes, llvm::ConstantInt::get(type, 15));
    Value* high = b_.CreateLShr(bytes, llvm::ConstantInt::get(type, 4));
    return interleaved(b_, low, high);
  }
  llvm::Type* type = with_lanes(b_.getInt8Ty(), at.count);
  // Lane by lane through a stack slot, because a lane without mask touches no memory.
  if (!mask && at.count == 1) return load_nibble(buffer, at.offset);
  Value* result = llvm::Constant::getNullValue(type);
  if (!mask) {
    each_lane(at, nullptr, [&](Value* offset, int lane) {
      result = b_.CreateInsertElement(result, load_nibble(buffer, offset),
                                      static_cast<std::uint64_t>(lane));
    });
    return result;
  }
  llvm::AllocaInst* slot = stack_slot(type, 16, "nibbles");
  b_.CreateStore(result, slot);
  each_lane(at, mask, [&](Value* offset, int lane) {
    Value* nibble = load_nibble(buffer, offset);
    if (at.count == 1) {
      b_.CreateStore(nibble, slot);
    } else {
      Value* all = b_.CreateLoad(type, slot);
      b_.CreateStore(b_.CreateInsertElement(all, nibble, static_cast<std::uint64_t>(lane)), slot);
    }
  });
  return b_.CreateLoad(type, slot);
}

void Emitter::store_nibble(const kernel::Buffer& buffer, Value* offset, Value* bits) {
  Value* at = byte_pointer(buffer, offset);
  Value* shift = nibble_shift(offset);
  Value* kept = b_.CreateNot(b_.CreateShl(b_.getInt8(15), shift));
  Value* placed = b_.CreateShl(bits, shift);
  if (buffer.space == kernel::Space::Local || buffer.space == kernel::Space::Register) {
    Value* byte = tag(buffer, b_.CreateAlignedLoad(b_.getInt8Ty(), at, llvm::Align(1)));
    tag(buffer,
        b_.CreateAlignedStore(b_.CreateOr(b_.CreateAnd(byte, kept), placed), at, llvm::Align(1)));
    return;
  }
  // Another task may write the other nibble at the same time; two atomic steps leave it alone.
  const auto order = llvm::AtomicOrdering::Monotonic;
  b_.CreateAtomicRMW(llvm::AtomicRMWInst::And, at, kept, llvm::MaybeAlign(1), order);
  b_.CreateAtomicRMW(llvm::AtomicRMWInst::Or, at, placed, llvm::MaybeAlign(1), order);
}

void Emitter::store_packed(const kernel::Buffer& buffer, const Address& at, Value* bits,
                           Value* mask) {
  if (is_whole_bytes(at, mask)) {
    Value* low = every_second(b_, bits, 0);
    Value* high = every_second(b_, bits, 1);
    Value* bytes = b_.CreateOr(low, b_.CreateShl(high, llvm::ConstantInt::get(high->getType(), 4)));
    tag(buffer, b_.CreateAlignedStore(bytes, byte_pointer(buffer, at.offset), llvm::Align(1)));
    return;
  }
  each_lane(at, mask, [&](Value* offset, int lane) {
    store_nibble(buffer, offset,
                 at.count == 1 ? bits
                               : b_.CreateExtractElement(bits, static_cast<std::uint64_t>(lane)));
  });
}

}  // namespace tc::codegen::native
