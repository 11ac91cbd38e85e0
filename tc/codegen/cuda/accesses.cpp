// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "tc/codegen/cuda/emitter.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::codegen::cuda {

using kernel::ExprPtr;

namespace {

/// No access is wider, so that no more need be known of an address.
constexpr std::int64_t kWidestAccess = 16;

std::int64_t power_of_two_part(std::int64_t n) {
  return n & -n;
}

ExprPtr index64(const ExprPtr& index) {
  return index->type.elem == DType::Int64 ? index : kernel::cast(DType::Int64, index);
}

}  // namespace

std::int64_t storage_count(const kernel::Buffer& buffer) {
  return bits(buffer.type) == 4 ? kernel::span_bytes(buffer) : kernel::span_elements(buffer);
}

std::int64_t storage_size(DType type) {
  return std::max(bits(type) / 8, 1);
}

std::int64_t base_alignment(const kernel::Buffer& buffer) {
  const bool own = buffer.argument < 0;
  return power_of_two_part(own ? std::max(buffer.alignment, kWidestAccess) : buffer.alignment);
}

std::string shape_text(const kernel::Buffer& buffer) {
  std::string extents;
  std::string strides;
  for (std::size_t d = 0; d < buffer.extents.size(); ++d) {
    extents += fmt::format("{}{}", d == 0 ? "" : ", ", buffer.extents[d]);
    strides += fmt::format("{}{}", d == 0 ? "" : ", ", buffer.strides[d]);
  }
  std::string text = fmt::format("{}[{}]", name(buffer.type), extents);
  if (buffer.strides != kernel::contiguous_strides(buffer.extents))
    text += fmt::format(" strides [{}]", strides);
  return text;
}

const std::string& Emitter::name_of(const kernel::Buffer& buffer) const {
  const auto found = buffers_.find(buffer.id);
  check(found != buffers_.end(), "a buffer of a verified kernel is in scope");
  return found->second;
}

std::int64_t Emitter::factor_of(const kernel::Affine& form) const {
  // Only powers of two are of use; those of a product that wraps are still right, and the lowest
  // number is cut to a safe factor.
  const auto magnitude = [](std::int64_t n) {
    return n == std::numeric_limits<std::int64_t>::min() ? 1 : std::abs(n);
  };
  std::int64_t factor = magnitude(form.constant);
  for (const auto& [atom, coefficient] : form.terms) {
    std::int64_t term = 0;
    if (!checked_mul(coefficient, facts_.multiple(atom), term)) term = 1;
    factor = std::gcd(factor, magnitude(term));
  }
  return factor;
}

Emitter::Place Emitter::place(const kernel::Buffer& buffer, const std::vector<ExprPtr>& indices,
                              int lanes) {
  kernel::Affine base;
  std::int64_t step = 0;
  ExprPtr scattered;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const std::int64_t stride = buffer.strides[d];
    if (stride == 0) continue;
    ExprPtr index = indices[d];
    if (const auto* ramp = std::get_if<kernel::Ramp>(&index->node)) {
      // Addresses are taken modulo 2^64, like everything that they are made of.
      step = static_cast<std::int64_t>(static_cast<std::uint64_t>(step) +
                                       static_cast<std::uint64_t>(ramp->stride) *
                                           static_cast<std::uint64_t>(stride));
      index = ramp->base;
    } else if (const auto* splat = std::get_if<kernel::Broadcast>(&index->node)) {
      index = splat->value;
    } else if (index->type.lanes > 1) {
      const ExprPtr term = kernel::mul(index64(index), kernel::int_imm(stride));
      scattered = scattered ? kernel::add(scattered, term) : term;
      continue;
    }
    base.add(kernel::affine(index64(index)), stride);
  }
  Place at;
  at.buffer = name_of(buffer);
  at.is_uniform = step == 0 && !scattered;
  at.is_apart = scattered || (step != 0 && step != 1);
  ExprPtr offset = to_expr(base);
  if (at.is_apart && step != 0) offset = kernel::ramp(offset, step, lanes);
  if (scattered) offset = kernel::add(scattered, offset);
  at.offset = value(offset);
  if (buffer.swizzled) {
    headers_.insert("fragment");
    at.offset = {fmt::format("tc::swizzled({})", at.offset.code), Binding::Whole, at.offset.elem};
  }
  const std::int64_t factor = factor_of(base);
  if (bits(buffer.type) == 4) {
    // A whole byte only where the element is known to begin one.
    at.alignment =
        factor % 2 != 0 ? 0 : power_of_two_part(std::gcd(base_alignment(buffer), factor / 2));
  } else {
    at.alignment = power_of_two_part(
        std::gcd(base_alignment(buffer), power_of_two_part(factor) * storage_size(buffer.type)));
  }
  at.alignment = std::min(at.alignment, kWidestAccess);
  return at;
}

Text Emitter::zero(kernel::Type type) const {
  return is_float(type.elem) ? float_literal(0, type.elem) : literal(0, type.elem);
}

