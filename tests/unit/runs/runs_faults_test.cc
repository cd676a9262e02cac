// What becomes of a run when the disk fails under it, at every single write of its life.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

// One life: submitted, run, ended; a second one waits behind it. What was acknowledged is noted.
struct Lived {
  std::string first;
  std::string second;
  bool first_ended = false;
};

// Goes as far as the faults let it. `answered` says how far the outside was told.
class FaultyLife : public RunsFixture {
 public:
  Lived Live() {
    Lived life;
    Result<RunRow> first = Submit(Command());
    if (!first.ok()) return life;
    life.first = first->id;
    Result<RunRow> second = Submit(Command());
    if (second.ok()) life.second = second->id;
    const std::optional<Runs::View> now = runs_->FindOpen(life.first);
    Seen(now ? *now : Runs::View{Stored(life.first), {}});
    if (now) runs_->Watch(life.first, [&](const Runs::View& view) { Seen(view); });
    bool played = Until([&] { return seen_end_ || launcher_->count() > 0; });
    EXPECT_TRUE(played);
    if (!seen_end_ && launcher_->count() > 0) {
      launcher_->at(0).Prepared();
      EXPECT_TRUE(Until([&] { return seen_end_ || launcher_->at(0).go_calls > 0 || launcher_->at(0).destroyed; }));
      if (launcher_->at(0).go_calls > 0) {
        launcher_->at(0).Started();
        launcher_->at(0).Ended(ExitCode(0));
      }
    }
    EXPECT_TRUE(Until([&] { return seen_end_; }));
    life.first_ended = last_.state == RunState::kDone;
    return life;
  }

  void Seen(const Runs::View& view) {
    last_ = view.row;
    if (IsTerminal(view.row.state)) seen_end_ = true;
  }

  RunRow last_;
  bool seen_end_ = false;
};

size_t CountLaunchesOf(FakeLauncher& launcher, const std::string& id) {
  size_t count = 0;
  for (size_t i = 0; i < launcher.count(); ++i) count += launcher.at(i).marker == id ? 1 : 0;
  return count;
}

int64_t OpsOfALife() {
  FaultyLife run;
  EXPECT_TRUE(run.Open().ok());
  run.disk_.plan.FailAt(INT64_MAX, Fault::kNoSpace);
  EXPECT_TRUE(run.Live().first_ended);
  return run.disk_.plan.ops();
}

