#include "daemon/clocks/locks/clock_link.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "daemon/clocks/locks/clock_notes.h"
#include "tests/fakes/base/real_loop.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/devices/nvml_model.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Keepers of the stand-in's devices.
class ClockLinkTest : public testing::Test {
 protected:
  ClockLinkTest() {
    ::setenv("KPROF_NVML_STAND_IN", model_.path().c_str(), 1);
    model_.SetAll("permission all");
    before_ = model_.State(0);
  }
  ~ClockLinkTest() override { ::unsetenv("KPROF_NVML_STAND_IN"); }

  std::unique_ptr<ClockLink> NewLink(const std::string& boot_id = "this-boot") {
    ClockLink::Settings settings;
    settings.program = program_;
    settings.library = KPROF_BIN_DIR "/libnvml_stand_in.so";
    settings.folder = folder_;
    settings.boot_id = boot_id;
    settings.call_limit_ns = call_limit_ns_;
    settings.own = &own_;
    ClockLink::Events events;
    events.lost = [this](const Status& why) { lost_.push_back(why); };
    events.given_up = [this](const Status& why) { given_up_.push_back(why); };
    return std::make_unique<ClockLink>(real_.loop, std::move(settings), model_.Uuid(0), std::move(events));
  }
  Result<KeeperLocked> Lock(ClockLink& link, WantedClocks wanted) {
    std::optional<Result<KeeperLocked>> answer;
    real_.loop.Post([&] {
      link.Lock({"run 1", wanted, false}, [&](Result<KeeperLocked> locked) { answer = std::move(locked); });
    });
    if (!real_.Until([&] { return answer.has_value(); })) return Fail(ErrorCode::kTimedOut, "lock", "no answer came");
    return *std::move(answer);
  }
  Status Release(ClockLink& link) {
    std::optional<Status> answer;
    real_.loop.Post([&] { link.Release([&](Status released) { answer = std::move(released); }); });
    if (!real_.Until([&] { return answer.has_value(); })) return Fail(ErrorCode::kTimedOut, "release", "no answer");
    return *answer;
  }
  // What another has left.
  Status GiveBackLeft(ClockLink& link) {
    real_.loop.Post([&] { link.GiveBackLeft(); });
    return Release(link);
  }
  bool IsAsBefore() { return model_.State(0) == before_; }
  bool BecomesAsBefore() {
    return real_.Until([&] { return IsAsBefore() && Held().empty(); });
  }
  std::vector<std::string> Held() { return *ClockNotes(*files_, folder_).List(); }
  // The youngest child of this process.
  pid_t Keeper() {
    pid_t keeper = 0;
    std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
    for (pid_t pid = 0; children >> pid;) keeper = pid;
    return keeper;
  }

  NvmlModel model_{"h200"};
  NvmlState before_;
  TemporaryFolder temporary_;
  std::string folder_ = temporary_.path() + "/clocks";
  std::unique_ptr<Files> files_ = MakePosixFiles();
  int64_t call_limit_ns_ = 5 * kNanosPerSecond;
  OwnChildren own_;
  RealLoop real_;
  std::string program_ = KPROF_BIN_DIR "/kprof-clocks";
  std::vector<Status> lost_;
  std::vector<Status> given_up_;
};

