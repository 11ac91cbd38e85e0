// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tc/lang/typed.h"

namespace tc::lang {

/// A condition on the way to a read.
struct Guard {
  ExprPtr condition;  ///< null: the guard of `pad`, all subscripts of `padded` in bounds
  bool holds = true;  ///< the value of `condition` for which the read happens
  ExprPtr padded;     ///< the padded Read
};

/// One read or write of a tensor by a statement.
struct Access {
  enum class Kind { Read, Write, Exists };
  Kind kind = Kind::Read;
  TensorId tensor = 0;
  std::vector<ExprPtr> subscripts;
  SourceRange range;
  ExprPtr read;               ///< the Read itself; null for the write
  bool padded = false;        ///< `pad(read, v)`: never out of bounds
  bool in_subscript = false;  ///< inside a left-hand subscript
  std::vector<int> guards;    ///< positions in Accesses::guards, outermost first
};

struct Accesses {
  std::vector<Access>
      list;  ///< the write first, then the reads in textual order, then those of `exists`
  std::vector<Guard> guards;
};

/// Every access of a statement with its guards: `?:`, `&&`, `||` and `pad` (language.md section 6,
/// rule 3). Reads inside the subscripts of a padded read, and reads in its second argument, are not
/// guarded by it.
Accesses collect_accesses(const Statement& statement);

/// Text of an access as in the source: "A(i, j + 1)".
std::string to_string(const TypedDef& def, const Statement& statement, const Access& access);

}  // namespace tc::lang