TEST(RunsFaults, AFullDiskFailsTheRunAndNothingElse) {
  const int64_t ops = OpsOfALife();
  ASSERT_GT(ops, 10);
  int refused = 0;
  int failed = 0;
  for (int64_t at = 1; at <= ops; ++at) {
    FaultyLife run;
    ASSERT_TRUE(run.Open().ok());
    run.disk_.plan.FailAt(at, Fault::kNoSpace, /*lasting=*/true);
    Lived life = run.Live();
    const size_t launches = life.second.empty() ? 0 : CountLaunchesOf(*run.launcher_, life.first);
    run.disk_.plan.Heal();
    if (life.first.empty()) {
      ++refused;
    } else if (!life.first_ended) {
      ++failed;
      ASSERT_TRUE(run.last_.error) << "at " << at;
      EXPECT_EQ(run.last_.error->code, "storage_full") << "at " << at;
    }
    // With space again its end is written down, and the daemon goes on as if nothing had been.
    if (!life.first.empty()) {
      EXPECT_TRUE(run.Until([&] {
        run.Pass(60'000);
        return !run.runs_->FindOpen(life.first);
      })) << "at "
          << at;
      EXPECT_TRUE(IsTerminal(run.Stored(life.first).state));
    }
    if (!life.second.empty()) {
      // It ran into the full disk as well, or it gets its turn.
      EXPECT_TRUE(run.Until([&] {
        run.Pass(60'000);  // what could not be stored is tried again
        return run.launcher_->count() > launches || !run.runs_->FindOpen(life.second).has_value();
      })) << "at "
          << at;
    }
    run.Close();
    EXPECT_TRUE(run.Open().ok()) << "at " << at;
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(failed, 0);
}

// A start on a full disk, after a crash with a run in flight: it serves, shows the run as ended, takes in what is
// queued and writes the end down once it can.
TEST(RunsFaults, AStartOnAFullDiskServes) {
  FaultyLife run;
  ASSERT_TRUE(run.Open().ok());
  std::string lost = run.SubmitOk();
  std::string queued = run.SubmitOk();
  ASSERT_TRUE(run.GoesOn(0));
  const std::string state = run.layout().state_folder;
  std::filesystem::copy(state, state + ".killed", std::filesystem::copy_options::recursive);
  run.Close();
  std::filesystem::remove_all(state);
  std::filesystem::rename(state + ".killed", state);
  run.disk_.plan.Forget();

  run.disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  Status opened = run.Open();
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  std::optional<Runs::View> view = run.runs_->FindOpen(lost);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->row.state, RunState::kFailed);
  EXPECT_EQ(view->row.error->code, "lost_daemon");
  EXPECT_FALSE(IsTerminal(run.Stored(lost).state));
  EXPECT_TRUE(run.runs_->FindOpen(queued));
  std::optional<Status> deleted;
  run.runs_->Delete(lost, {1000}, [&](Status status) { deleted = status; });
  ASSERT_TRUE(run.Until([&] { return deleted.has_value(); }));
  EXPECT_EQ(deleted->code(), ErrorCode::kStorageFull);
  EXPECT_NE(deleted->ToString().find("not yet stored"), std::string::npos);

  run.disk_.plan.Heal();
  EXPECT_TRUE(run.Until([&] {
    run.Pass(60'000);
    return !run.runs_->FindOpen(lost);
  }));
  EXPECT_EQ(run.Stored(lost).error->code, "lost_daemon");
}

TEST(RunsFaults, ADeleteOnAFullDiskUsesTheReserve) {
  FaultyLife run;
  ASSERT_TRUE(run.Open().ok());
  std::string id = run.SubmitOk();
  ASSERT_TRUE(run.GoesOn(0));
  run.launcher_->at(0).Ended(RunsFixture::ExitCode(0));
  ASSERT_TRUE(run.HasEnded(id));
  ASSERT_TRUE(run.catalog_->reserve().Fill().ok());
  auto remove = [&] {
    std::optional<Status> deleted;
    run.runs_->Delete(id, {1000}, [&](Status status) { deleted = status; });
    EXPECT_TRUE(run.Until([&] { return deleted.has_value(); }));
    return deleted.value_or(OkStatus());
  };
  // Full for good: the reserve is given, which does not help here.
  run.disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  EXPECT_EQ(remove().code(), ErrorCode::kStorageFull);
  run.disk_.plan.Heal();
  // Full until the reserve is given: the first commit fails, the next one finds space.
  ASSERT_TRUE(run.catalog_->reserve().Fill().ok());
  run.disk_.plan.FailAt(1, Fault::kNoSpace);
  EXPECT_TRUE(remove().ok());
  EXPECT_TRUE(run.disk_.plan.has_failed());
  EXPECT_TRUE(run.catalog_->reserve().Release());  // it is there again
}

// One write that is refused: the reserve is given, and the end stored at once.
TEST(RunsFaults, AnEndOnAFullDiskUsesTheReserve) {
  const int64_t ops = OpsOfALife();
  int given = 0;
  for (int64_t at = 1; at <= ops; ++at) {
    FaultyLife run;
    ASSERT_TRUE(run.Open().ok());
    ASSERT_TRUE(run.catalog_->reserve().is_held());
    run.disk_.plan.FailAt(at, Fault::kNoSpace);
    const Lived life = run.Live();
    if (life.first.empty()) continue;
    EXPECT_TRUE(run.Until([&] { return !run.runs_->FindOpen(life.first); })) << "at " << at;
    EXPECT_TRUE(IsTerminal(run.Stored(life.first).state)) << "at " << at;
    given += run.catalog_->reserve().is_held() ? 0 : 1;
  }
  EXPECT_GT(given, 0);
}

TEST(RunsFaults, ARunWhoseEndCouldNotBeStoredIsDeletedAsSoonAsThereIsSpace) {
  FaultyLife run;
  ASSERT_TRUE(run.Open().ok());
  const std::string id = run.SubmitOk();
  ASSERT_TRUE(run.GoesOn(0));
  run.disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  run.launcher_->at(0).Ended(RunsFixture::ExitCode(0));
  ASSERT_TRUE(run.Until([&] { return IsTerminal(run.runs_->FindOpen(id)->row.state); }));
  run.disk_.plan.Heal();
  std::optional<Status> deleted;
  run.runs_->Delete(id, {1000}, [&](Status status) { deleted = status; });
  ASSERT_TRUE(run.Until([&] { return deleted.has_value(); }));
  EXPECT_TRUE(deleted->ok()) << deleted->ToString();
  EXPECT_FALSE(run.runs_->FindOpen(id));
  EXPECT_FALSE(std::filesystem::exists(run.layout().RunFolder(id)));
}

TEST(RunsFaults, APowerCutLosesNothingThatWasAnswered) {
  const int64_t ops = OpsOfALife();
  for (FaultPlan::Survives survives :
       {FaultPlan::Survives::kNothing, FaultPlan::Survives::kEverything, FaultPlan::Survives::kSome}) {
    for (int64_t at = 1; at <= ops; ++at) {
      FaultyLife run;
      ASSERT_TRUE(run.Open().ok());
      run.disk_.plan.FailAt(at, Fault::kPowerCut);
      Lived life = run.Live();
      run.Close();
      run.disk_.plan.RestoreSynced(survives, static_cast<uint64_t>(at));
      Status opened = run.Open();
      ASSERT_TRUE(opened.ok()) << "at " << at << ": " << opened.ToString();
      if (!life.first.empty()) {
        RunRow row = run.Stored(life.first);
        if (life.first_ended) {
          EXPECT_EQ(row.state, RunState::kDone) << "at " << at;
        } else if (IsTerminal(row.state) && row.state != RunState::kDone) {
          EXPECT_EQ(row.error->code, "lost_daemon") << "at " << at;
        }
      }
      if (!life.second.empty()) {
        RunRow row = run.Stored(life.second);
        EXPECT_TRUE(!IsTerminal(row.state) || row.error->code == "lost_daemon") << "at " << at;
        if (row.state == RunState::kQueued) {
          EXPECT_TRUE(run.Until([&] { return run.launcher_->count() > 0; }));
        }
      }
      EXPECT_TRUE(run.catalog_->QuickCheck({}).ok()) << "at " << at;
    }
  }
}

}  // namespace
}  // namespace kprof
