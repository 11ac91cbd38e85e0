// SPDX-License-Identifier: Apache-2.0
//
// Runs with workers that are shell scripts: what the run makes of what becomes of them.
#include "tc/tuner/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "example_space.h"

namespace tc::tuner {
namespace {

class SessionTest : public ::testing::Test {
protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("tc-session-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    settings_.seconds = 0;
    settings_.trials = 8;
    settings_.search = "random";
    settings_.rounds = 3;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// A worker that answers every job, after what the test adds: $id, $job (its text), $folder.
  Result<TuneReport, Failure> run(const std::string& script) {
    const std::filesystem::path file = folder_ / "worker";
    std::ofstream(file) << "#!/bin/sh\nfolder='" << folder_.string() << R"('
read setup
while read -r job; do
  id=$(echo "$job" | sed 's/.*"id":\([0-9]*\).*/\1/')
  outcome=measured
  )" << script << R"(
  printf '{"id":%d,"outcome":"%s","reason":"","detail":"","median_us":%d.5,"samples":3,' $id $outcome $((id + 10))
  printf '"verification":"by a script","code":%d}\n' $id
done
)";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    WorkerSetup setup;
    setup.folder = folder_.string();
    setup.target = facts_.target;
    Crew crew = make_crew({file, {}, {}}, setup, 1, {0});
    const auto strategy = random_search(space_, {*space_.genome({})}, 1);
    Identity identity;
    identity.program = "p";
    const Assignment assignment{settings_, space_, *strategy, crew, *records_,
                                identity,  {},     1,         false};
    Session session(assignment);
    if (auto failure = session.make_reference()) return *failure;
    session.search();
    session.compare_finalists();
    return session.report();
  }

  /// True the first `times` times, for a script.
  std::string first(const std::string& name, int times) const {
    return "{ echo x >> $folder/" + name + "; test $(wc -l < $folder/" + name + ") -le " +
           std::to_string(times) + "; }";
  }

  const Facts facts_ = facts_of(kMatmul, {{"M", 130}, {"N", 70}, {"K", 300}});
  const Space space_{facts_, {}, {}, {}};
  const std::unique_ptr<RecordStore> records_ = open_memory_records();
  TuneSettings settings_;
  std::filesystem::path folder_;
};

std::map<std::string, int> outcomes(const TuneReport& report) {
  std::map<std::string, int> counts;
  for (const TuneTrial& trial : report.trials)
    ++counts[trial.outcome];
  return counts;
}

TEST_F(SessionTest, EveryCandidateIsMeasured) {
  const auto report = run("");
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(outcomes(*report), (std::map<std::string, int>{{"measured", 8}}));
  EXPECT_EQ(records_->list().size(), 8u);
  EXPECT_EQ(report->note, "");
}

TEST_F(SessionTest, TheBestOfAnEarlierRunIsAmongTheFinalists) {
  Record known;
  known.identity.program = "p";
  known.outcome = Outcome::Measured;
  known.options.tile = {3, 5, 7};  // no draw comes to that
  known.options.tasks = 1;
  known.median_us = 1;
  known.code = 77;
  ASSERT_TRUE(records_->put(known));
  Record other = known;
  other.options.tile = {5, 5, 7};
  other.median_us = 2;
  ASSERT_TRUE(records_->put(other));
  // By the script a job's time is its number plus 10.5, and those of the comparison have none.
  const auto finalists = [](const TuneReport& report) {
    std::vector<std::vector<std::int64_t>> tiles;
    for (const TuneTrial& trial : report.trials)
      if (trial.finalist && trial.resumed) tiles.push_back(trial.options.tile);
    return tiles;
  };
  const auto report = run("");
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(finalists(*report), (std::vector<std::vector<std::int64_t>>{{3, 5, 7}}));
  EXPECT_EQ(report->progress.trials, 8);
  EXPECT_EQ(report->progress.resumed, 1);
  EXPECT_EQ(report->best_us, 10.5) << "measured anew, not what the record says";
  // A search that may not propose it does not end with it.
  settings_.fixed = {"tasks"};
  const auto fixed = run("");
  ASSERT_TRUE(fixed.has_value()) << fixed.error().message;
  for (const TuneTrial& trial : fixed->trials)
    EXPECT_NE(trial.options.tile, known.options.tile);
}

TEST_F(SessionTest, TheReferenceIsTriedAgainWhereItsProcessEnds) {
  const std::string dies =
      "case \"$job\" in *reference*) " + first("tries", 2) + " && kill -9 $$;; esac";
  const auto report = run(dies);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->verification, "by a script");
}

TEST_F(SessionTest, AReferenceThatEndsEveryProcessIsGivenUp) {
  const auto report = run("case \"$job\" in *reference*) kill -9 $$;; esac");
  ASSERT_FALSE(report.has_value());
  EXPECT_NE(report.error().message.find("signal 9"), std::string::npos) << report.error().message;
}

TEST_F(SessionTest, FinalistsGoOnAfterAProcessEnds) {
  const auto report =
      run("case \"$job\" in *'\"time\"'*) " + first("times", 1) + " && kill -9 $$;; esac");
  ASSERT_TRUE(report.has_value()) << report.error().message;
  int finalists = 0;
  for (const TuneTrial& trial : report->trials)
    finalists += trial.finalist;
  EXPECT_GE(finalists, 3);
}

TEST_F(SessionTest, WithoutWorkersTheSearchEndsAndCandidatesAreNotToBlame) {
  // The program is gone once it has measured three.
  const auto report = run("case \"$job\" in *'\"measure\"'*) if ! " + first("left", 3) +
                          "; then rm -f $folder/worker; kill -9 $$; fi;; esac");
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_NE(report->note.find("ended early"), std::string::npos) << report->note;
  const auto counts = outcomes(*report);
  EXPECT_EQ(counts.at("measured"), 3);
  EXPECT_EQ(counts.at("crashed"), 1) << "the one that was running";
  EXPECT_EQ(records_->list().size(), 3u) << "it may have been anybody's fault";
}

TEST_F(SessionTest, NoWorkerAtAllIsAnError) {
  std::filesystem::create_directories(folder_ / "nowhere");
  settings_.trials = 2;
  const auto report = run("case \"$job\" in *'\"compile\"'*) rm -f $folder/worker; exit 3;; esac");
  ASSERT_FALSE(report.has_value());
  EXPECT_TRUE(records_->list().empty());
}

}  // namespace
}  // namespace tc::tuner
