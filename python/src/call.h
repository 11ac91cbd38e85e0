// SPDX-License-Identifier: Apache-2.0
//
// One call: Python arguments bound to the parameters of a def, read as views, and packed into words
// that identify the kernel which serves them.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tc/program.h"
#include "view.h"

namespace tc::python {

/// A def as calls see it. Immutable.
struct Interface {
  std::string text;
  DefInfo def;
  std::vector<nanobind::object> parameter_names;  ///< interned
  std::vector<std::string> parameter_texts;       ///< "argument 'A' of 'matmul'"
  std::vector<std::string> output_texts;
  bool in_place = false;  ///< a parameter is returned

  Interface(std::string text, DefInfo def);
  std::size_t tensors() const;  ///< parameters that are tensors
};

/// Packed metadata of a call. Short ones need no heap.
class Signature {
public:
  void add(std::uint64_t word) {
    if (size_ < small_.size())
      small_[size_] = word;
    else
      spill(word);
    ++size_;
  }
  std::span<const std::uint64_t> words() const {
    return {size_ <= small_.size() ? small_.data() : large_.data(), size_};
  }

private:
  void spill(std::uint64_t word);
  std::size_t size_ = 0;
  std::array<std::uint64_t, 128> small_;
  std::vector<std::uint64_t> large_;
};

inline bool are_equal(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// Arguments of one call. Lives on the stack of the call.
class Call {
public:
  Call(const Interface& interface, nanobind::handle args, nanobind::handle kwargs);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Reads every argument and packs the signature. False, with a Python error set, where an
  /// argument is a wrapper without memory (of a transformation or of tracing).
  bool read();

  /// Whether a floating-point tensor has another floating-point type than its parameter. Requires
  /// read().
  bool other_float_types() const;

  /// Metadata for the compiler. Requires read().
  Metadata metadata() const;

  const Interface& interface;
  bool unchecked = false;
  bool exported = false;       ///< reads tensors of frameworks that order calls themselves, too
  bool gives_outputs = false;  ///< `outputs=` was given
  const Framework* framework = nullptr;  ///< of the tensors; null: there are only numbers
  DLDevice device{kDLCPU, 0};            ///< of the tensors
  Signature signature;

  std::size_t inputs() const { return input_count_; }
  View& input(std::size_t i) { return views_[i]; }
  const View& input(std::size_t i) const { return views_[i]; }
  nanobind::handle input_object(std::size_t i) const { return input_objects_[i]; }
  /// The output that the caller gave; null: none.
  View* output(std::size_t i) { return has_output(i) ? &output_views_[i] : nullptr; }
  nanobind::handle output_object(std::size_t i) const { return outputs_[i]; }

private:
  static constexpr std::size_t kSmall = 8;

  bool has_output(std::size_t i) const { return gives_outputs && !outputs_[i].is_none(); }
  void bind(nanobind::handle args, nanobind::handle kwargs);
  void bind_keyword(nanobind::handle name, nanobind::handle value);
  void bind_outputs(nanobind::handle value);
  bool read_tensor(View& view, nanobind::handle object, const TypeReader& reader,
                   const std::string& what, const std::string*& first);
  void read_const(std::size_t parameter);
  void pack(const View& view);
  std::vector<std::int64_t> strides(const DLTensor& tensor) const;
  TensorMeta meta_of(const View& view, const std::string& what) const;
  nanobind::handle* slots() { return many_slots_ ? many_slots_.get() : few_slots_.data(); }
  const nanobind::handle* slots() const {
    return many_slots_ ? many_slots_.get() : few_slots_.data();
  }

  std::size_t input_count_;
  std::array<nanobind::handle, kSmall> few_slots_{};  ///< arguments by parameter
  std::unique_ptr<nanobind::handle[]> many_slots_;
  std::unique_ptr<nanobind::handle[]> many_objects_;
  std::array<nanobind::handle, kSmall> few_objects_{};  ///< by tensor parameter
  nanobind::handle* input_objects_ = few_objects_.data();
  std::array<View, kSmall> few_views_;
  std::unique_ptr<View[]> many_views_;
  View* views_ = few_views_.data();
  std::vector<nanobind::object> outputs_;  ///< by result; None where the caller gives none
  std::unique_ptr<View[]> output_views_;
  std::vector<std::pair<const std::string*, ConstValue>> consts_;
  std::vector<std::pair<std::string, std::int64_t>> sizes_;
};

}  // namespace tc::python
