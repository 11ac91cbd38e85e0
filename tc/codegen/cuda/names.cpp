// SPDX-License-Identifier: Apache-2.0
#include "tc/codegen/cuda/names.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace tc::codegen::cuda {
namespace {

/// Keywords of C++20, what CUDA adds to them, the variables of CUDA, names that kernel texts use,
/// and lower-case macros of the compilers and of the C library. Sorted.
constexpr std::string_view kReserved[] = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "assert",
    "atomic_cancel",
    "atomic_commit",
    "atomic_noexcept",
    "auto",
    "bitand",
    "bitor",
    "blockDim",
    "blockIdx",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "gridDim",
    "i386",
    "if",
    "import",
    "inline",
    "int",
    "linux",
    "long",
    "math_errhandling",
    "module",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reflexpr",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "stderr",
    "stdin",
    "stdout",
    "struct",
    "switch",
    "synchronized",
    "tc",
    "template",
    "this",
    "thread",
    "threadIdx",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "warpSize",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
};

/// Macros are spelled in capitals: no such name of three letters or more is taken as it is.
bool looks_like_a_macro(const std::string& name) {
  return name.size() >= 3 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '_';
         });
}

}  // namespace

std::string identifier(std::string_view name) {
  std::string result;
  for (const unsigned char c : name) {
    // No two underscores in a row: those names belong to the implementation.
    const bool is_word = c < 128 && std::isalnum(c) != 0;
    if (is_word)
      result += static_cast<char>(c);
    else if (!result.empty() && result.back() != '_')
      result += '_';
  }
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result.front())) != 0)
    result = "v" + result;
  const bool reserved =
      std::binary_search(std::begin(kReserved), std::end(kReserved), std::string_view(result));
  if ((reserved || looks_like_a_macro(result)) && result.back() != '_') result += '_';
  return result;
}

std::string Identifiers::unique(std::string_view name) {
  const std::string wish = identifier(name);
  std::string result = wish;
  for (int number = 2; !taken_.insert(result).second; ++number)
    result = fmt::format("{}{}{}", wish, wish.back() == '_' ? "" : "_", number);
  return result;
}

std::string comment_text(std::string_view text) {
  std::string result;
  for (const unsigned char c : text) {
    if (c == '\n' || c == '\t')
      result += ' ';
    else if (c == '\\')
      result += '/';  // at the end of a line it would join the next one
    else
      result += c < 32 || c == 127 ? '?' : static_cast<char>(c);
  }
  return result;
}

}  // namespace tc::codegen::cuda
