// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tc/compiler/store.h"
#include "tc/tc.h"

namespace tc {
namespace {

class CacheTest : public ::testing::Test {
protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("tc-cache-test-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  CompileReport::Source source_of(const std::shared_ptr<CompileCache>& cache,
                                  std::int64_t size) const {
    Metadata metadata;
    metadata.inputs = {{DType::Float32, {size}, {}, 4}};
    CompileContext context;
    context.cache = cache;
    auto executor = compile("def f(float(N) x) -> (y) { y(i) = x(i) + 1.0 }", "f", metadata, {},
                            std::nullopt, context);
    EXPECT_TRUE(executor.has_value());
    return executor->report().source;
  }

  std::filesystem::path folder_;
};

TEST_F(CacheTest, MissThenMemoryThenDisk) {
  auto cache = open_cache(folder_);
  EXPECT_EQ(source_of(cache, 10), CompileReport::Source::Compiled);
  EXPECT_EQ(source_of(cache, 10), CompileReport::Source::Memory);
  EXPECT_EQ(source_of(cache, 11), CompileReport::Source::Compiled);
  auto later = open_cache(folder_);
  EXPECT_EQ(source_of(later, 10), CompileReport::Source::Disk);
  EXPECT_EQ(source_of(later, 10), CompileReport::Source::Memory);
}

TEST_F(CacheTest, WorksWithoutADirectory) {
  auto cache = open_cache("");
  EXPECT_EQ(source_of(cache, 10), CompileReport::Source::Compiled);
  EXPECT_EQ(source_of(cache, 10), CompileReport::Source::Memory);
}

TEST_F(CacheTest, ThreadsShareOneCache) {
  auto cache = open_cache(folder_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 6; ++i)
        source_of(cache, 10 + (i + t) % 3);
    });
  for (std::thread& thread : threads)
    thread.join();
  for (const int size : {10, 11, 12})
    EXPECT_EQ(source_of(cache, size), CompileReport::Source::Memory);
  EXPECT_EQ(compiler::open_sqlite_store(folder_, 1 << 20)->list().size(), 3u);
}

TEST_F(CacheTest, WorksInAChildAfterFork) {
  auto store = compiler::open_sqlite_store(folder_, 1 << 20);
  store->put("a", {"table", "object", "first"});
  const pid_t child = fork();
  if (child == 0) {
    const bool found = store->find("a").has_value();
    store->put("b", {"table", "object", "second"});
    _exit(found ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(store->find("b").has_value());
}

/// Processes that make one new file at the same moment: each keeps what it puts.
TEST_F(CacheTest, ManyProcessesMakeOneFile) {
  constexpr int kProcesses = 12;
  for (int round = 0; round < 4; ++round) {
    const std::filesystem::path folder = folder_ / ("round" + std::to_string(round));
    int start[2];
    ASSERT_EQ(pipe(start), 0);
    std::vector<pid_t> children;
    for (int child = 0; child < kProcesses; ++child) {
      const pid_t pid = fork();
      if (pid == 0) {
        close(start[1]);
        char byte = 0;
        // Ends when the parent closes its end: for all at once.
        while (read(start[0], &byte, 1) > 0) {
        }
        auto store = compiler::open_sqlite_store(folder, 1 << 20);
        store->put(std::to_string(child), {"table", "object", "text"});
        _exit(store->problem().empty() ? 0 : 1);
      }
      children.push_back(pid);
    }
    close(start[0]);
    close(start[1]);
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_EQ(WEXITSTATUS(status), 0) << "a process cannot write in round " << round;
    }
    EXPECT_EQ(compiler::open_sqlite_store(folder, 1 << 20)->list().size(),
              static_cast<std::size_t>(kProcesses));
  }
}

/// Another process is about to make the file: the change to WAL fails at once instead of waiting.
TEST_F(CacheTest, WaitsForWhoMakesTheFile) {
  constexpr auto kHeld = std::chrono::milliseconds(300);
  const std::string file = compiler::open_sqlite_store(folder_, 1 << 20)->path().string();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    sqlite3* other = nullptr;
    const bool held =
        sqlite3_open(file.c_str(), &other) == SQLITE_OK &&
        sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK;
    if (write(ready[1], held ? "y" : "n", 1) != 1) _exit(2);
    std::this_thread::sleep_for(kHeld);
    sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
    sqlite3_close(other);
    _exit(0);
  }
  char held = 'n';
  ASSERT_EQ(read(ready[0], &held, 1), 1);
  ASSERT_EQ(held, 'y');
  auto store = compiler::open_sqlite_store(folder_, 1 << 20);
  store->put("a", {"table", "object", "text"});
  EXPECT_EQ(store->problem(), "");
  EXPECT_TRUE(store->find("a").has_value());
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

/// Who came while another held the file writes once it is free.
TEST_F(CacheTest, WritesOnceTheFileIsFree) {
  auto first = compiler::open_sqlite_store(folder_, 1 << 20);
  first->put("a", {"table", "object", "text"});
  const std::string file = first->path().string();
  first.reset();
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  auto second = compiler::open_sqlite_store(folder_, 1 << 20);
  EXPECT_NE(second->problem(), "");
  EXPECT_TRUE(second->find("a").has_value());
  ASSERT_EQ(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  second->put("b", {"table", "object", "text"});
  EXPECT_EQ(second->problem(), "");
  EXPECT_TRUE(second->find("b").has_value());
}

TEST_F(CacheTest, SaysWhyItCannotBeWritten) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "file") << "in the way";
  EXPECT_NE(compiler::open_sqlite_store(folder_ / "file", 1 << 20)->problem(), "");
  EXPECT_NE(compiler::open_sqlite_store("/proc/nowhere", 1 << 20)->problem(), "");
  EXPECT_EQ(compiler::open_sqlite_store(folder_ / "new", 1 << 20)->problem(), "");
}