TEST_F(ClockLinkTest, LocksAndGivesBackAsItWas) {
  auto link = NewLink();
  Result<KeeperLocked> locked = Lock(*link, {1500, 3201, true, 600'000});
  ASSERT_TRUE(locked.ok()) << locked.status().ToString();
  EXPECT_THAT(locked->notes, IsEmpty());
  const NvmlState held = model_.State(0);
  EXPECT_EQ(held.locked_min, 1500u);
  EXPECT_EQ(held.locked_max, 1500u);
  EXPECT_EQ(held.locked_mem_max, 3201u);
  EXPECT_TRUE(held.persistence);
  EXPECT_EQ(held.power_limit_mw, 600'000u);
  EXPECT_THAT(Held(), ElementsAre(model_.Uuid(0)));
  EXPECT_TRUE(Release(*link).ok());
  EXPECT_TRUE(IsAsBefore());
  EXPECT_THAT(Held(), IsEmpty());
}

TEST_F(ClockLinkTest, TheBaseIsForTheDeviceToKnow) {
  auto link = NewLink();
  ASSERT_TRUE(Lock(*link, {0, {}, true, {}}).ok());
  EXPECT_GT(model_.State(0).locked_max, 0u);
  EXPECT_LT(model_.State(0).locked_max, 1980u);
  ASSERT_TRUE(Release(*link).ok());
  EXPECT_TRUE(IsAsBefore());
}

TEST_F(ClockLinkTest, ChangesWhatIsHeldAndStillKnowsHowItWas) {
  auto link = NewLink();
  ASSERT_TRUE(Lock(*link, {1500, 3201, true, 600'000}).ok());
  ASSERT_TRUE(Lock(*link, {1200, {}, true, {}}).ok());
  EXPECT_EQ(model_.State(0).locked_max, 1200u);
  EXPECT_EQ(model_.State(0).locked_mem_max, 0u);
  EXPECT_EQ(model_.State(0).power_limit_mw, before_.power_limit_mw);
  ASSERT_TRUE(Release(*link).ok());
  EXPECT_TRUE(IsAsBefore());
}

TEST_F(ClockLinkTest, WithoutPermissionNothingIsHeldAndItSaysSo) {
  model_.SetAll("permission none");
  auto link = NewLink();
  EXPECT_EQ(Lock(*link, {1500, {}, true, {}}).status().code(), ErrorCode::kNotPermitted);
  EXPECT_TRUE(IsAsBefore());
  EXPECT_THAT(Held(), IsEmpty());
  EXPECT_TRUE(link->trouble().ok());
}

TEST_F(ClockLinkTest, WhereNothingWasLockedThereIsNothingToGiveBackAndNobodyIsStarted) {
  const pid_t youngest = Keeper();
  auto link = NewLink();
  EXPECT_TRUE(Release(*link).ok());
  EXPECT_EQ(Keeper(), youngest);
}

TEST_F(ClockLinkTest, WhatElseDoesNotWorkIsNoted) {
  model_.Set(0, "error nvmlDeviceSetMemoryLockedClocks 3");
  model_.Set(0, "error nvmlDeviceSetPersistenceMode 4");
  auto link = NewLink();
  Result<KeeperLocked> locked = Lock(*link, {1500, 3201, true, {}});
  ASSERT_TRUE(locked.ok());
  EXPECT_THAT(locked->notes, ElementsAre(HasSubstr("persistence"), HasSubstr("memory clock")));
  EXPECT_FALSE(locked->held.memory_mhz);
  EXPECT_FALSE(locked->held.persistence);
  EXPECT_TRUE(Release(*link).ok());
  EXPECT_TRUE(IsAsBefore());
}

TEST_F(ClockLinkTest, OthersSettingsAreLeftAsTheyWere) {
  model_.Set(0, "persistence on");
  model_.Set(0, "power_limit_mw 500000");
  model_.Set(0, "app_clocks 3201 1200");
  before_ = model_.State(0);
  auto link = NewLink();
  ASSERT_TRUE(Lock(*link, {1500, {}, true, 600'000}).ok());
  ASSERT_TRUE(Release(*link).ok());
  EXPECT_TRUE(IsAsBefore());
}

TEST_F(ClockLinkTest, GivesBackWhenItIsDestroyed) {
  auto link = NewLink();
  ASSERT_TRUE(Lock(*link, {1500, {}, true, {}}).ok());
  link.reset();
  EXPECT_TRUE(BecomesAsBefore());
}

TEST_F(ClockLinkTest, AKeeperThatIsKilledIsReplacedAndTheClocksAreLockedAgain) {
  auto link = NewLink();
  ASSERT_TRUE(Lock(*link, {1500, {}, true, {}}).ok());
  const pid_t first = Keeper();
  ::kill(first, SIGKILL);
  ASSERT_TRUE(real_.Until([&] { return !lost_.empty() && link->held(); }));
  EXPECT_NE(Keeper(), first);
  EXPECT_EQ(model_.State(0).locked_max, 1500u);
  EXPECT_THAT(given_up_, IsEmpty());
  ASSERT_TRUE(Release(*link).ok());
  EXPECT_TRUE(IsAsBefore());
}

// Wherever it is killed: before or after each call that changes something.
TEST_F(ClockLinkTest, AKeeperKilledAtAnyStepLeavesNothing) {
  for (int step = 1; step <= 10; ++step) {
    for (const char* moment : {"before", "after"}) {
      SCOPED_TRACE(std::to_string(step) + " " + moment);
      auto link = NewLink();
      model_.SetNode("kill_at " + std::to_string(step) + " " + moment + " self");
      (void)Lock(*link, {1500, 3201, true, 600'000});
      (void)Release(*link);
      ASSERT_TRUE(BecomesAsBefore());
      model_.SetNode("kill_at off");
      ASSERT_TRUE(real_.Until([&] { return link->trouble().ok(); }));
    }
  }
}

TEST_F(ClockLinkTest, WhatAnotherLeftIsGivenBack) {
  {
    auto link = NewLink();
    ASSERT_TRUE(Lock(*link, {1500, 3201, true, 600'000}).ok());
    const pid_t keeper = Keeper();
    ::kill(keeper, SIGSTOP);  // so that it does not give back by itself
    link.reset();
    ::kill(keeper, SIGKILL);
    real_.Pass(std::chrono::milliseconds(50));
  }
  ASSERT_FALSE(IsAsBefore());
  auto next = NewLink();
  EXPECT_TRUE(GiveBackLeft(*next).ok());
  EXPECT_TRUE(IsAsBefore());
  EXPECT_THAT(Held(), IsEmpty());
}

TEST_F(ClockLinkTest, WhatAnotherLeftIsNotForgottenForALockThatCannotBeHad) {
  program_ = folder_ + "/nothing";
  auto link = NewLink();
  EXPECT_FALSE(Lock(*link, {1500, {}, true, {}}).ok());
  EXPECT_TRUE(link->trouble().ok()) << "nobody has locked anything";
  // It becomes known between the wish and its failure.
  real_.loop.Post([&] { link->Lock({"run 2", {1500, {}, true, {}}, false}, [](const Result<KeeperLocked>&) {}); });
  real_.loop.Post([&] { link->GiveBackLeft(); });
  EXPECT_TRUE(real_.Until([&] { return !link->trouble().ok(); })) << "it is to be tried again";
}

// A lock does not outlive a reboot; what others have set since is theirs.
TEST_F(ClockLinkTest, ANoteOfAnEarlierBootIsClosedNotReplayed) {
  ClockHold hold;
  hold.boot_id = "an-earlier-boot";
  hold.uuid = model_.Uuid(0);
  hold.prior = {true, 300'000, {}, {}};
  hold.wanted = {1500, {}, true, 600'000};
  ASSERT_TRUE(ClockNotes(*files_, folder_).Write(hold).ok());
  model_.Set(0, "lock 1200 1200");
  before_ = model_.State(0);
  auto link = NewLink();
  EXPECT_TRUE(GiveBackLeft(*link).ok());
  EXPECT_TRUE(IsAsBefore());
  EXPECT_THAT(Held(), IsEmpty());
}

TEST_F(ClockLinkTest, ADamagedNoteIsSetAsideAndTheLocksAreReset) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ + "/" + model_.Uuid(0) + ".held") << "kprof clocks held 1\n";
  model_.Set(0, "lock 1500 1500");
  auto link = NewLink();
  EXPECT_TRUE(GiveBackLeft(*link).ok());
  EXPECT_EQ(model_.State(0).locked_max, 0u);
  EXPECT_THAT(Held(), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/" + model_.Uuid(0) + ".held.damaged"));
}

TEST_F(ClockLinkTest, WhatCannotBeGivenBackIsTriedAgain) {
  auto link = NewLink();
  ASSERT_TRUE(Lock(*link, {1500, {}, true, {}}).ok());
  model_.Set(0, "error nvmlDeviceResetGpuLockedClocks 999 3");
  EXPECT_FALSE(Release(*link).ok());
  EXPECT_FALSE(link->trouble().ok());
  EXPECT_TRUE(BecomesAsBefore());
  EXPECT_TRUE(real_.Until([&] { return link->trouble().ok(); }));
}

TEST_F(ClockLinkTest, ADriverThatHangsCostsItsLimitAndIsGivenBackLater) {
  call_limit_ns_ = kNanosPerSecond / 2;
  auto link = NewLink();
  ASSERT_TRUE(Lock(*link, {1500, {}, true, {}}).ok());
  model_.Set(0, "hang nvmlDeviceResetGpuLockedClocks 600000");
  const Status released = Release(*link);
  EXPECT_EQ(released.code(), ErrorCode::kTimedOut);
  EXPECT_THAT(released.why(), HasSubstr("nvmlDeviceResetGpuLockedClocks"));
  model_.Set(0, "faults_clear");
  EXPECT_TRUE(BecomesAsBefore());
}

TEST_F(ClockLinkTest, AFullDiskKeepsTheClocksAsTheyAre) {
  std::ofstream(temporary_.path() + "/clocks") << "a file where the folder should be";
  auto link = NewLink();
  EXPECT_FALSE(Lock(*link, {1500, {}, true, {}}).ok());
  EXPECT_TRUE(IsAsBefore());
}

TEST_F(ClockLinkTest, ASignalAsksAKeeperToGiveBack) {
  auto link = NewLink();
  ASSERT_TRUE(Lock(*link, {1500, {}, true, {}}).ok());
  link->Release(nullptr);  // so that it does not lock again
  ::kill(Keeper(), SIGTERM);
  EXPECT_TRUE(BecomesAsBefore());
}

}  // namespace
}  // namespace kprof
