// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tc/lang/ranges_form.h"

namespace tc::lang {
namespace {

Form size(int id) {
  return Form::of(make_expr(DType::Int32, {}, SizeRef{id}));
}

std::string text(const Form& form) {
  TypedDef def;
  def.sizes = {{"N", {}}, {"K", {}}, {"M", {}}};
  return to_string(def, nullptr, form.to_expr());
}

const Form N = size(0), K = size(1), M = size(2);

TEST(Forms, SumsAreCollected) {
  EXPECT_EQ(text(N + Form(2) * K - N + Form(1)), "2 * K + 1");
  EXPECT_EQ(text(Form(1) - K + N), "N - K + 1");
  EXPECT_EQ((N - N).as_constant(), 0);
  EXPECT_EQ(text((N + Form(1)) * (K + Form(2))), "2 * N + N * K + K + 2");
}

TEST(Forms, ExtremaAreSettled) {
  EXPECT_EQ(text(min(N, K - Form(2)) + Form(1)), "min(N + 1, K - 1)");
  EXPECT_EQ(text(N - min(K, M)), "max(N - K, N - M)");
  EXPECT_EQ(min(N, N + K), N);
  EXPECT_EQ(max(N, Form(0)), N);
  EXPECT_EQ(min(quotient(N + Form(1), Form(2)), quotient(N, Form(2))), quotient(N, Form(2)));
  EXPECT_EQ(min(min(N, K), M), min(N, min(M, K)));
}

TEST(Forms, QuotientsGiveUpMultiples) {
  EXPECT_EQ(text(quotient(N - Form(1), Form(2)) + Form(1)), "(N + 1) / 2");
  EXPECT_EQ(text(quotient(Form(4) * N + Form(6), Form(4))), "N + 1");
  EXPECT_EQ(text(quotient(Form(2) * N + Form(3), Form(4))), "(N + 1) / 2");
  EXPECT_EQ(text(quotient(M * N - N, N)), "M - 1");
  EXPECT_EQ(quotient(N, Form(-2)), quotient(negate(N), Form(2)));
  EXPECT_EQ(quotient(N, Form(0)).as_constant(), 0);
}

TEST(Forms, SignsAreProven) {
  EXPECT_TRUE(is_nonnegative(N));
  EXPECT_TRUE(is_nonnegative(N * K + Form(3)));
  EXPECT_FALSE(is_nonnegative(N - Form(1)));
  EXPECT_TRUE(is_nonnegative(N - min(N, K)));
  EXPECT_TRUE(is_nonnegative(N - quotient(N, Form(2))));
  EXPECT_TRUE(is_nonnegative(max(N - K, Form(0))));
  EXPECT_TRUE(is_nonnegative(quotient(N + Form(1), Form(2)) - quotient(N, Form(2))));
}

TEST(Forms, HugeOnesAreGivenUp) {
  Form sum, mixed;
  for (int k = 0; k < 12; ++k) {
    sum = sum + size(k);
    mixed =
        mixed + min(size(k), size(k + 20) - Form(1)) - min(size(k + 40), size(k + 60) - Form(1));
  }
  Form power(1);
  for (int k = 0; k < 20; ++k)
    power = power * sum;
  EXPECT_FALSE(power.valid());
  EXPECT_FALSE(is_nonnegative(mixed));
}

TEST(Forms, OverflowIsInvalid) {
  const Form huge(INT64_MAX);
  EXPECT_FALSE((huge + Form(1)).valid());
  EXPECT_FALSE((huge * N * Form(2)).valid());
  EXPECT_FALSE(is_nonnegative(Form::invalid()));
}

}  // namespace
}  // namespace tc::lang
