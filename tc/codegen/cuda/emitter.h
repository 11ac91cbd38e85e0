// SPDX-License-Identifier: Apache-2.0
//
// Writes the body of one kernel as CUDA C++. The parts of the grammar live in files of their own:
// expressions, accesses to memory, statements. Internal to the room.
//
// Values of the IR's int64 that provably fit are `int` in the text: index arithmetic is then done
// in 32 bits. An expression of that type therefore has one of two types in C++, see Text::elem.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tc/codegen/cuda/names.h"
#include "tc/kernel/affine.h"
#include "tc/kernel/ir.h"

namespace tc::codegen::cuda {

/// How tightly an expression binds; operands that bind less get parentheses.
enum class Binding {
  Ternary,
  Or,
  And,
  BitAnd,
  Equality,
  Order,
  Shift,
  Sum,
  Product,
  Prefix,
  Whole
};

/// An expression of C++.
struct Text {
  std::string code;
  Binding binding = Binding::Whole;
  DType elem = DType::Int64;  ///< its type; Int32 for an int64 of the IR that fits
  int lanes = 1;
};

/// Type names of the text.
std::string value_type(kernel::Type type);
std::string storage_type(DType type);
/// A number of bytes or elements of a buffer with its strides.
std::int64_t storage_count(const kernel::Buffer& buffer);  ///< array elements: bytes if 4-bit
std::int64_t storage_size(DType type);                     ///< bytes of one array element
/// `float32[4, 5] strides [1, 4]`
std::string shape_text(const kernel::Buffer& buffer);
/// What the address of element (0, ..., 0) is a multiple of, in bytes.
std::int64_t base_alignment(const kernel::Buffer& buffer);

class Emitter {
public:
  Emitter(Identifiers& identifiers, kernel::Facts facts)
      : identifiers_(identifiers), facts_(std::move(facts)) {}

  void line(const std::string& text);
  void indent() { ++depth_; }
  void dedent() { --depth_; }

  // ---- what is in scope ----
  /// A variable and how the text spells it; `is_int`: its type in the text is int.
  void define(const kernel::Var& var, const std::string& name, bool is_int);
  void define(const kernel::Buffer& buffer, const std::string& name) { buffers_[buffer.id] = name; }
  const std::string& name_of(const kernel::Buffer& buffer) const;
  const kernel::Facts& facts() const { return facts_; }

  // ---- statements.cpp ----
  void statement(const kernel::StmtPtr& stmt);

  std::string take() { return std::move(text_); }
  /// Device headers that the text needs, e.g. "math".
  const std::set<std::string>& headers() const { return headers_; }
  /// What the device needs defined before the kernel, in namespace tc.
  const std::set<std::string>& definitions() const { return definitions_; }

  /// Products of warp groups by instructions of the group, which read shared memory on a way of
  /// their own: what threads wrote is published before barriers.
  void use_warp_groups() { has_warp_groups_ = true; }

private:
  struct Variable {
    std::string name;
    bool is_int = false;
  };
  struct Registers {
    std::string name;
    int count = 1;
    kernel::Type type;
  };
  /// Where the lanes of an access are.
  struct Place {
    std::string buffer;
    Text offset;            ///< elements from element (0, ..., 0); a vector where lanes lie apart
    bool is_apart = false;  ///< lanes lie anywhere, `offset` is a vector
    bool is_uniform = true;
    std::int64_t alignment = 1;  ///< bytes that the first lane's address is a multiple of
  };

  // expressions.cpp
  Text value(const kernel::ExprPtr& expr);
  Text value(const kernel::ExprPtr& expr, int lanes);
  /// The same with the type that the IR gives it, for where the text deduces a type.
  Text typed(const kernel::ExprPtr& expr);
  Text widened(Text text) const;
  void unify(Text& a, Text& b) const;
  Text literal(std::int64_t value, DType type) const;
  Text float_literal(double value, DType type) const;
  Text unary_text(const kernel::Unary& n, const kernel::ExprPtr& expr);
  Text binary_text(const kernel::Binary& n, const kernel::ExprPtr& expr);
  Text arithmetic_text(const kernel::Binary& n, const kernel::ExprPtr& expr, Text left, Text right);
  Text division_text(const kernel::Binary& n, const kernel::ExprPtr& expr, Text left, Text right);
  Text select_text(const kernel::Select& n);
  Text cast_text(const kernel::Cast& n, kernel::Type type);
  Text call_text(const kernel::Call& n, kernel::Type type);
  Text ramp_text(const kernel::Ramp& n, const kernel::ExprPtr& expr);
  Text shuffle_text(const kernel::Shuffle& n, kernel::Type type);
  Text register_text(int reg, const kernel::ExprPtr& slot, kernel::Type type);
  std::string wrapped(const Text& text, Binding at_least) const;
  Text infix(const Text& left, const char* op, Binding binding, const Text& right,
             DType elem) const;
  Text function(const std::string& name, const std::vector<Text>& args, DType elem,
                int lanes) const;
  bool fits_int(const kernel::ExprPtr& expr) const;

  // accesses.cpp
  Place place(const kernel::Buffer& buffer, const std::vector<kernel::ExprPtr>& indices, int lanes);
  std::int64_t factor_of(const kernel::Affine& form) const;
  Text load_text(const kernel::Load& n, kernel::Type type);
  void store(const kernel::Store& n);
  void atomic(const kernel::Atomic& n);
  Text zero(kernel::Type type) const;

  // fragments.cpp
  void mma(const kernel::Mma& n);
  void copy(const kernel::Copy& n);
  void await(const kernel::Await& n);

  // statements.cpp
  void loop(const kernel::For& n);
  void branch(const kernel::If& n);
  void let(const kernel::Let& n);
  void declare(const kernel::Declare& n);
  void assign(const kernel::Assign& n);
  void local(const kernel::Buffer& buffer);
  bool is_fixed(const kernel::ExprPtr& expr) const;

  Identifiers& identifiers_;
  kernel::Facts facts_;
  std::map<int, Variable> vars_;
  std::map<int, std::string> buffers_;
  std::map<int, Registers> registers_;
  std::set<std::string> headers_;
  std::set<std::string> definitions_;
  bool has_warp_groups_ = false;
  std::map<int, kernel::BufferPtr> multiplied_;  ///< accumulators of products on their way
  std::string text_;
  int depth_ = 1;
};

}  // namespace tc::codegen::cuda
