// SPDX-License-Identifier: Apache-2.0
//
// The interpreter on typed programs written by hand: one test per rule of the header comment of
// typed.h.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "typed_builder.h"

namespace tc::lang::test {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
using Reals = std::vector<double>;
using Integers = std::vector<std::int64_t>;

TEST(Interpreter, MatrixProduct) {
  DefBuilder b("matmul");
  const TensorId A = b.param(DType::Float32, {2, 3});
  const TensorId B = b.param(DType::Float32, {3, 2});
  const TensorId C = b.output(DType::Float32, {2, 2});
  b.push(b.reduction(ReduceOp::Add, true, {range(0, 2), range(0, 2), range(0, 3)}, C,
                     {idx(0), idx(1)},
                     mul(b.read(A, {idx(0), idx(2)}), b.read(B, {idx(2), idx(1)}))));
  const auto out = interpret(b.def(), {reals(DType::Float32, {2, 3}, {1, 2, 3, 4, 5, 6}),
                                       reals(DType::Float32, {3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(out[0].real, (Reals{22, 28, 49, 64}));
  EXPECT_EQ(count_points(b.def()), 12);
}

TEST(Interpreter, TriangleWithBoundsInAnyOrder) {
  // index 0 runs below index 1: the loops must be ordered by dependence, not by appearance.
  DefBuilder b("prefix");
  const TensorId x = b.param(DType::Int32, {4});
  const TensorId y = b.output(DType::Int32, {4});
  b.push(b.reduction(ReduceOp::Add, true, {{num(0), add(idx(1), num(1))}, range(0, 4)}, y, {idx(1)},
                     b.read(x, {idx(0)})));
  EXPECT_EQ(interpret(b.def(), {integers(DType::Int32, {4}, {1, 2, 3, 4})})[0].integer,
            (Integers{1, 3, 6, 10}));
  EXPECT_GE(count_points(b.def()), 10);
}

TEST(Interpreter, InitSetsWhatTheLeftSideReachesUnderItsOwnConditions) {
  // y(i) +=! x(r) where i < 3, r > i: elements 0..2 are set although 2 reduces nothing; element 3
  // keeps its value.
  DefBuilder b("masked");
  const TensorId x = b.param(DType::Float32, {3});
  const TensorId y = b.in_place(DType::Float32, {4});
  auto s = b.reduction(ReduceOp::Add, true, {range(0, 4), range(0, 3)}, y, {idx(0)},
                       b.read(x, {idx(1)}));
  s.conditions = {bin(BinaryOp::Lt, idx(0), num(3)), bin(BinaryOp::Gt, idx(1), idx(0))};
  b.push(s);
  EXPECT_EQ(interpret(b.def(), {reals(DType::Float32, {3}, {1, 2, 4}),
                                reals(DType::Float32, {4}, {9, 9, 9, 9})})[0]
                .real,
            (Reals{6, 4, 0, 9}));
}

TEST(Interpreter, FloorDivisionAndWrapping) {
  DefBuilder b("integers");
  const TensorId x = b.param(DType::Int32, {5});
  const TensorId d = b.param(DType::Int32, {5});
  const TensorId q = b.output(DType::Int32, {5});
  const TensorId m = b.output(DType::Int32, {5});
  const TensorId n = b.output(DType::Int8, {5});
  b.push(b.statement({range(0, 5)}, q, {idx(0)},
                     bin(BinaryOp::Div, b.read(x, {idx(0)}), b.read(d, {idx(0)}))));
  b.push(b.statement({range(0, 5)}, m, {idx(0)},
                     bin(BinaryOp::Mod, b.read(x, {idx(0)}), b.read(d, {idx(0)}))));
  b.push(b.statement({range(0, 5)}, n, {idx(0)}, mul(b.read(x, {idx(0)}), num(100))));
  const std::int64_t least = std::numeric_limits<std::int32_t>::min();
  const auto out = interpret(b.def(), {integers(DType::Int32, {5}, {-7, 7, 7, 5, least}),
                                       integers(DType::Int32, {5}, {2, -2, 2, 0, -1})});
  EXPECT_EQ(out[0].integer, (Integers{-4, -4, 3, 0, least}));
  EXPECT_EQ(out[1].integer, (Integers{1, -1, 1, 0, 0}));
  EXPECT_EQ(out[2].integer, (Integers{68, -68, -68, -12, 0}));
}

TEST(Interpreter, MinimumAndMaximumPropagateNan) {
  DefBuilder b("extremes");
  const TensorId x = b.param(DType::Float32, {2, 3});
  const TensorId lo = b.output(DType::Float32, {2});
  const TensorId hi = b.output(DType::Float32, {2});
  const TensorId both = b.output(DType::Float32, {2});
  for (const auto& [t, op] : {std::pair(lo, ReduceOp::Min), std::pair(hi, ReduceOp::Max)}) {
    b.push(b.reduction(op, true, {range(0, 2), range(0, 3)}, t, {idx(0)},
                       b.read(x, {idx(0), idx(1)})));
  }
  b.push(b.statement({range(0, 2)}, both, {idx(0)},
                     bin(BinaryOp::Max, b.read(x, {idx(0), num(0)}), b.read(x, {idx(0), num(1)}))));
  const auto out = interpret(b.def(), {reals(DType::Float32, {2, 3}, {1, kNan, 3, -kInf, -5, -7})});
  EXPECT_TRUE(std::isnan(out[0].real[0]));
  EXPECT_TRUE(std::isnan(out[1].real[0]));
  EXPECT_TRUE(std::isnan(out[2].real[0]));
  EXPECT_EQ(out[0].real[1], -kInf);
  EXPECT_EQ(out[1].real[1], -5);
  EXPECT_EQ(out[2].real[1], -5);
}

TEST(Interpreter, ArgmaxTiesGoToTheLowestAndNanWins) {
  DefBuilder b("argmax");
  const TensorId x = b.param(DType::Float32, {3, 4});
  const TensorId k = b.output(DType::Int32, {3});
  // The reduction index runs first, so that rows are visited interleaved.
  auto s = b.reduction(ReduceOp::ArgMax, true, {range(0, 4), range(0, 3)}, k, {idx(1)},
                       b.read(x, {idx(1), idx(0)}));
  s.position = idx(0);
  s.accumulator = DType::Float32;
  b.push(s);
  const auto out =
      interpret(b.def(), {reals(DType::Float32, {3, 4},
                                {-3, -1, -1, -2, 5, kNan, 7, kNan, -kInf, -kInf, -kInf, -kInf})});
  EXPECT_EQ(out[0].integer, (Integers{1, 1, 0}));
}

TEST(Interpreter, ArgminComparesByPositionWhateverTheOrder) {
  DefBuilder b("argmin");
  const TensorId x = b.param(DType::Int32, {2, 2});
  const TensorId k = b.output(DType::Int64, {});
  // Flat position over (j, i) while the loops run i outside of j.
  auto s = b.reduction(ReduceOp::ArgMin, true, {range(0, 2), range(0, 2)}, k, {},
                       b.read(x, {idx(0), idx(1)}));
  s.position = add(mul(idx(1), num(2)), idx(0));
  s.accumulator = DType::Int32;
  b.push(s);
  EXPECT_EQ(interpret(b.def(), {integers(DType::Int32, {2, 2}, {4, 1, 1, 4})})[0].integer,
            (Integers{1}));
}

TEST(Interpreter, GuardsAreLazy) {
  // i < 2 ? x(i) : 0 and i < 2 && x(i) > 0 on a tensor of two elements, over four points.
  DefBuilder b("guards");
  const TensorId x = b.param(DType::Float32, {2});
  const TensorId y = b.output(DType::Float32, {4});
  const TensorId z = b.output(DType::Bool, {4});
  const auto inside = [&] { return bin(BinaryOp::Lt, idx(0), num(2)); };
  b.push(b.statement({range(0, 4)}, y, {idx(0)}, select(inside(), b.read(x, {idx(0)}), real(0))));
  b.push(
      b.statement({range(0, 4)}, z, {idx(0)},
                  bin(BinaryOp::And, inside(), bin(BinaryOp::Gt, b.read(x, {idx(0)}), real(0)))));
  const auto out = interpret(b.def(), {reals(DType::Float32, {2}, {-1, 2})});
  EXPECT_EQ(out[0].real, (Reals{-1, 2, 0, 0}));
  EXPECT_EQ(out[1].integer, (Integers{0, 1, 0, 0}));
}

TEST(Interpreter, AnUnguardedReadOutsideIsOurDefect) {
  DefBuilder b("wrong");
  const TensorId x = b.param(DType::Float32, {2});
  const TensorId y = b.output(DType::Float32, {3});
  b.push(b.statement({range(0, 3)}, y, {idx(0)}, b.read(x, {idx(0)})));
  EXPECT_THROW(interpret(b.def(), {reals(DType::Float32, {2}, {1, 2})}), InternalError);
}

TEST(Interpreter, PadAndGathersOutOfRange) {
  DefBuilder b("gathers");
  const TensorId x = b.param(DType::Float32, {3});
  const TensorId k = b.param(DType::Int32, {4});
  const TensorId n = b.param(DType::Int64, {3});
  const TensorId padded = b.output(DType::Float32, {5});
  const TensorId plain = b.output(DType::Float32, {4});
  const TensorId whole = b.output(DType::Int64, {4});
  const TensorId filled = b.output(DType::Float32, {4});
  b.push(b.statement({range(0, 5)}, padded, {idx(0)}, b.read(x, {sub(idx(0), num(1))}, real(-1))));
  b.push(b.statement({range(0, 4)}, plain, {idx(0)}, b.read(x, {b.read(k, {idx(0)})})));
  b.push(b.statement({range(0, 4)}, whole, {idx(0)}, b.read(n, {b.read(k, {idx(0)})})));
  b.push(b.statement({range(0, 4)}, filled, {idx(0)}, b.read(x, {b.read(k, {idx(0)})}, real(7))));
  const auto out = interpret(b.def(), {reals(DType::Float32, {3}, {1, 2, 3}),
                                       integers(DType::Int32, {4}, {2, -1, 3, 0}),
                                       integers(DType::Int64, {3}, {10, 20, 30})});
  EXPECT_EQ(out[0].real, (Reals{-1, 1, 2, 3, -1}));
  EXPECT_EQ(out[1].real[0], 3);
  EXPECT_TRUE(std::isnan(out[1].real[1]) && std::isnan(out[1].real[2]));
  EXPECT_EQ(out[2].integer, (Integers{30, 0, 0, 10}));
  EXPECT_EQ(out[3].real, (Reals{3, 7, 7, 1}));
}

TEST(Interpreter, ScattersAccumulateDuplicatesAndDropWhatIsOutside) {
  DefBuilder b("histogram");
  const TensorId k = b.param(DType::Int32, {6});
  const TensorId h = b.in_place(DType::Int32, {3});
  b.push(b.reduction(ReduceOp::Add, false, {range(0, 6)}, h, {b.read(k, {idx(0)})}, num(1)));
  EXPECT_EQ(interpret(b.def(), {integers(DType::Int32, {6}, {0, 2, 2, 3, -1, 2}),
                                integers(DType::Int32, {3}, {5, 5, 5})})[0]
                .integer,
            (Integers{6, 5, 8}));
}

TEST(Interpreter, ScatterWithInitClearsTheWholeTensor) {
  DefBuilder b("cleared");
  const TensorId k = b.param(DType::Int32, {2});
  const TensorId h = b.in_place(DType::Float16, {4});
  b.push(b.reduction(ReduceOp::Add, true, {range(0, 2)}, h, {b.read(k, {idx(0)})}, real(2)));
  EXPECT_EQ(interpret(b.def(), {integers(DType::Int32, {2}, {1, 1}),
                                reals(DType::Float16, {4}, {9, 9, 9, 9})})[0]
                .real,
            (Reals{0, 4, 0, 0}));
}

TEST(Interpreter, HalfSumsRoundOnce) {
  DefBuilder b("half");
  const TensorId x = b.param(DType::Float16, {4096});
  const TensorId y = b.output(DType::Float16, {});
  b.push(b.reduction(ReduceOp::Add, true, {range(0, 4096)}, y, {}, b.read(x, {idx(0)})));
  EXPECT_EQ(interpret(b.def(), {reals(DType::Float16, {4096}, Reals(4096, 1.0))})[0].real,
            (Reals{4096}));
}

TEST(Interpreter, NarrowIntegersAccumulateInInt32) {
  DefBuilder b("narrow");
  const TensorId x = b.param(DType::Int8, {300});
  const TensorId y = b.output(DType::Int8, {});
  const TensorId any = b.output(DType::Bool, {});
  b.push(b.reduction(ReduceOp::Add, true, {range(0, 300)}, y, {}, b.read(x, {idx(0)})));
  b.push(b.reduction(ReduceOp::Add, true, {range(0, 300)}, any, {},
                     bin(BinaryOp::Gt, b.read(x, {idx(0)}), num(0))));
  const auto out = interpret(b.def(), {integers(DType::Int8, {300}, Integers(300, 1))});
  EXPECT_EQ(out[0].integer, (Integers{44}));  // 300 mod 256
  EXPECT_EQ(out[1].integer, (Integers{1}));
}

TEST(Interpreter, StoresConvertAsCasts) {
  DefBuilder b("stores");
  const TensorId x = b.param(DType::Float32, {5});
  const TensorId u8 = b.output(DType::UInt8, {5});
  const TensorId i4 = b.output(DType::Int4, {5});
  const TensorId f8 = b.output(DType::Float8E4M3FN, {5});
  const TensorId flag = b.output(DType::Bool, {5});
  for (const TensorId t : {u8, i4, f8, flag}) {
    b.push(b.statement({range(0, 5)}, t, {idx(0)}, b.read(x, {idx(0)})));
  }
  const auto out = interpret(b.def(), {reals(DType::Float32, {5}, {-3.7, 300.5, kNan, 0, 5.4})});
  EXPECT_EQ(out[0].integer, (Integers{0, 255, 0, 0, 5}));
  EXPECT_EQ(out[1].integer, (Integers{-3, 7, 0, 0, 5}));
  EXPECT_EQ(out[2].real[0], -3.75);
  EXPECT_EQ(out[2].real[1], 288);
  EXPECT_TRUE(std::isnan(out[2].real[2]));
  EXPECT_EQ(out[3].integer, (Integers{1, 1, 1, 0, 1}));
}

TEST(Interpreter, ForRunsInOrder) {
  // h(0) = x(0); for t in 1:5 { h(t) = h(t-1) * 2 + x(t) }
  DefBuilder b("recurrence");
  const TensorId x = b.param(DType::Float32, {5});
  const TensorId h = b.output(DType::Float32, {5});
  b.push(b.statement({}, h, {num(0)}, b.read(x, {num(0)})));
  const auto t = [] { return for_var(0); };
  b.push_loop(0, num(1), num(5),
              {b.statement({}, h, {t()},
                           add(mul(b.read(h, {sub(t(), num(1))}), real(2)), b.read(x, {t()})))});
  EXPECT_EQ(interpret(b.def(), {reals(DType::Float32, {5}, {1, 1, 1, 1, 1})})[0].real,
            (Reals{1, 3, 7, 15, 31}));
  EXPECT_EQ(count_points(b.def()), 5);
}

TEST(Interpreter, TensorsBeginWhereTheirIndexSpaceDoes) {
  // O(i) = x(i-1) over 1..3 is stored from position 0.
  DefBuilder b("shift");
  const TensorId x = b.param(DType::Float32, {3});
  const TensorId y = b.output(DType::Float32, {3});
  b.set_begin(y, 1);
  b.push(b.statement({range(1, 4)}, y, {idx(0)}, b.read(x, {sub(idx(0), num(1))})));
  EXPECT_EQ(interpret(b.def(), {reals(DType::Float32, {3}, {1, 2, 3})})[0].real, (Reals{1, 2, 3}));
}

TEST(Interpreter, LanguagePrecisionRoundsEveryOperation) {
  DefBuilder b("rounding");
  const TensorId x = b.param(DType::Float32, {});
  const TensorId y = b.output(DType::Float32, {});
  const TensorId e = b.output(DType::Float32, {});
  b.push(b.statement({}, y, {}, sub(add(b.read(x, {}), real(1)), b.read(x, {}))));
  b.push(b.statement({}, e, {}, call("exp", {real(1)}, DType::Float32)));
  const Value big = reals(DType::Float32, {}, {0x1p25});
  const auto language = interpret(b.def(), {big});
  EXPECT_EQ(language[0].real, (Reals{0}));
  EXPECT_EQ(language[1].real[0], static_cast<double>(std::exp(1.0f)));
  const auto exact = interpret(b.def(), {big}, {}, {.precision = Precision::Double});
  EXPECT_EQ(exact[0].real, (Reals{1}));
  EXPECT_EQ(exact[1].real[0], std::exp(1.0));
}

TEST(Interpreter, ValuesWrapButConditionsAndSubscriptsDoNot) {
  DefBuilder b("wide");
  const TensorId x = b.param(DType::Int32, {});
  const TensorId y = b.output(DType::Bool, {});
  auto s = b.statement({range(70000, 70001)}, y, {},
                       bin(BinaryOp::Eq, mul(idx(0), idx(0)), b.read(x, {})));
  s.conditions = {bin(BinaryOp::Gt, mul(idx(0), idx(0)), num(0))};
  b.push(s);
  // As a value 70000^2 wraps to 605032704; as a condition it is exact and positive.
  EXPECT_EQ(interpret(b.def(), {integers(DType::Int32, {}, {605032704})})[0].integer,
            (Integers{1}));
}

TEST(Interpreter, UnsignedValues) {
  DefBuilder b("unsigned");
  const TensorId x = b.param(DType::UInt64, {2});
  const TensorId hi = b.output(DType::UInt64, {});
  const TensorId f = b.output(DType::Float64, {2});
  const TensorId w = b.output(DType::UInt32, {2});
  b.push(b.reduction(ReduceOp::Max, true, {range(0, 2)}, hi, {}, b.read(x, {idx(0)})));
  b.push(b.statement({range(0, 2)}, f, {idx(0)}, b.read(x, {idx(0)})));
  b.push(b.statement({range(0, 2)}, w, {idx(0)}, b.read(x, {idx(0)})));
  const auto out = interpret(b.def(), {integers(DType::UInt64, {2}, {-1, 5})});
  EXPECT_EQ(out[0].integer, (Integers{-1}));
  EXPECT_EQ(out[1].real, (Reals{0x1p64, 5}));
  EXPECT_EQ(out[2].integer, (Integers{0xffffffff, 5}));
}

TEST(Interpreter, IntegersRoundOnceToNarrowFloats) {
  // 2^54 + 2^46 + 1 lies just above the midpoint of two bfloat16 numbers; by way of a rounded
  // double it would be the tie.
  DefBuilder b("narrowing");
  const TensorId x = b.param(DType::Int64, {});
  const TensorId y = b.output(DType::BFloat16, {});
  b.push(b.statement({}, y, {}, b.read(x, {})));
  const std::int64_t value = (std::int64_t{1} << 54) + (std::int64_t{1} << 46) + 1;
  EXPECT_EQ(interpret(b.def(), {integers(DType::Int64, {}, {value})})[0].real,
            (Reals{0x1p54 + 0x1p47}));
}

TEST(Interpreter, InitialContentsAreAccumulatedOnto) {
  DefBuilder b("onto");
  const TensorId x = b.param(DType::Float32, {2});
  const TensorId y = b.output(DType::Float32, {});
  b.needs_initial(y);
  b.push(b.reduction(ReduceOp::Add, false, {range(0, 2)}, y, {}, b.read(x, {idx(0)})));
  const Value in = reals(DType::Float32, {2}, {1, 2});
  EXPECT_EQ(interpret(b.def(), {in}, {{0, reals(DType::Float32, {}, {10})}})[0].real, (Reals{13}));
  EXPECT_THROW(interpret(b.def(), {in}), InternalError);
}

TEST(Interpreter, EmptyDomains) {
  DefBuilder b("empty");
  const TensorId x = b.param(DType::Float32, {3, 0});
  const TensorId y = b.output(DType::Float32, {3});
  const TensorId z = b.output(DType::Float32, {0, 3});
  b.push(b.reduction(ReduceOp::Add, true, {range(0, 3), range(0, 0)}, y, {idx(0)},
                     b.read(x, {idx(0), idx(1)})));
  b.push(b.statement({range(0, 0), range(0, 3)}, z, {idx(0), idx(1)}, real(1)));
  const auto out = interpret(b.def(), {Value::zeros(DType::Float32, {3, 0})});
  EXPECT_EQ(out[0].real, (Reals{0, 0, 0}));
  EXPECT_EQ(out[1].elements(), 0);
  EXPECT_EQ(count_points(b.def()), 0);
}

TEST(Interpreter, RefusesHopelessCounts) {
  DefBuilder b("huge");
  const TensorId y = b.output(DType::Float32, {});
  const auto wide = range(0, std::int64_t{1} << 30);
  b.push(b.reduction(ReduceOp::Add, true, {wide, wide, wide}, y, {}, real(1)));
  EXPECT_EQ(count_points(b.def()), std::numeric_limits<std::int64_t>::max());
  EXPECT_THROW(interpret(b.def(), {}), InterpreterLimit);
}

TEST(Interpreter, Temporaries) {
  DefBuilder b("temporary");
  const TensorId x = b.param(DType::Float32, {3});
  const TensorId y = b.output(DType::Float32, {3});
  const TensorId t = b.temporary(DType::Float32, {});
  b.push(b.reduction(ReduceOp::Max, true, {range(0, 3)}, t, {}, b.read(x, {idx(0)})));
  b.push(b.statement({range(0, 3)}, y, {idx(0)}, sub(b.read(x, {idx(0)}), b.read(t, {}))));
  EXPECT_EQ(interpret(b.def(), {reals(DType::Float32, {3}, {1, 4, 2})})[0].real,
            (Reals{-3, 0, -2}));
}

}  // namespace
}  // namespace tc::lang::test