Text Emitter::load_text(const kernel::Load& n, kernel::Type type) {
  const Place at = place(*n.buffer, n.indices, type.lanes);
  const Text buffer{at.buffer};
  Text mask = n.mask ? value(n.mask) : Text{};
  const auto replacement = [&](int lanes) {
    Text text = n.otherwise ? typed(n.otherwise) : zero(type);
    if (text.lanes != lanes)
      text = function(fmt::format("tc::splat<{}>", lanes),
                      {type.elem == DType::Int64 ? widened(text) : text}, type.elem, lanes);
    return text;
  };
  if (type.lanes == 1) {
    Text loaded = function("tc::load", {buffer, at.offset}, type.elem, 1);
    if (!n.mask) return loaded;
    return {fmt::format("{} ? {} : {}", wrapped(mask, Binding::Or), loaded.code,
                        wrapped(replacement(1), Binding::Or)),
            Binding::Ternary, type.elem};
  }
  if (n.mask && mask.lanes == 1)
    mask = function(fmt::format("tc::splat<{}>", type.lanes), {mask}, DType::Bool, type.lanes);
  if (at.is_uniform) {
    // One element for all lanes, read if any lane wants it.
    const std::string splat = fmt::format("tc::splat<{}>", type.lanes);
    Text loaded = function("tc::load", {buffer, at.offset}, type.elem, 1);
    if (n.mask)
      loaded.code = fmt::format("tc::any({}) ? {} : {}", mask.code, loaded.code, zero(type).code);
    Text everywhere = function(splat, {loaded}, type.elem, type.lanes);
    if (!n.mask) return everywhere;
    return function("tc::select", {mask, everywhere, replacement(type.lanes)}, type.elem,
                    type.lanes);
  }
  std::vector<Text> args{buffer, at.offset};
  if (n.mask) {
    args.push_back(mask);
    args.push_back(replacement(type.lanes));
  }
  const std::string name =
      at.is_apart ? "tc::gather" : fmt::format("tc::load<{}, {}>", type.lanes, at.alignment);
  return function(name, args, type.elem, type.lanes);
}

void Emitter::store(const kernel::Store& n) {
  int lanes = n.value->type.lanes;
  for (const auto& index : n.indices)
    lanes = std::max(lanes, index->type.lanes);
  Text stored = value(n.value, lanes);
  if (lanes > 1 && n.value->type.elem == DType::Int64) stored = widened(std::move(stored));
  Place at = place(*n.buffer, n.indices, lanes);
  if (n.agreed) at.buffer = fmt::format("tc::agreed({})", at.buffer);
  if (lanes == 1) {
    const std::string mask = n.mask ? fmt::format("if ({}) ", value(n.mask).code) : "";
    line(fmt::format("{}tc::store({}, {}, {});", mask, at.buffer, at.offset.code, stored.code));
    return;
  }
  check(!at.is_uniform, "a vector is stored to more than one element");
  const std::string mask = n.mask ? ", " + value(n.mask, lanes).code : "";
  const std::string name =
      at.is_apart ? "tc::scatter" : fmt::format("tc::store<{}, {}>", lanes, at.alignment);
  line(fmt::format("{}({}, {}, {}{});", name, at.buffer, at.offset.code, stored.code, mask));
}

void Emitter::atomic(const kernel::Atomic& n) {
  int lanes = n.value->type.lanes;
  for (const auto& index : n.indices)
    lanes = std::max(lanes, index->type.lanes);
  Text operand = value(n.value, lanes);
  if (n.value->type.elem == DType::Int64) operand = widened(std::move(operand));
  const Place at = place(*n.buffer, n.indices, lanes);
  const auto name = [&]() -> const char* {
    switch (n.op) {
    case kernel::ReduceOp::Add: return "tc::atomic_add";
    case kernel::ReduceOp::Mul: return "tc::atomic_mul";
    case kernel::ReduceOp::Min: return "tc::atomic_min";
    case kernel::ReduceOp::Max: return "tc::atomic_max";
    case kernel::ReduceOp::And: return "tc::atomic_and";
    case kernel::ReduceOp::Or: return "tc::atomic_or";
    }
    unreachable("reduction");
  };
  headers_.insert("atomic");
  if (lanes == 1) {
    const std::string mask = n.mask ? fmt::format("if ({}) ", value(n.mask).code) : "";
    line(fmt::format("{}{}({}, {}, {});", mask, name(), at.buffer, at.offset.code, operand.code));
    return;
  }
  Text offsets = at.offset;
  if (at.is_uniform)
    offsets = function(fmt::format("tc::splat<{}>", lanes), {offsets}, offsets.elem, lanes);
  else if (!at.is_apart)
    offsets = function(fmt::format("tc::ramp<{}>", lanes),
                       {widened(offsets), literal(1, DType::Int32)}, DType::Int64, lanes);
  const std::string mask = n.mask ? ", " + value(n.mask, lanes).code : "";
  line(fmt::format("{}({}, {}, {}{});", name(), at.buffer, offsets.code, operand.code, mask));
}

}  // namespace tc::codegen::cuda
