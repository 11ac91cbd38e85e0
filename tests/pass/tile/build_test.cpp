// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "pipeline.h"

namespace tc::tile::testing {
namespace {

TEST(Placeholder, Nothing) {}

}  // namespace
}  // namespace tc::tile::testing