TEST_F(CacheTest, KeepsBytesOfAnyValue) {
  auto store = compiler::open_sqlite_store(folder_, 1 << 20);
  const compiler::StoredKernel kernel{"", std::string("\0\xff\x01", 3), "d\n\"'"};
  store->put("key", kernel);
  EXPECT_EQ(store->find("key"), kernel);
  EXPECT_FALSE(store->find("other").has_value());
  EXPECT_TRUE(store->verify().empty());
}

TEST_F(CacheTest, IsBoundedInSize) {
  auto store = compiler::open_sqlite_store(folder_, 1000);
  for (int i = 0; i < 20; ++i)
    store->put("key" + std::to_string(i), {"", std::string(100, 'x'), ""});
  std::int64_t bytes = 0;
  for (const compiler::StoreEntry& entry : store->list())
    bytes += entry.bytes;
  EXPECT_LE(bytes, 1000);
  EXPECT_GT(bytes, 500);
}

TEST_F(CacheTest, SetsADamagedFileAside) {
  std::filesystem::path file;
  {
    auto store = compiler::open_sqlite_store(folder_, 1 << 20);
    store->put("a", {"t", "o", "d"});
    file = store->path();
  }
  std::ofstream(file) << "no database";
  auto store = compiler::open_sqlite_store(folder_, 1 << 20);
  EXPECT_FALSE(store->find("a").has_value());
  store->put("a", {"t", "o", "d"});
  EXPECT_TRUE(store->find("a").has_value());
  EXPECT_TRUE(std::filesystem::exists(file.string() + ".damaged-0"));
}

/// Two connections find the same damage; the second must not set aside what the first made.
TEST_F(CacheTest, SetsADamagedFileAsideOnce) {
  std::filesystem::path file;
  {
    auto store = compiler::open_sqlite_store(folder_, 1 << 24);
    for (int i = 0; i < 50; ++i)
      store->put("key" + std::to_string(i), {"t", std::string(5000, 'o'), "d"});
    file = store->path();
  }
  auto first = compiler::open_sqlite_store(folder_, 1 << 24);
  auto second = compiler::open_sqlite_store(folder_, 1 << 24);
  EXPECT_EQ(first->problem() + second->problem(), "");
  {
    // Below an intact first page, and below what the connections have read.
    std::fstream pages(file, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<std::streamoff>(std::filesystem::file_size(file));
    pages.seekp(4096);
    pages << std::string(static_cast<std::size_t>(size - 4096), '\x5a');
  }
  EXPECT_FALSE(first->find("key7").has_value());
  EXPECT_FALSE(second->find("key7").has_value());
  first->put("a", {"t", "o", "d"});
  second->put("b", {"t", "o", "d"});
  auto later = compiler::open_sqlite_store(folder_, 1 << 24);
  EXPECT_TRUE(later->find("a").has_value());
  EXPECT_TRUE(later->find("b").has_value());
  EXPECT_TRUE(std::filesystem::exists(file.string() + ".damaged-0"));
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".damaged-1"));
}

TEST_F(CacheTest, FindsFilesOfAnyNameWithoutWriting) {
  const std::filesystem::path odd = folder_ / "a?b#c%20d e\xc3\xa9";
  compiler::open_sqlite_store(odd, 1 << 20)->put("a", {"t", "o", "d"});
  sqlite3* database = nullptr;
  const std::string uri = compiler::immutable_uri(odd / "kernels-v1.sqlite");
  ASSERT_EQ(
      sqlite3_open_v2(uri.c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr),
      SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, "SELECT key FROM kernels", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
}

TEST_F(CacheTest, FailedCompilationsAreNotKept) {
  auto cache = open_cache(folder_);
  CompileContext context;
  context.cache = cache;
  for (int i = 0; i < 2; ++i) {
    auto executor =
        compile("def f(float(N) x) -> (y) { y(i) = x(i+1) where i in 0:N }", "f",
                {{{DType::Float32, {4}, {}, 4}}, {}, {}, {}}, {}, std::nullopt, context);
    ASSERT_FALSE(executor.has_value());
    EXPECT_EQ(executor.error().kind, Failure::Kind::Program);
  }
}

}  // namespace
}  // namespace tc
