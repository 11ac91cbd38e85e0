// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>
#include <utility>

#include "example_records.h"
#include "tc/tuner/record_queue.h"

namespace tc::tuner {
namespace {

class RecordsTest : public ::testing::Test {
protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("tc-records-test-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file() const { return folder_ / "records.sqlite"; }

  std::filesystem::path folder_;
};

TEST_F(RecordsTest, JsonRoundTrip) {
  Record record = example_record({7, 9}, 3, 12.5);
  record.identity.consts = {0.1, -3};
  record.identity.layout = "in0:1,7 ";
  record.options.tile = {4, 0};
  record.created = "2026-01-02T03:04:05.006Z";
  const Result<Record, std::string> read = record_from_json(to_json(record));
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(to_json(*read), to_json(record));
  EXPECT_EQ(read->options, record.options);
  EXPECT_EQ(read->identity.consts, record.identity.consts);
  EXPECT_EQ(read->code, record.code);
}

TEST_F(RecordsTest, EveryBitOfACodeIsKept) {
  Record record = example_record({7, 9}, 3, 12.5);
  for (const std::uint64_t code : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX}) {
    record.code = code;
    EXPECT_EQ(record_from_json(to_json(record))->code, code);
  }
}

TEST_F(RecordsTest, TheFirstFormatHadNoCode) {
  std::string text = to_json(example_record({7, 9}, 3, 12.5));
  text.replace(text.find("tuned-2"), 7, "tuned-1");
  const std::string code = ",\"code\":\"000000000000abcd\"";
  text.erase(text.find(code), code.size());
  const Result<Record, std::string> read = record_from_json(text);
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(read->code, 0u);
  text.replace(text.find("tuned-1"), 7, "tuned-2");
  EXPECT_FALSE(record_from_json(text).has_value());
}

TEST_F(RecordsTest, ConstsThatJsonHasNoNumberFor) {
  const double infinity = std::numeric_limits<double>::infinity();
  Record record = example_record({7, 9}, 3, 12.5);
  record.identity.consts = {std::nan(""), infinity, -infinity, 2};
  const Result<Record, std::string> read = record_from_json(to_json(record));
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_TRUE(is_same_call(read->identity, record.identity));
  EXPECT_EQ(to_json(*read), to_json(record));
  Record other = record;
  other.identity.consts[0] = 1;
  EXPECT_FALSE(is_same_call(other.identity, record.identity));
  std::string text = to_json(record);
  text.replace(text.find("\"inf\""), 5, "\"much\"");
  EXPECT_FALSE(record_from_json(text).has_value());
  for (const auto& store : {open_sqlite_records(file()), open_memory_records()}) {
    EXPECT_TRUE(store->put(record));
    EXPECT_TRUE(store->put(record));
    EXPECT_TRUE(store->put(other));
    EXPECT_EQ(store->list().size(), 2u);
  }
}

TEST_F(RecordsTest, TheBuildIsPartOfAnIdentity) {
  const std::string text = "def f(float(N) x) -> (y) { y(i) = x(i) + 1.0 }";
  const SourceBuffer source("<text>", text);
  Metadata metadata;
  metadata.inputs = {{DType::Float32, {8}, {0}, 4}};
  const auto front = compiler::front_end(source, "f", metadata);
  ASSERT_TRUE(front.has_value());
  const Identity identity = identity_of(*front, Target{});
  EXPECT_EQ(identity.versions, version() + " " + build_identity());
  EXPECT_EQ(identity.layout, "in0:0 ");
}

TEST_F(RecordsTest, JsonErrorsSayWhatIsWrong) {
  const std::string good = to_json(example_record({7, 9}, 3, 12.5));
  const auto error_of = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const Result<Record, std::string> read = record_from_json(text);
    return read ? std::string("accepted") : read.error();
  };
  EXPECT_NE(error_of("tuned-2", "tuned-9").find("tuned-9"), std::string::npos);
  EXPECT_NE(error_of("\"tasks\":3", "\"tasks\":-3").find("tasks"), std::string::npos);
  EXPECT_NE(error_of("\"tasks\":3", "\"task\":3").find("task"), std::string::npos);
  EXPECT_NE(error_of("measured", "guessed").find("guessed"), std::string::npos);
  EXPECT_NE(error_of("12.5", "0").find("above 0"), std::string::npos);
  EXPECT_NE(error_of("\"cpu\"", "\"tpu\"").find("tpu"), std::string::npos);
  // Names, the check and the provenance are printed: nothing in them moves a terminal's cursor.
  Record printed = example_record({7, 9}, 3, 12.5);
  for (const char* text : {"\x1b[2J", "a\nb", "\u009b2J", "\u202eabc", "\x7f"}) {
    for (std::string* member :
         {&printed.identity.def, &printed.identity.arch, &printed.identity.size_names[0],
          &printed.verification, &printed.provenance}) {
      const std::string before = std::exchange(*member, text);
      const auto read = record_from_json(to_json(printed));
      ASSERT_FALSE(read.has_value()) << text;
      EXPECT_NE(read.error().find("printable"), std::string::npos) << read.error();
      *member = before;
    }
  }
  EXPECT_TRUE(record_from_json(to_json(printed)).has_value());
  EXPECT_FALSE(record_from_json("{").has_value());
  EXPECT_FALSE(record_from_json("{\"record\":\"tuned-2\"}").has_value());
  for (const char* code : {"\"12\"", "\"00000000000000zz\"", "\"-000000000000001\"", "1", "null"})
    EXPECT_NE(error_of("\"000000000000abcd\"", code), "accepted") << code;
}

TEST_F(RecordsTest, LaterReplacesEarlierOfTheSamePlaceOnly) {
  const auto store = open_sqlite_records(file());
  Record record = example_record({7, 9}, 3, 12.5);
  record.created = "2026-01-02T00:00:00.000Z";
  ASSERT_TRUE(store->put(record));
  record.median_us = 11;
  record.created = "2026-01-03T00:00:00.000Z";
  ASSERT_TRUE(store->put(record));
  record.median_us = 99;
  record.created = "2026-01-01T00:00:00.000Z";
  ASSERT_TRUE(store->put(record));
  ASSERT_TRUE(store->put(example_record({7, 9}, 4, 20)));
  ASSERT_TRUE(store->put(example_record({7, 8}, 3, 21)));
  Record cuda = example_record({7, 9}, 3, 1);
  cuda.identity.kind = TargetKind::Cuda;
  cuda.identity.target = "t2";
  ASSERT_TRUE(store->put(cuda));
  const std::vector<Record> found = store->find("0123", TargetKind::Cpu);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].median_us, 11);
  EXPECT_FALSE(found[1].created.empty());
  EXPECT_EQ(store->find("0123", TargetKind::Cuda).size(), 1u);
  EXPECT_TRUE(store->find("4567", TargetKind::Cpu).empty());
  EXPECT_EQ(open_sqlite_records(file())->list().size(), 4u);
  EXPECT_EQ(store->clear(), 4);
  EXPECT_TRUE(store->list().empty());
}

