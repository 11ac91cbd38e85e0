// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <numeric>

#include <llvm/IR/MDBuilder.h>

#include "tc/codegen/llvm/arithmetic.h"
#include "tc/codegen/llvm/emitter.h"
#include "tc/support/check.h"

namespace tc::codegen::native {

using llvm::Value;

namespace {

/// Largest distance of lanes for which loading everything between them beats a gather.
constexpr std::int64_t kShuffledStep = 4;

/// Largest power of two that divides n (n != 0).
std::int64_t power_of_two_part(std::int64_t n) {
  return n & -n;
}

std::int64_t factor_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  // Only powers of two are of use, and those survive a wrap; an unrepresentable one is cut to a
  // safe factor.
  return __builtin_mul_overflow(a, b, &product) ||
                 product == std::numeric_limits<std::int64_t>::min()
             ? 1
             : product;
}

}  // namespace

void Emitter::set_groups(const std::map<int, int>& group_of_buffer) {
  llvm::MDBuilder metadata(b_.getContext());
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain(function_.getName());
  std::map<int, llvm::MDNode*> scopes;
  for (const auto& [buffer, group] : group_of_buffer)
    if (scopes.count(group) == 0)
      scopes[group] = metadata.createAnonymousAliasScope(domain, std::to_string(group));
  for (const auto& [buffer, group] : group_of_buffer) {
    std::vector<llvm::Metadata*> others;
    for (const auto& [other, scope] : scopes)
      if (other != group) others.push_back(scope);
    buffers_[buffer].scope = llvm::MDNode::get(b_.getContext(), {scopes[group]});
    buffers_[buffer].others = llvm::MDNode::get(b_.getContext(), others);
  }
}

template <class Instruction>
Instruction* Emitter::tag(const kernel::Buffer& buffer, Instruction* access) const {
  const auto found = buffers_.find(buffer.id);
  if (found == buffers_.end() || !found->second.scope) return access;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, found->second.scope);
  access->setMetadata(llvm::LLVMContext::MD_noalias, found->second.others);
  return access;
}

// The accesses of 4-bit elements (packed.cpp) use these two.
template llvm::LoadInst* Emitter::tag(const kernel::Buffer& buffer, llvm::LoadInst* access) const;
template llvm::StoreInst* Emitter::tag(const kernel::Buffer& buffer, llvm::StoreInst* access) const;

std::int64_t Emitter::factor_of(const kernel::ExprPtr& expr) const {
  if (const auto* imm = std::get_if<kernel::IntImm>(&expr->node))
    return imm->value == std::numeric_limits<std::int64_t>::min() ? 1 : std::abs(imm->value);
  if (const auto* ref = std::get_if<kernel::VarRef>(&expr->node)) {
    const auto known = multiples_.find(ref->var.id);
    return known == multiples_.end() ? 1 : known->second;
  }
  if (const auto* n = std::get_if<kernel::Binary>(&expr->node)) {
    const std::int64_t a = factor_of(n->left);
    const std::int64_t b = factor_of(n->right);
    switch (n->op) {
    case kernel::BinaryOp::Add:
    case kernel::BinaryOp::Sub:
    case kernel::BinaryOp::Min:
    case kernel::BinaryOp::Max: return std::gcd(a, b);
    case kernel::BinaryOp::Mul: return factor_product(a, b);
    default: return 1;
    }
  }
  return 1;
}

