#include "daemon/clocks/pause/profiler_pause.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "daemon/clocks/keeper/note_store.h"
#include "daemon/clocks/keeper/pause_keeper.h"
#include "daemon/clocks/release_clocks.h"
#include "tests/fakes/base/real_loop.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/stand_ins/dcgm/state.h"

namespace kprof {
namespace {

using dcgm_stand_in::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kLongNs = 600 * kNanosPerSecond;
constexpr const char* kStandIn = KPROF_BIN_DIR "/libdcgm_stand_in.so";

// A keeper of the stand-in's host engine; by its library, or by its tool.
class ProfilerPauseTest : public testing::Test {
 protected:
  ProfilerPauseTest() { ::setenv(dcgm_stand_in::kStateVariable, state_path_.c_str(), 1); }
  ~ProfilerPauseTest() override { ::unsetenv(dcgm_stand_in::kStateVariable); }

  ProfilerPause::Settings NewSettings() {
    ProfilerPause::Settings settings;
    settings.program = KPROF_BIN_DIR "/kprof-pause";
    settings.library = library_;
    settings.tool_path = tool_path_;
    settings.folder = folder_;
    settings.boot_id = "this-boot";
    settings.call_limit_ns = call_limit_ns_;
    settings.own = &own_;
    return settings;
  }
  std::unique_ptr<ProfilerPause> NewPause() {
    auto pause = std::make_unique<ProfilerPause>(real_.loop, NewSettings());
    pause->on_lost = [this](const std::string& holder, const Status& why) {
      lost_.push_back(holder);
      why_lost_ = why;
    };
    return pause;
  }
  ProfilerPause::Outcome Pause(ProfilerPause& pause, const std::string& holder = "run 1", int64_t limit_ns = kLongNs) {
    std::optional<ProfilerPause::Outcome> outcome;
    real_.loop.Post(
        [&] { pause.Pause(holder, limit_ns, [&](ProfilerPause::Outcome told) { outcome = std::move(told); }); });
    EXPECT_TRUE(real_.Until([&] { return outcome.has_value(); })) << "no answer came";
    return outcome.value_or(ProfilerPause::Outcome());
  }
  void Resume(ProfilerPause& pause, const std::string& holder = "run 1") {
    bool resumed = false;
    real_.loop.Post([&] { pause.Resume(holder, [&] { resumed = true; }); });
    EXPECT_TRUE(real_.Until([&] { return resumed; })) << "no answer came";
  }
  template <typename T>
  void Set(const std::string& key, T value) {
    State(state_path_).Set(key, value);
  }
  long Number(const std::string& key) { return State(state_path_).Number(key); }
  bool IsPaused() { return Number("paused") != 0; }
  bool IsNoted() { return (*NoteStore(*files_, folder_).Read(kPauseHoldName)).has_value(); }
  bool BecomesAsBefore() {
    return real_.Until([&] { return !IsPaused() && !IsNoted(); });
  }
  // The youngest child of this process.
  pid_t Keeper() {
    pid_t keeper = 0;
    std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
    for (pid_t pid = 0; children >> pid;) keeper = pid;
    return keeper;
  }
  // As one leaves it that is killed with its kprofd.
  void LeavePaused() {
    auto pause = NewPause();
    ASSERT_TRUE(Pause(*pause).paused);
    const pid_t keeper = Keeper();
    ::kill(keeper, SIGSTOP);  // so that it does not resume by itself
    pause.reset();
    ::kill(keeper, SIGKILL);
    real_.Pass(std::chrono::milliseconds(50));
    ASSERT_TRUE(IsPaused() && IsNoted());
  }