TEST_F(RecordsTest, ProcessesWriteOneFileAndKilledOnesLoseNothing) {
  constexpr int kProcesses = 4;
  constexpr int kEach = 25;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      const auto store = open_sqlite_records(file());
      bool kept = true;
      for (int i = 0; i < kEach; ++i)
        kept = store->put(example_record({p, i}, 1, 1 + i)) && kept;
      // The end of a process that gets no chance to close anything.
      if (kept) raise(SIGKILL);
      _exit(1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
  EXPECT_EQ(open_sqlite_records(file())->list().size(), std::size_t{kProcesses * kEach});
}

TEST_F(RecordsTest, WhatCannotBeWrittenIsReported) {
  std::filesystem::create_directories(folder_);
  std::ofstream(file()) << std::string(5000, 'x');
  const auto store = open_sqlite_records(file());
  EXPECT_FALSE(store->put(example_record({1, 2}, 1, 1)));
  EXPECT_TRUE(store->list().empty());
}

/// Another user of the store, who is in the middle of writing.
class Writer {
public:
  explicit Writer(const std::filesystem::path& file) {
    sqlite3_open(file.c_str(), &database_);
    run("BEGIN IMMEDIATE");
  }
  ~Writer() { sqlite3_close(database_); }
  void run(const char* sql) { sqlite3_exec(database_, sql, nullptr, nullptr, nullptr); }

private:
  sqlite3* database_ = nullptr;
};

TEST_F(RecordsTest, OthersWhoWriteAreWaitedForAsLongAsAsked) {
  const auto store = open_sqlite_records(file());
  ASSERT_TRUE(store->put(example_record({1, 2}, 1, 1)));
  Writer other(file());
  EXPECT_FALSE(store->put(example_record({1, 2}, 2, 1), std::chrono::milliseconds(10)));
  std::thread end([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    other.run("COMMIT");
  });
  EXPECT_TRUE(store->put(example_record({1, 2}, 2, 1), std::chrono::minutes(5)));
  end.join();
  EXPECT_EQ(store->list().size(), 2u);
}

TEST_F(RecordsTest, AStoreThatWasLockedWhenItWasOpenedIsOpenedAgain) {
  ASSERT_TRUE(open_sqlite_records(file())->put(example_record({1, 2}, 1, 1)));
  // In another journal mode, so that even readers are kept out.
  Writer other(file());
  other.run("COMMIT");
  other.run("PRAGMA journal_mode = DELETE");
  other.run("BEGIN EXCLUSIVE");
  const auto store = open_sqlite_records(file());
  EXPECT_FALSE(store->put(example_record({1, 2}, 2, 1), std::chrono::milliseconds(10)));
  other.run("COMMIT");
  EXPECT_TRUE(store->put(example_record({1, 2}, 2, 1)));
  EXPECT_EQ(store->list().size(), 2u);
}

TEST_F(RecordsTest, AFileThatIsRemovedIsMadeAgain) {
  const auto store = open_sqlite_records(file());
  ASSERT_TRUE(store->put(example_record({1, 2}, 1, 1)));
  std::filesystem::remove_all(folder_);
  ASSERT_TRUE(store->put(example_record({1, 2}, 2, 1)));
  EXPECT_EQ(open_sqlite_records(file())->list().size(), 1u);
}

/// Takes records only while it is said to.
class Unreliable final : public RecordStore {
public:
  using RecordStore::put;
  bool put(const Record& record, std::chrono::milliseconds patience) override {
    ++tries;
    return works && store_->put(record, patience);
  }
  std::vector<Record> find(const std::string& program, TargetKind kind) override {
    return store_->find(program, kind);
  }
  std::vector<Record> list() override { return store_->list(); }
  std::int64_t clear() override { return store_->clear(); }

  bool works = true;
  int tries = 0;

private:
  std::unique_ptr<RecordStore> store_ = open_memory_records();
};

TEST_F(RecordsTest, AQueueKeepsWhatTheStoreDoesNotTake) {
  Unreliable store;
  RecordQueue queue(store);
  queue.put(example_record({1, 2}, 1, 1));
  EXPECT_EQ(store.list().size(), 1u);
  store.works = false;
  for (std::int64_t tasks = 2; tasks < 100; ++tasks)
    queue.put(example_record({1, 2}, tasks, 1));
  EXPECT_LT(store.tries, 50) << "a store that takes nothing is left alone for a while";
  EXPECT_FALSE(queue.finish());
  EXPECT_EQ(store.list().size(), 1u);
  store.works = true;
  EXPECT_TRUE(queue.finish());
  const std::vector<Record> kept = store.list();
  ASSERT_EQ(kept.size(), 99u);
  EXPECT_EQ(kept.back().options.tasks, 99) << "in their order";
  EXPECT_TRUE(queue.finish());
}

TEST_F(RecordsTest, MemoryStoreBehavesAlike) {
  const auto store = open_memory_records();
  store->put(example_record({7, 9}, 3, 12));
  store->put(example_record({7, 9}, 3, 11));
  store->put(example_record({7, 9}, 4, 20));
  const std::vector<Record> found = store->find("0123", TargetKind::Cpu);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].median_us, 11);
  EXPECT_EQ(store->clear(), 2);
}

TEST_F(RecordsTest, ThreadsShareAStore) {
  constexpr int kThreads = 4;
  constexpr int kEach = 25;
  for (const bool in_memory : {true, false}) {
    const auto store = in_memory ? open_memory_records() : open_sqlite_records(file());
    std::vector<std::thread> threads;
    std::vector<std::size_t> found(kThreads);
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i)
          store->put(example_record({t, i}, 1, 1 + i));
        found[static_cast<std::size_t>(t)] = store->find("0123", TargetKind::Cpu).size();
      });
    for (auto& thread : threads)
      thread.join();
    for (const std::size_t count : found)
      EXPECT_GE(count, std::size_t{kEach});
    EXPECT_EQ(store->list().size(), std::size_t{kThreads * kEach});
  }
}

}  // namespace
}  // namespace tc::tuner