Address Emitter::address(const kernel::Buffer& buffer, const std::vector<kernel::ExprPtr>& indices,
                         int lanes) {
  Address at;
  at.count = lanes;
  at.offset = b_.getInt64(0);
  std::int64_t step = 0;
  bool is_vector = false;
  Value* scattered = nullptr;
  const auto index64 = [&](const kernel::ExprPtr& index) {
    Value* v = value(index);
    return index->type.elem == DType::Int64 ? v : b_.CreateSExt(v, like(v, b_.getInt64Ty()));
  };
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const kernel::ExprPtr& index = indices[d];
    const std::int64_t stride = buffer.strides[d];
    if (stride == 0) continue;
    kernel::ExprPtr base = index;
    // A ramp of int32 is one of int64: whoever builds subscripts in int32 knows that they do not
    // wrap.
    if (const auto* ramp = std::get_if<kernel::Ramp>(&index->node)) {
      base = ramp->base;
      step = static_cast<std::int64_t>(static_cast<std::uint64_t>(step) +
                                       static_cast<std::uint64_t>(ramp->stride) *
                                           static_cast<std::uint64_t>(stride));
      is_vector = true;
    } else if (const auto* splat = std::get_if<kernel::Broadcast>(&index->node)) {
      base = splat->value;
    } else if (index->type.lanes > 1) {
      Value* wide = index64(index);
      Value* scaled = b_.CreateMul(
          wide, llvm::ConstantInt::get(wide->getType(), static_cast<std::uint64_t>(stride)));
      scattered = scattered ? b_.CreateAdd(scattered, scaled) : scaled;
      continue;
    }
    Value* scaled = b_.CreateMul(index64(base), b_.getInt64(static_cast<std::uint64_t>(stride)));
    at.offset = b_.CreateAdd(at.offset, scaled);
    at.factor = std::gcd(at.factor, factor_product(factor_of(base), stride));
  }
  if (scattered || (is_vector && step != 0 && step != 1 && step != -1)) {
    std::vector<llvm::Constant*> steps;
    for (int lane = 0; lane < lanes; ++lane)
      steps.push_back(
          b_.getInt64(static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(lane)));
    at.lanes = llvm::ConstantVector::get(steps);
    at.pattern = Pattern::Strided;
    at.step = step;
    if (scattered) {
      at.lanes = b_.CreateAdd(scattered, at.lanes);
      at.pattern = Pattern::Gathered;
    }
  } else if (is_vector && step != 0) {
    at.pattern = step == 1 ? Pattern::Contiguous : Pattern::Reversed;
  }
  if (at.pattern == Pattern::Reversed) {
    // From here on the address is that of the last lane, which lies lowest.
    at.offset = b_.CreateSub(at.offset, b_.getInt64(static_cast<std::uint64_t>(lanes - 1)));
    at.factor = std::gcd(at.factor, static_cast<std::int64_t>(lanes - 1));
  }
  return at;
}

llvm::Align Emitter::alignment(const kernel::Buffer& buffer, const Address& at) const {
  const std::int64_t element = std::max(bits(buffer.type) / 8, 1);
  std::int64_t align = buffer.alignment;
  if (at.pattern == Pattern::Strided || at.pattern == Pattern::Gathered)
    align = std::gcd(align, element);
  else if (at.factor != 0)
    align = std::gcd(align, power_of_two_part(at.factor) * element);
  return llvm::Align(static_cast<std::uint64_t>(power_of_two_part(align)));
}

Value* Emitter::pointer(const kernel::Buffer& buffer, Value* offset) {
  const auto found = buffers_.find(buffer.id);
  check(found != buffers_.end() && found->second.base, "a buffer of a verified kernel is in scope");
  return b_.CreateGEP(storage_type(b_.getContext(), buffer.type), found->second.base, offset);
}

Value* Emitter::pointers(const kernel::Buffer& buffer, const Address& at) {
  return b_.CreateGEP(storage_type(b_.getContext(), buffer.type), pointer(buffer, at.offset),
                      at.lanes);
}