  TemporaryFolder temporary_;
  const std::string state_path_ = temporary_.path() + "/dcgm.state";
  std::string folder_ = temporary_.path() + "/profilers";
  std::string library_ = kStandIn;
  std::string tool_path_;
  int64_t call_limit_ns_ = 5 * kNanosPerSecond;
  std::unique_ptr<Files> files_ = MakePosixFiles();
  OwnChildren own_;
  RealLoop real_;
  std::vector<std::string> lost_;
  Status why_lost_;
};

TEST_F(ProfilerPauseTest, PausesAndResumes) {
  auto pause = NewPause();
  const ProfilerPause::Outcome outcome = Pause(*pause);
  EXPECT_TRUE(outcome.paused && !outcome.by_others && outcome.why_not.ok());
  EXPECT_TRUE(IsPaused() && IsNoted());
  Resume(*pause);
  EXPECT_FALSE(IsPaused() || IsNoted());
  EXPECT_TRUE(pause->trouble().ok());
}

TEST_F(ProfilerPauseTest, WhatSeveralWantIsResumedAfterTheLast) {
  auto pause = NewPause();
  EXPECT_TRUE(Pause(*pause, "run 1").paused);
  EXPECT_TRUE(Pause(*pause, "run 2").paused);
  Resume(*pause, "run 1");
  EXPECT_TRUE(IsPaused());
  Resume(*pause, "run 2");
  EXPECT_FALSE(IsPaused() || IsNoted());
}

TEST_F(ProfilerPauseTest, WhoComesAgainIsServedAgain) {
  auto pause = NewPause();
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(Pause(*pause).paused);
    Resume(*pause);
    EXPECT_FALSE(IsPaused());
  }
  EXPECT_EQ(Number("resumes"), 3);
}

TEST_F(ProfilerPauseTest, WhatSomebodyElsePausedStaysPaused) {
  Set("paused", 1);
  auto pause = NewPause();
  const ProfilerPause::Outcome outcome = Pause(*pause);
  EXPECT_TRUE(outcome.paused && outcome.by_others);
  Resume(*pause);
  EXPECT_TRUE(IsPaused());
  EXPECT_FALSE(IsNoted());
  EXPECT_EQ(Number("resumes"), 0);
}

// DCGM tells by its fields alone whether it is paused.
TEST_F(ProfilerPauseTest, WhereNobodyWatchesItIsResumed) {
  Set("watched", 0);
  auto pause = NewPause();
  EXPECT_TRUE(Pause(*pause).paused);
  Resume(*pause);
  EXPECT_FALSE(IsPaused());
}

TEST_F(ProfilerPauseTest, ANodeWithoutDcgmIsANormalNode) {
  library_.clear();
  tool_path_ = temporary_.path();
  auto pause = NewPause();
  const ProfilerPause::Outcome outcome = Pause(*pause);
  EXPECT_FALSE(outcome.paused);
  EXPECT_TRUE(outcome.why_not.ok()) << outcome.why_not.ToString();
  EXPECT_FALSE(WhyNotPaused(outcome, {DeviceFacts{DeviceKind::kNvidia}}));
  EXPECT_FALSE(IsNoted());
}

TEST_F(ProfilerPauseTest, OneWithoutAHostEngineTheSame) {
  Set("engine", 0);
  auto pause = NewPause();
  const ProfilerPause::Outcome outcome = Pause(*pause);
  EXPECT_TRUE(!outcome.paused && outcome.why_not.ok()) << outcome.why_not.ToString();
  EXPECT_FALSE(IsNoted());
}

TEST_F(ProfilerPauseTest, WhatCannotBePausedIsToBlameBeforeHopper) {
  Set("profiles", 0);
  auto pause = NewPause();
  const ProfilerPause::Outcome outcome = Pause(*pause);
  EXPECT_FALSE(outcome.paused);
  EXPECT_EQ(outcome.why_not.code(), ErrorCode::kToolMissing);
  EXPECT_FALSE(IsNoted());
  DeviceFacts hopper{DeviceKind::kNvidia};
  hopper.nvidia.emplace().compute_capability = "9.0";
  DeviceFacts ampere{DeviceKind::kNvidia};
  ampere.nvidia.emplace().compute_capability = "8.6";
  EXPECT_FALSE(WhyNotPaused(outcome, {hopper}));
  ASSERT_TRUE(WhyNotPaused(outcome, {hopper, ampere}));
  EXPECT_EQ(WhyNotPaused(outcome, {ampere})->code, "profilers_not_paused");
}

TEST_F(ProfilerPauseTest, AFailureIsToldAndLeavesNothing) {
  Set("error_pause", -37);
  auto pause = NewPause();
  const ProfilerPause::Outcome outcome = Pause(*pause);
  EXPECT_FALSE(outcome.paused);
  EXPECT_THAT(outcome.why_not.why(), HasSubstr("unrecoverable error (-37)"));
  EXPECT_TRUE(BecomesAsBefore());
  Set("error_pause", 0);
  EXPECT_TRUE(Pause(*pause).paused);
}

TEST_F(ProfilerPauseTest, ALibraryThatIsNamedAndIsNoneIsTold) {
  library_ = temporary_.path() + "/nothing.so";
  auto pause = NewPause();
  EXPECT_EQ(Pause(*pause).why_not.code(), ErrorCode::kToolFailed);
}

TEST_F(ProfilerPauseTest, ThePauseHasALimit) {
  auto pause = NewPause();
  EXPECT_TRUE(Pause(*pause, "run 1", kNanosPerSecond / 2).paused);
  EXPECT_TRUE(BecomesAsBefore());
  EXPECT_THAT(lost_, ElementsAre("run 1"));
  EXPECT_EQ(why_lost_.code(), ErrorCode::kTimedOut);
}

// Of a kprofd that is stopped or hangs.
TEST_F(ProfilerPauseTest, TheLimitHoldsWithoutUs) {
  auto pause = NewPause();
  EXPECT_TRUE(Pause(*pause, "run 1", kNanosPerSecond / 10).paused);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (IsPaused() && std::chrono::steady_clock::now() < end) ::usleep(10'000);
  EXPECT_FALSE(IsPaused());
  Resume(*pause);
  EXPECT_FALSE(IsNoted());
}

TEST_F(ProfilerPauseTest, WhoDoesNotWaitForTheAnswerIsToldAllTheSame) {
  auto pause = NewPause();
  std::optional<ProfilerPause::Outcome> outcome;
  bool resumed = false;
  real_.loop.Post([&] {
    pause->Pause("run 1", kLongNs, [&](ProfilerPause::Outcome told) { outcome = std::move(told); });
    pause->Resume("run 1", [&] { resumed = true; });
  });
  ASSERT_TRUE(real_.Until([&] { return resumed && outcome; }));
  EXPECT_EQ(outcome->why_not.code(), ErrorCode::kCancelled);
  EXPECT_FALSE(IsPaused() || IsNoted());
}

TEST_F(ProfilerPauseTest, ResumesWhenItIsDestroyed) {
  auto pause = NewPause();
  ASSERT_TRUE(Pause(*pause).paused);
  pause.reset();
  EXPECT_TRUE(BecomesAsBefore());
}

TEST_F(ProfilerPauseTest, AKeeperThatIsKilledIsReplacedAndItIsPausedAgain) {
  auto pause = NewPause();
  ASSERT_TRUE(Pause(*pause).paused);
  const pid_t first = Keeper();
  ::kill(first, SIGKILL);
  ASSERT_TRUE(real_.Until([&] { return !lost_.empty() && pause->paused(); }));
  EXPECT_NE(Keeper(), first);
  EXPECT_TRUE(IsPaused());
  EXPECT_EQ(Number("resumes"), 1);  // what the first left
  Resume(*pause);
  EXPECT_FALSE(IsPaused() || IsNoted());
}

TEST_F(ProfilerPauseTest, ASignalAsksAKeeperToResume) {
  LeavePaused();
  auto pause = NewPause();
  ASSERT_TRUE(Pause(*pause).paused);
  real_.loop.Post([&] { pause->Resume("run 1", nullptr); });  // so that it does not pause again
  ::kill(Keeper(), SIGTERM);
  EXPECT_TRUE(BecomesAsBefore());
}

TEST_F(ProfilerPauseTest, WhatAnotherLeftIsResumed) {
  LeavePaused();
  auto next = NewPause();
  real_.loop.Post([&] { next->Begin(IsNoted()); });
  EXPECT_TRUE(BecomesAsBefore());
}

TEST_F(ProfilerPauseTest, WhatAnotherLeftIsResumedWithoutAKprofd) {
  LeavePaused();
  Result<std::optional<Status>> released = ReleaseHeldPause(NewSettings(), *files_, 10'000);
  ASSERT_TRUE(released.ok() && *released);
  EXPECT_TRUE((*released)->ok()) << (*released)->ToString();
  EXPECT_FALSE(IsPaused() || IsNoted());
  released = ReleaseHeldPause(NewSettings(), *files_, 10'000);
  EXPECT_TRUE(released.ok() && !*released);
}

// What another left paused for another stays so.
TEST_F(ProfilerPauseTest, WhatOthersPausedStaysSoAfterACrash) {
  Set("paused", 1);
  LeavePaused();
  EXPECT_TRUE(ReleaseHeldPause(NewSettings(), *files_, 10'000).ok());
  EXPECT_TRUE(IsPaused());
  EXPECT_FALSE(IsNoted());
}

TEST_F(ProfilerPauseTest, WithoutTheLibraryItStaysNotedAndSaysSo) {
  LeavePaused();
  library_ = temporary_.path() + "/nothing.so";
  Result<std::optional<Status>> released = ReleaseHeldPause(NewSettings(), *files_, 30'000);
  ASSERT_TRUE(released.ok() && *released);
  EXPECT_EQ((*released)->code(), ErrorCode::kToolFailed);
  EXPECT_TRUE(IsNoted());
}

// A pause does not outlive a reboot; what others have paused since is theirs.
TEST_F(ProfilerPauseTest, ANoteOfAnEarlierBootIsClosedNotReplayed) {
  PauseHold hold;
  hold.boot_id = "an-earlier-boot";
  hold.set = true;
  ASSERT_TRUE(NoteStore(*files_, folder_).Write(kPauseHoldName, PauseHoldText(hold)).ok());
  Set("paused", 1);
  EXPECT_TRUE(ReleaseHeldPause(NewSettings(), *files_, 10'000).ok());
  EXPECT_TRUE(IsPaused());
  EXPECT_FALSE(IsNoted());
}

TEST_F(ProfilerPauseTest, ADamagedNoteIsSetAsideAndItIsResumed) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ + "/dcgm.held") << "kprof pause held 1\n";
  Set("paused", 1);
  EXPECT_TRUE(ReleaseHeldPause(NewSettings(), *files_, 10'000).ok());
  EXPECT_FALSE(IsPaused());
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/dcgm.held.damaged"));
}

// What a host engine was told is gone with it.
TEST_F(ProfilerPauseTest, AHostEngineThatIsGoneHasNothingToResume) {
  auto pause = NewPause();
  ASSERT_TRUE(Pause(*pause).paused);
  Set("engine", 0);
  Set("paused", 0);
  Resume(*pause);
  EXPECT_FALSE(IsNoted());
  EXPECT_TRUE(pause->trouble().ok());
}

TEST_F(ProfilerPauseTest, WhatCannotBeResumedIsTriedAgain) {
  auto pause = NewPause();
  ASSERT_TRUE(Pause(*pause).paused);
  Set("error_times", 3);
  Set("error_resume", -3);
  Resume(*pause);
  EXPECT_TRUE(IsPaused() && IsNoted());
  EXPECT_FALSE(pause->trouble().ok());
  EXPECT_TRUE(BecomesAsBefore());
  EXPECT_TRUE(real_.Until([&] { return pause->trouble().ok(); }));
}

TEST_F(ProfilerPauseTest, OneThatHangsCostsItsLimit) {
  call_limit_ns_ = kNanosPerSecond / 2;
  for (const char* function : {"init", "connect", "pause"}) {
    SCOPED_TRACE(function);
    auto pause = NewPause();
    Set("hang", std::string(function));
    const ProfilerPause::Outcome outcome = Pause(*pause);
    EXPECT_FALSE(outcome.paused);
    EXPECT_EQ(outcome.why_not.code(), ErrorCode::kTimedOut) << outcome.why_not.ToString();
    EXPECT_TRUE(WhyNotPaused(outcome, {}));
    Set("hang", std::string());
    EXPECT_TRUE(BecomesAsBefore());
    ASSERT_TRUE(real_.Until([&] { return pause->trouble().ok(); }));
  }
}

TEST_F(ProfilerPauseTest, AResumeThatHangsIsDoneLater) {
  call_limit_ns_ = kNanosPerSecond / 2;
  auto pause = NewPause();
  ASSERT_TRUE(Pause(*pause).paused);
  Set("hang", std::string("resume"));
  Resume(*pause);
  EXPECT_EQ(pause->trouble().code(), ErrorCode::kTimedOut);
  Set("hang", std::string());
  EXPECT_TRUE(BecomesAsBefore());
}

TEST_F(ProfilerPauseTest, AFullDiskKeepsItAsItIs) {
  std::ofstream(temporary_.path() + "/profilers") << "a file where the folder should be";
  auto pause = NewPause();
  EXPECT_FALSE(Pause(*pause).why_not.ok());
  EXPECT_FALSE(IsPaused());
  EXPECT_EQ(Number("pauses"), 0);
}

TEST_F(ProfilerPauseTest, ReleasesAllBeforeTheEnd) {
  auto pause = NewPause();
  ASSERT_TRUE(Pause(*pause, "run 1").paused);
  ASSERT_TRUE(Pause(*pause, "run 2").paused);
  bool done = false;
  real_.loop.Post([&] { pause->ReleaseAll(kLongNs, [&] { done = true; }); });
  ASSERT_TRUE(real_.Until([&] { return done; }));
  EXPECT_FALSE(IsPaused() || IsNoted());
  EXPECT_THAT(lost_, IsEmpty());
}

// Wherever it is killed: before or after each call that changes something; by the library and by the tool.
TEST_F(ProfilerPauseTest, AKeeperKilledAtAnyStepLeavesNothing) {
  for (const bool by_tool : {false, true}) {
    library_ = by_tool ? "" : kStandIn;
    tool_path_ = by_tool ? KPROF_BIN_DIR "/dcgm_stand_in" : "";
    for (const bool by_others : {false, true}) {
      if (by_others && by_tool) continue;  // the tool does not tell
      for (int step = 1; step <= 4; ++step) {
        for (const char* moment : {"before", "after"}) {
          SCOPED_TRACE(std::string(by_tool ? "tool " : "library ") + std::to_string(step) + " " + moment);
          Set("paused", by_others ? 1 : 0);
          auto pause = NewPause();
          Set("kill_moment", std::string(moment));
          Set("kill_pids", std::string(by_tool ? "parent,self" : "self"));
          Set("kill_at", step);
          (void)Pause(*pause);
          Resume(*pause);
          EXPECT_TRUE(real_.Until([&] { return IsPaused() == by_others && !IsNoted(); }));
          Set("kill_at", 0);
          ASSERT_TRUE(real_.Until([&] { return pause->trouble().ok(); }));
        }
      }
    }
  }
}

class DcgmToolTest : public ProfilerPauseTest {
 protected:
  DcgmToolTest() {
    library_.clear();
    tool_path_ = KPROF_BIN_DIR "/dcgm_stand_in";
  }
};

TEST_F(DcgmToolTest, PausesAndResumes) {
  auto pause = NewPause();
  const ProfilerPause::Outcome outcome = Pause(*pause);
  EXPECT_TRUE(outcome.paused) << outcome.why_not.ToString();
  EXPECT_TRUE(IsPaused() && IsNoted());
  Resume(*pause);
  EXPECT_FALSE(IsPaused() || IsNoted());
}

TEST_F(DcgmToolTest, SaysWhatItSaid) {
  Set("error_pause", -37);
  auto pause = NewPause();
  EXPECT_THAT(Pause(*pause).why_not.why(), HasSubstr("unable to pause profiling metrics: The third-party"));
}

TEST_F(DcgmToolTest, KnowsWhatItsEndMeans) {
  Set("engine", 0);
  auto pause = NewPause();
  EXPECT_TRUE(Pause(*pause).why_not.ok());
  Set("engine", 1);
  Set("profiles", 0);
  EXPECT_EQ(Pause(*pause).why_not.code(), ErrorCode::kToolMissing);
}

}  // namespace
}  // namespace kprof
