// SPDX-License-Identifier: Apache-2.0
//
// Emits the body of one LLVM function from kernel IR. The parts of the grammar live in files of
// their own: expressions, memory accesses (and 4-bit ones: packed), atomics, statements. Internal
// to the room.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tc/codegen/llvm/convert.h"
#include "tc/codegen/llvm/math.h"

namespace tc::codegen::native {

/// How the lanes of an access lie in memory.
enum class Pattern { Uniform, Contiguous, Reversed, Strided, Gathered };

/// Where the lanes of an access are, in elements from element (0, ..., 0).
struct Address {
  llvm::Value* offset = nullptr;  ///< int64: what all lanes share
  llvm::Value* lanes = nullptr;   ///< int64 vector to add to it: Strided (a constant) and Gathered
  Pattern pattern = Pattern::Uniform;
  std::int64_t step = 0;    ///< Strided: from lane to lane
  int count = 1;            ///< lanes
  std::int64_t factor = 0;  ///< `offset` is a multiple of it (0: offset is 0)
};

class Emitter {
public:
  Emitter(llvm::Function& function, llvm::Module& module, const Facts& facts);

  Builder& builder() { return b_; }

  // ---- what is in scope ----
  void define(const kernel::Var& var, llvm::Value* value) { vars_[var.id] = value; }
  /// Every value of the variable is a multiple of `factor`.
  void define_multiple(const kernel::Var& var, std::int64_t factor) { multiples_[var.id] = factor; }
  void define(const kernel::Buffer& buffer, llvm::Value* base) { buffers_[buffer.id].base = base; }
  /// Accesses to buffers of different groups never touch the same memory.
  void set_groups(const std::map<int, int>& group_of_buffer);

  /// A variable on the stack, made in the entry block so that it exists once.
  llvm::AllocaInst* stack_slot(llvm::Type* type, std::int64_t alignment, const std::string& name);

  /// Register arrays with a slot that is not constant: they stay arrays in memory.
  void set_indexed_registers(std::set<int> registers) { indexed_ = std::move(registers); }

  // ---- expressions.cpp ----
  llvm::Value* value(const kernel::ExprPtr& expr);
  /// The expression with `lanes` lanes: a scalar is repeated.
  llvm::Value* value(const kernel::ExprPtr& expr, int lanes);

  // ---- statements.cpp ----
  void statement(const kernel::StmtPtr& stmt);
  /// for (i = lo; i < hi; i += step) body(i), rotated: tested once before the loop and at its end.
  void counted_loop(llvm::Value* lo, llvm::Value* hi, std::int64_t step, bool is_unsigned,
                    const std::string& name, const std::function<void(llvm::Value*)>& body);
  void if_then_else(llvm::Value* condition, const std::function<void()>& then_part,
                    const std::function<void()>& else_part);

private:
  struct Memory {
    llvm::Value* base = nullptr;
    llvm::MDNode* scope = nullptr;
    llvm::MDNode* others = nullptr;
  };
  struct Registers {
    std::vector<llvm::AllocaInst*> slots;
    llvm::AllocaInst* array = nullptr;  ///< instead of slots, where a slot is not constant
    llvm::Type* type = nullptr;
  };

  llvm::Type* type_of(kernel::Type type) { return value_type(b_.getContext(), type); }

  // expressions.cpp
  llvm::Value* cast_value(const kernel::Cast& node);
  llvm::Value* call_value(const kernel::Call& node, kernel::Type type);
  /// A comparison of a ramp with a uniform value in 32-bit lanes; null if it is no such comparison.
  llvm::Value* ramp_comparison(const kernel::Binary& node, int lanes);
  llvm::Value* register_slot(int reg, const kernel::ExprPtr& slot);

  // memory.cpp
  std::int64_t factor_of(const kernel::ExprPtr& expr) const;
  Address address(const kernel::Buffer& buffer, const std::vector<kernel::ExprPtr>& indices,
                  int lanes);
  llvm::Align alignment(const kernel::Buffer& buffer, const Address& at) const;
  llvm::Value* pointer(const kernel::Buffer& buffer, llvm::Value* offset);
  llvm::Value* pointers(const kernel::Buffer& buffer, const Address& at);
  llvm::Value* load_value(const kernel::Load& node, kernel::Type type);
  /// Storage bits of all lanes; lanes without mask are `otherwise` (zero if null).
  llvm::Value* load_bits(const kernel::Buffer& buffer, const Address& at, llvm::Value* mask,
                         llvm::Value* otherwise);
  llvm::Value* uniform_bits(const kernel::Buffer& buffer, const Address& at, llvm::Value* mask,
                            llvm::Value* otherwise);
  /// Lanes a few elements apart, as whole vectors of which every step-th element is kept.
  llvm::Value* strided_bits(const kernel::Buffer& buffer, const Address& at);
  void store_value(const kernel::Store& node);
  void store_bits(const kernel::Buffer& buffer, const Address& at, llvm::Value* bits,
                  llvm::Value* mask);
  template <class Instruction>
  Instruction* tag(const kernel::Buffer& buffer, Instruction* access) const;
  /// Runs `body(offset, lane)` for each lane whose mask is set, one after the other.
  void each_lane(const Address& at, llvm::Value* mask,
                 const std::function<void(llvm::Value* offset, int lane)>& body);

  // packed.cpp
  llvm::Value* load_packed(const kernel::Buffer& buffer, const Address& at, llvm::Value* mask);
  void store_packed(const kernel::Buffer& buffer, const Address& at, llvm::Value* bits,
                    llvm::Value* mask);
  llvm::Value* byte_pointer(const kernel::Buffer& buffer, llvm::Value* offset);
  llvm::Value* nibble_shift(llvm::Value* offset);
  llvm::Value* load_nibble(const kernel::Buffer& buffer, llvm::Value* offset);
  void store_nibble(const kernel::Buffer& buffer, llvm::Value* offset, llvm::Value* bits);

  // atomics.cpp
  void atomic(const kernel::Atomic& node);
  void atomic_update(const kernel::Atomic& node, llvm::Value* offset, llvm::Value* operand);
  void atomic_exchange_loop(const kernel::Atomic& node, llvm::Value* offset, llvm::Value* operand);

  // statements.cpp
  void loop(const kernel::For& node);
  void declare(const kernel::Declare& node);
  void assign(const kernel::Assign& node);

  llvm::Function& function_;
  llvm::Module& module_;
  const Facts& facts_;
  Builder b_;
  Math math_;
  std::map<int, llvm::Value*> vars_;
  std::map<int, std::int64_t> multiples_;
  std::map<int, Memory> buffers_;
  std::map<int, Registers> registers_;
  std::set<int> indexed_;
};

}  // namespace tc::codegen::native