void Emitter::each_lane(const Address& at, Value* mask,
                        const std::function<void(Value* offset, int lane)>& body) {
  for (int lane = 0; lane < at.count; ++lane) {
    Value* offset = at.offset;
    const auto position = static_cast<std::uint64_t>(lane);
    if (at.lanes) offset = b_.CreateAdd(offset, b_.CreateExtractElement(at.lanes, position));
    if (at.pattern == Pattern::Contiguous) offset = b_.CreateAdd(offset, b_.getInt64(position));
    if (at.pattern == Pattern::Reversed)
      offset = b_.CreateAdd(offset, b_.getInt64(static_cast<std::uint64_t>(at.count - 1 - lane)));
    if (!mask) {
      body(offset, lane);
      continue;
    }
    Value* set = at.count == 1 ? mask : b_.CreateExtractElement(mask, position);
    if_then_else(set, [&] { body(offset, lane); }, nullptr);
  }
}

Value* Emitter::uniform_bits(const kernel::Buffer& buffer, const Address& at, Value* mask,
                             Value* otherwise) {
  llvm::Type* type = storage_type(b_.getContext(), buffer.type);
  const auto load = [&] {
    return tag(buffer,
               b_.CreateAlignedLoad(type, pointer(buffer, at.offset), alignment(buffer, at)));
  };
  if (!mask) return load();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loaded_in = nullptr;
  Value* loaded = nullptr;
  if_then_else(
      mask,
      [&] {
        loaded = load();
        loaded_in = b_.GetInsertBlock();
      },
      nullptr);
  llvm::PHINode* phi = b_.CreatePHI(type, 2);
  phi->addIncoming(loaded, loaded_in);
  phi->addIncoming(otherwise ? otherwise : llvm::Constant::getNullValue(type), before);
  return phi;
}

Value* Emitter::load_bits(const kernel::Buffer& buffer, const Address& at, Value* mask,
                          Value* otherwise) {
  llvm::Type* type = with_lanes(storage_type(b_.getContext(), buffer.type), at.count);
  const llvm::Align align = alignment(buffer, at);
  Value* rest = otherwise ? otherwise : llvm::Constant::getNullValue(type);
  switch (at.pattern) {
  case Pattern::Uniform: {
    if (at.count == 1) return uniform_bits(buffer, at, mask, otherwise);
    // One element for all lanes, read if any lane wants it.
    Value* any = mask ? b_.CreateOrReduce(mask) : nullptr;
    Value* all = splat(b_, uniform_bits(buffer, at, any, nullptr), at.count);
    return mask ? b_.CreateSelect(mask, all, rest) : all;
  }
  case Pattern::Contiguous:
    if (!mask) return tag(buffer, b_.CreateAlignedLoad(type, pointer(buffer, at.offset), align));
    return tag(buffer, b_.CreateMaskedLoad(type, pointer(buffer, at.offset), align, mask, rest));
  case Pattern::Reversed: {
    Value* from = pointer(buffer, at.offset);
    if (!mask) return reversed(b_, tag(buffer, b_.CreateAlignedLoad(type, from, align)));
    return reversed(b_, tag(buffer, b_.CreateMaskedLoad(type, from, align, reversed(b_, mask),
                                                        reversed(b_, rest))));
  }
  case Pattern::Strided:
    if (!mask && std::abs(at.step) <= kShuffledStep && at.count >= 4)
      return strided_bits(buffer, at);
    [[fallthrough]];
  case Pattern::Gathered:
    return tag(buffer, b_.CreateMaskedGather(type, pointers(buffer, at), align, mask, rest));
  }
  unreachable("access pattern");
}

