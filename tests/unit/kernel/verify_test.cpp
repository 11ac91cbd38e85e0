// SPDX-License-Identifier: Apache-2.0
//
// One ill-formed kernel for each rule.
#include <gtest/gtest.h>

#include "tc/kernel/passes.h"

namespace tc::kernel {
namespace {

Type i64() {
  return {DType::Int64, 1};
}

class VerifyTest : public ::testing::Test {
protected:
  VerifyTest() {
    a_ = buffer(0, 0);
    kernel_.name = "k";
    kernel_.buffers = {a_};
    kernel_.grid = {{Var{0, "i", i64()}, 8}};
  }

  static std::shared_ptr<Buffer> buffer(int id, int argument) {
    auto b = std::make_shared<Buffer>();
    b->id = id;
    b->name = "A";
    b->type = DType::Float32;
    b->extents = {8};
    b->strides = {1};
    b->argument = argument;
    b->writable = true;
    return b;
  }

  /// The only violation of the kernel with this body.
  std::string violation(StmtPtr body) {
    kernel_.body = std::move(body);
    return violation();
  }
  std::string violation() {
    if (!kernel_.body) kernel_.body = block({});
    const auto errors = verify(kernel_);
    if (errors.empty()) return "";
    if (errors.size() > 1) ADD_FAILURE() << errors[0] << "\n" << errors[1];
    return errors.front();
  }

  static ExprPtr raw(Type type, decltype(Expr::node) node) {
    return std::make_shared<const Expr>(Expr{type, std::move(node)});
  }
  ExprPtr i() const { return var_ref(kernel_.grid[0].var); }
  StmtPtr store(ExprPtr value) const {
    return make_stmt(Store{a_, {i()}, std::move(value), nullptr});
  }
  static ExprPtr one() { return float_imm(1, DType::Float32); }
  static Var var(int id, const char* name) { return {id, name, i64()}; }

