// The catalog's promise when the disk fails, for every operation of a catalog's life that could: it opens again and is
// whole, what was acknowledged is there, what was refused is not.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "storage/catalog/catalog.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/faulty_disk.h"
#include "tests/fakes/storage/sample_runs.h"

namespace kprof {
namespace {

using Runs = std::map<std::string, RunRow>;

struct Step {
  Writer::Job job;
  std::function<void(Runs&)> effect;  // what `job` makes of a catalog that holds these runs
};

Step Put(const RunRow& run, bool is_new) {
  return {[=](Db& db) { return is_new ? InsertRun(db, run) : UpdateRun(db, run); },
          [=](Runs& runs) {
            if (is_new || runs.contains(run.id)) runs[run.id] = run;
          }};
}

// The life of two runs, the second long enough for pages to be split and overflow.
std::vector<Step> Life() {
  RunRow a = SampleRun("a"), b = SampleRun("b");
  b.argv.assign(30, std::string(500, 'x'));
  std::vector<Step> steps = {Put(a, true), Put(b, true)};
  a.state = RunState::kPreparing;
  steps.push_back(Put(a, false));
  a.state = RunState::kRunning;
  a.started_ns = 5;
  steps.push_back(Put(a, false));
  a.state = RunState::kDone;
  a.ended_ns = 6;
  a.trust = {{"cold_start", "first launch"}};
  for (int i = 0; i < 50; ++i) a.metrics.push_back({"duration", i * 0.5, "ns", "kernel", i});
  steps.push_back(Put(a, false));
  ArtifactRow report{"report", 1234, "ff"};
  steps.push_back({[=](Db& db) { return AddArtifact(db, "a", report); },
                   [=](Runs& runs) {
                     if (runs.contains("a")) runs["a"].artifacts = {report};
                   }});
  steps.push_back({[=](Db& db) { return DeleteRun(db, "b"); }, [=](Runs& runs) { runs.erase("b"); }});
  return steps;
}

class CatalogFaultsTest : public testing::Test {
 protected:
  // What may be in the catalog after a life: what was acknowledged and, if one was under way when the power failed or
  // failed in a way that leaves it open, the same with that.
  struct Outcome {
    Runs acknowledged;
    Runs with_doubtful;
  };

  // Two lives of the catalog, each through a clean end, as far as the faults allow. Counted and judged all along.
  Outcome Live() {
    Outcome outcome;
    bool in_doubt = false;
    std::vector<Step> steps = Life();
    for (size_t begin : {size_t{0}, size_t{4}}) {
      Result<std::unique_ptr<Catalog>> catalog = Catalog::Open(options_, disk_.files);
      if (!catalog.ok()) continue;
      for (size_t i = begin; i < (begin == 0 ? 4 : steps.size()); ++i) {
        bool had_failed = disk_.plan.has_failed();
        if ((*catalog)->writer().SubmitAndWait(steps[i].job).ok()) {
          steps[i].effect(outcome.acknowledged);
          steps[i].effect(outcome.with_doubtful);
        } else if (!had_failed && !in_doubt) {
          in_doubt = true;
          steps[i].effect(outcome.with_doubtful);
        }
      }
    }
    return outcome;
  }

  Runs ReadBack() {
    Result<std::unique_ptr<Catalog>> catalog = Catalog::Open(options_, disk_.files);
    EXPECT_TRUE(catalog.ok()) << catalog.status().ToString();
    if (!catalog.ok()) return {};
    Status checked = (*catalog)->QuickCheck({});
    EXPECT_TRUE(checked.ok()) << checked.ToString();
    ReaderPool::Lease reader = *(*catalog)->readers().Borrow();
    Runs runs;
    for (const RunRow& run : *ListRuns(*reader, {})) runs[run.id] = run;
    EXPECT_EQ(ReadCounts(*reader)->runs, static_cast<int64_t>(runs.size()));
    return runs;
  }

  void Reset() {
    std::filesystem::remove_all(options_.layout.state_folder);
    disk_.plan.Forget();
  }

  int64_t CountOps() {
    disk_.plan.Heal();
    Outcome outcome = Live();
    int64_t ops = disk_.plan.ops();
    EXPECT_EQ(ReadBack(), outcome.acknowledged);
    EXPECT_EQ(outcome.acknowledged.size(), 1u);
    Reset();
    return ops;
  }

  TemporaryFolder folder_;
  FaultyDisk disk_;
  // No checkpoint but at the end: operations come in the same order each time.
  Catalog::Options options_{
      .layout = {folder_ / "state"}, .vfs = disk_.vfs.name(), .writer = {.checkpoint_idle_ms = 3'600'000}};
};

TEST_F(CatalogFaultsTest, SurvivesAFailureOfAnyOperation) {
  int64_t ops = CountOps();
  ASSERT_GT(ops, 50);
  for (Fault fault : {Fault::kNoSpace, Fault::kInputOutput, Fault::kTear}) {
    for (int64_t at = 1; at <= ops; ++at) {
      SCOPED_TRACE(testing::Message() << "fault " << static_cast<int>(fault) << " at " << at << " of " << ops);
      disk_.plan.FailAt(at, fault);
      Outcome outcome = Live();
      disk_.plan.Heal();
      ASSERT_EQ(ReadBack(), outcome.acknowledged);
      Reset();
    }
  }
}

TEST_F(CatalogFaultsTest, SurvivesADiskThatFailsFromAnyOperationOn) {
  int64_t ops = CountOps();
  for (Fault fault : {Fault::kNoSpace, Fault::kInputOutput}) {
    for (int64_t at = 1; at <= ops; ++at) {
      SCOPED_TRACE(testing::Message() << "fault " << static_cast<int>(fault) << " from " << at << " of " << ops);
      disk_.plan.FailAt(at, fault, /*lasting=*/true);
      Outcome outcome = Live();
      // The doubt that writer.h owns up to: written, not synced, and the disk lets nobody undo it.
      bool may_be_there = disk_.plan.failed_op() == FaultPlan::Op::kSync;
      disk_.plan.Heal();
      Runs runs = ReadBack();
      if (may_be_there && runs != outcome.acknowledged) {
        ASSERT_EQ(runs, outcome.with_doubtful);
      } else {
        ASSERT_EQ(runs, outcome.acknowledged);
      }
      Reset();
    }
  }
}

TEST_F(CatalogFaultsTest, SurvivesALossOfPowerAtAnyOperation) {
  int64_t ops = CountOps();
  using Survives = FaultPlan::Survives;
  for (Survives survives : {Survives::kNothing, Survives::kEverything, Survives::kSome}) {
    for (int64_t at = 1; at <= ops; ++at) {
      SCOPED_TRACE(testing::Message() << "survives " << static_cast<int>(survives) << ", cut at " << at << " of "
                                      << ops);
      disk_.plan.FailAt(at, Fault::kPowerCut);
      Outcome outcome = Live();
      disk_.plan.RestoreSynced(survives, static_cast<uint64_t>(at));
      Runs runs = ReadBack();
      if (survives != Survives::kNothing && runs != outcome.acknowledged) {
        ASSERT_EQ(runs, outcome.with_doubtful);
      } else {
        ASSERT_EQ(runs, outcome.acknowledged);
      }
      Reset();
    }
  }
}

}  // namespace
}  // namespace kprof