Value* Emitter::strided_bits(const kernel::Buffer& buffer, const Address& at) {
  llvm::Type* type = with_lanes(storage_type(b_.getContext(), buffer.type), at.count);
  const std::int64_t step = std::abs(at.step);
  const std::int64_t last = step * (at.count - 1);  // position of the farthest element
  Value* start = at.step > 0
                     ? at.offset
                     : b_.CreateSub(at.offset, b_.getInt64(static_cast<std::uint64_t>(last)));
  const llvm::Align align = alignment(buffer, at);
  Value* result = nullptr;
  std::int64_t have = 0;  // lanes of the result so far
  for (std::int64_t part = 0; have < at.count; ++part) {
    // The last part ends with the last element, so that nothing beyond it is read.
    const std::int64_t first = std::min(part * at.count, last + 1 - at.count);
    Value* from =
        pointer(buffer, b_.CreateAdd(start, b_.getInt64(static_cast<std::uint64_t>(first))));
    Value* loaded = tag(buffer, b_.CreateAlignedLoad(type, from, align));
    std::vector<int> pick(static_cast<std::size_t>(at.count));
    std::iota(pick.begin(), pick.end(), 0);
    const std::int64_t end = std::min((part + 1) * at.count, last + 1);
    for (; have < at.count && have * step < end; ++have)
      pick[static_cast<std::size_t>(have)] =
          static_cast<int>(have * step - first) + (result ? at.count : 0);
    result = result ? b_.CreateShuffleVector(result, loaded, pick)
                    : b_.CreateShuffleVector(loaded, pick);
  }
  return at.step > 0 ? result : reversed(b_, result);
}

Value* Emitter::load_value(const kernel::Load& node, kernel::Type type) {
  const kernel::Buffer& buffer = *node.buffer;
  const Address at = address(buffer, node.indices, type.lanes);
  Value* mask = node.mask ? value(node.mask, type.lanes) : nullptr;
  Value* otherwise = node.otherwise ? value(node.otherwise, type.lanes) : nullptr;
  if (bits(buffer.type) == 4) {
    Value* loaded = from_storage(b_, facts_, buffer.type, load_packed(buffer, at, mask));
    return otherwise ? b_.CreateSelect(mask, loaded, otherwise) : loaded;
  }
  // Where storage and compute type are one, the load itself fills the other lanes.
  const bool same = buffer.type == compute_type(buffer.type) && buffer.type != DType::Bool;
  Value* loaded = from_storage(b_, facts_, buffer.type,
                               load_bits(buffer, at, mask, same ? otherwise : nullptr));
  return otherwise && !same ? b_.CreateSelect(mask, loaded, otherwise) : loaded;
}

void Emitter::store_bits(const kernel::Buffer& buffer, const Address& at, Value* bits,
                         Value* mask) {
  const llvm::Align align = alignment(buffer, at);
  switch (at.pattern) {
  case Pattern::Uniform:
    check(at.count == 1, "a vector is stored to more than one element");
    each_lane(at, mask, [&](Value* offset, int) {
      tag(buffer, b_.CreateAlignedStore(bits, pointer(buffer, offset), align));
    });
    return;
  case Pattern::Reversed:
    bits = reversed(b_, bits);
    if (mask) mask = reversed(b_, mask);
    [[fallthrough]];
  case Pattern::Contiguous: {
    Value* to = pointer(buffer, at.offset);
    if (mask)
      tag(buffer, b_.CreateMaskedStore(bits, to, align, mask));
    else
      tag(buffer, b_.CreateAlignedStore(bits, to, align));
    return;
  }
  case Pattern::Strided:
  case Pattern::Gathered:
    tag(buffer, b_.CreateMaskedScatter(bits, pointers(buffer, at), align, mask));
    return;
  }
  unreachable("access pattern");
}

void Emitter::store_value(const kernel::Store& node) {
  const kernel::Buffer& buffer = *node.buffer;
  int lanes = node.value->type.lanes;
  for (const auto& index : node.indices)
    lanes = std::max(lanes, index->type.lanes);
  Value* stored = to_storage(b_, facts_, buffer.type, value(node.value, lanes));
  const Address at = address(buffer, node.indices, lanes);
  Value* mask = node.mask ? value(node.mask, lanes) : nullptr;
  if (bits(buffer.type) == 4)
    store_packed(buffer, at, stored, mask);
  else
    store_bits(buffer, at, stored, mask);
}

}  // namespace tc::codegen::native
