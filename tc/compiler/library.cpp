// SPDX-License-Identifier: Apache-2.0
//
// The shared library is made of the rooms' archives; this file is the translation unit that CMake
// wants beside them.
#include "tc/tc.h"