  std::shared_ptr<Buffer> a_;
  Kernel kernel_;
};

TEST_F(VerifyTest, AcceptsAWellFormedKernel) {
  EXPECT_EQ(violation(store(one())), "");
}

TEST_F(VerifyTest, ArgumentPositions) {
  a_->argument = 1;
  EXPECT_EQ(violation(), "buffer 'A' is argument 1 at position 0");
}
TEST_F(VerifyTest, KernelBufferSpace) {
  a_->space = Space::Local;
  EXPECT_EQ(violation(), "buffer 'A' of a kernel is neither global nor scratch");
}
TEST_F(VerifyTest, StrideCount) {
  a_->strides = {1, 2};
  EXPECT_EQ(violation(), "buffer 'A' has 2 strides for 1 dimensions");
}
TEST_F(VerifyTest, Alignment) {
  a_->alignment = 12;
  EXPECT_EQ(violation(), "buffer 'A' has alignment 12, which is no power of two");
}
TEST_F(VerifyTest, PackedStride) {
  a_->type = DType::Int4;
  a_->strides = {2};
  EXPECT_EQ(violation(), "buffer 'A' of a 4-bit type has stride 2 in dimension 0");
}
TEST_F(VerifyTest, GridVariableType) {
  kernel_.grid[0].var.type = {DType::Int32, 1};
  EXPECT_EQ(violation(), "grid variable 'i' is not int64");
}
TEST_F(VerifyTest, VariableDefinedTwice) {
  EXPECT_EQ(violation(make_stmt(Let{var(0, "x"), int_imm(1)})), "variable 'x' is defined twice");
}
TEST_F(VerifyTest, VariableOutOfScope) {
  const auto loop =
      make_stmt(For{var(1, "k"), int_imm(0), int_imm(4), 1, ForKind::Serial, store(one())});
  EXPECT_EQ(violation(block({loop, make_stmt(Store{a_, {var_ref(var(1, "k"))}, one(), nullptr})})),
            "variable 'k' is not in scope");
}
TEST_F(VerifyTest, VariableType) {
  EXPECT_EQ(violation(make_stmt(Store{a_, {var_ref({0, "i", {DType::Int32, 1}})}, one(), nullptr})),
            "variable 'i' of type int64 is used as int32");
}
TEST_F(VerifyTest, OperandTypes) {
  EXPECT_EQ(violation(store(raw({DType::Float32, 1},
                                Binary{BinaryOp::Add, one(), float_imm(1, DType::Float64)}))),
            "an operand has type float64, not float32");
}
TEST_F(VerifyTest, ComparisonType) {
  EXPECT_EQ(violation(store(raw({DType::Float32, 1}, Binary{BinaryOp::Lt, one(), one()}))),
            "'<' gives bool, not float32");
}
TEST_F(VerifyTest, SelectLanes) {
  EXPECT_EQ(violation(store(
                raw({DType::Float32, 1}, Select{broadcast(bool_imm(true), 4), one(), one()}))),
            "a condition has type boolx4, not bool");
}
TEST_F(VerifyTest, LaneNumber) {
  EXPECT_EQ(violation(store(raw({DType::Float32, 1}, Lane{broadcast(one(), 4), 4}))),
            "lane 4 of 4");
}
TEST_F(VerifyTest, BufferOutOfScope) {
  EXPECT_EQ(violation(make_stmt(Store{buffer(7, -1), {i()}, one(), nullptr})),
            "buffer 'A' is not in scope");
}
TEST_F(VerifyTest, SubscriptCount) {
  EXPECT_EQ(violation(make_stmt(Store{a_, {i(), i()}, one(), nullptr})),
            "buffer 'A' of 1 dimensions has 2 subscripts");
}
TEST_F(VerifyTest, Writability) {
  a_->writable = false;
  EXPECT_EQ(violation(store(one())), "store to 'A', which is not writable");
}
TEST_F(VerifyTest, StoreType) {
  EXPECT_EQ(violation(store(int_imm(1))), "store of int64 to 'A' of float32");
}
TEST_F(VerifyTest, StoreLanes) {
  EXPECT_EQ(violation(store(broadcast(one(), 4))), "store of 4 lanes to 1 elements of 'A'");
}
TEST_F(VerifyTest, MaskType) {
  EXPECT_EQ(violation(make_stmt(Store{a_, {i()}, one(), int_imm(1)})),
            "the mask of a store to 'A' has type int64");
}
TEST_F(VerifyTest, LoopStep) {
  EXPECT_EQ(violation(make_stmt(
                For{var(1, "k"), int_imm(0), int_imm(4), 0, ForKind::Serial, store(one())})),
            "loop 'k' has step 0");
}
TEST_F(VerifyTest, UnrolledBounds) {
  EXPECT_EQ(
      violation(make_stmt(For{var(1, "k"), int_imm(0), i(), 1, ForKind::Unrolled, store(one())})),
      "unrolled loop 'k' has bounds that are not constant");
}
TEST_F(VerifyTest, ConditionType) {
  EXPECT_EQ(violation(make_stmt(If{int_imm(1), store(one()), nullptr})),
            "the condition of an if has type int64, not bool");
}
TEST_F(VerifyTest, RegisterOutOfScope) {
  EXPECT_EQ(violation(make_stmt(Assign{3, int_imm(0), one()})), "register 3 is not in scope");
}
TEST_F(VerifyTest, RegisterType) {
  const auto declare = make_stmt(Declare{0, "r", {DType::Float64, 1}, 2, nullptr});
  EXPECT_EQ(violation(block({declare, make_stmt(Assign{0, int_imm(0), one()})})),
            "register 0 of type float64 is used as float32");
}
TEST_F(VerifyTest, RegisterSlot) {
  const auto declare = make_stmt(Declare{0, "r", {DType::Float32, 1}, 2, nullptr});
  EXPECT_EQ(violation(block({declare, make_stmt(Assign{0, int_imm(2), one()})})),
            "slot 2 of a register array of 2");
}
TEST_F(VerifyTest, AllocationSpace) {
  auto b = buffer(1, -1);
  b->space = Space::Global;
  EXPECT_EQ(violation(make_stmt(Alloc{b})),
            "local buffer 'A' is neither local nor in registers nor shared");
}
TEST_F(VerifyTest, AtomicOperation) {
  EXPECT_EQ(violation(make_stmt(Atomic{ReduceOp::Or, a_, {i()}, one(), nullptr})),
            "atomic 'or' on 'A' of float32");
}

TEST_F(VerifyTest, BarriersStandInUniformControlFlow) {
  const Var thread{1, "t", i64()};
  const StmtPtr barrier = make_stmt(Barrier{"block"});
  const auto below = [&](ExprPtr condition) {
    return violation(make_stmt(If{std::move(condition), barrier, nullptr}));
  };
  kernel_.threads = {{thread, 32}};
  EXPECT_EQ(below(binary(BinaryOp::Lt, i(), int_imm(3))), "");
  const auto mentions = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const char* condition = "stands below a condition that differs";
  EXPECT_TRUE(mentions(below(binary(BinaryOp::Lt, var_ref(thread), int_imm(3))), condition));
  // What threads may have written is not the same for all of them.
  EXPECT_TRUE(mentions(below(binary(BinaryOp::Lt, load(a_, {int_imm(0)}), one())), condition));
  const Var loop = var(2, "k");
  EXPECT_TRUE(mentions(
      violation(make_stmt(For{loop, int_imm(0), var_ref(thread), 1, ForKind::Serial, barrier})),
      "the loop over 'k'"));
}

TEST_F(VerifyTest, ThreadsOfATask) {
  EXPECT_EQ(violation(store(raw({DType::Float32, 1}, Shuffle{one(), 1, 32}))),
            "a shuffle in a kernel without threads");
  auto shared = buffer(7, -1);
  shared->space = Space::Shared;
  EXPECT_EQ(violation(make_stmt(Alloc{shared})), "shared buffer 'A' in a kernel without threads");
}

}  // namespace
}  // namespace tc::kernel
