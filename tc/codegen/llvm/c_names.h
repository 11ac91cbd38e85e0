// SPDX-License-Identifier: Apache-2.0
//
// Names of a program in C. Internal to the room.
#pragma once

#include <string>

namespace tc::codegen::native {

/// A C and C++ identifier that is no keyword, no name of <stdint.h> and no macro that compilers
/// predefine: what is one gets a trailing underscore.
std::string c_identifier(const std::string& name);

/// The same for a function with external linkage: no name of the C library either, which would
/// replace that function in the program that links the object, and in the object itself.
std::string c_function(const std::string& name);

}  // namespace tc::codegen::native
