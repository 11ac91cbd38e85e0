// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "tc/kernel/ir.h"

namespace tc::lower {

/// Identities for what lowering adds to one kernel: variables, buffers and registers with ids that
/// the kernel does not use yet.
class Names {
public:
  Names(int first_var, int first_buffer) : var_(first_var), buffer_(first_buffer) {}

  kernel::Var variable(std::string name, kernel::Type type = {}) {
    return {var_++, std::move(name), type};
  }
  int buffer() { return buffer_++; }
  int reg() { return reg_++; }

private:
  int var_;
  int buffer_;
  int reg_ = 0;
};

}  // namespace tc::lower
