#include "daemon/devices/quiet_wait.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/base/real_loop.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class ForeignProcessesTest : public testing::Test {
 protected:
  ForeignProcessesTest() {
    facts_.kind = DeviceKind::kNvidia;
    facts_.nvidia_state.emplace().processes.emplace();
    facts_.nvidia_sample.emplace().gpu_percent = 0;
  }
  void Add(uint32_t pid, const std::string& name, bool graphics = false) {
    facts_.nvidia_state->processes->push_back({pid, graphics, 1 << 20});
    const std::string folder = proc_.path() + "/" + std::to_string(pid);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/status") << "Name:\t" << name << "\nUid:\t77\t77\t77\t77\n";
  }
  ForeignProcesses Find(pid_t own = 0) {
    return FindForeign(
        facts_, [own](pid_t pid) { return pid == own; }, proc_.path());
  }
  std::string Who(pid_t own = 0) { return WhoIsThere(Find(own), users_); }

  TemporaryFolder proc_;
  RealLoop real_;
  UserNames users_{real_.loop, [](uint32_t) { return Fail(ErrorCode::kNotFound, "find a user", "there is none"); }};
  DeviceFacts facts_;
};

TEST_F(ForeignProcessesTest, NobodyIsQuiet) {
  EXPECT_EQ(Who(), "");
}

TEST_F(ForeignProcessesTest, OursAreNotForeign) {
  Add(4711, "python3");
  EXPECT_EQ(Who(4711), "");
  facts_.nvidia_sample->gpu_percent = 100;
  EXPECT_EQ(Who(4711), "");
  EXPECT_EQ(Who(), "pid 4711 (python3, uid 77)");
}

TEST_F(ForeignProcessesTest, TheFirstFewAreNamed) {
  for (uint32_t pid = 1; pid <= 6; ++pid) Add(pid, "job");
  EXPECT_EQ(Who(), "pid 1 (job, uid 77), pid 2 (job, uid 77), pid 3 (job, uid 77), pid 4 (job, uid 77) and 2 more");
}

TEST_F(ForeignProcessesTest, ADisplayAndTheServerOfMpsCountOnlyWhenNobodyElseIsAtWork) {
  Add(1, "Xorg", true);
  Add(2, "nvidia-cuda-mps");
  EXPECT_THAT(Find().users, IsEmpty());
  EXPECT_THAT(Find().residents, SizeIs(2));
  EXPECT_EQ(Who(), "");
  facts_.nvidia_sample->gpu_percent = 40;
  EXPECT_EQ(Who(), "pid 1 (Xorg, uid 77), pid 2 (nvidia-cuda-mps, uid 77)");
  Add(3, "python3");
  EXPECT_EQ(Who(3), "");
  EXPECT_EQ(Who(), "pid 3 (python3, uid 77)");
}

// It is listed twice.
TEST_F(ForeignProcessesTest, OneThatDrawsAndComputesIsAUser) {
  Add(5, "blender", true);
  Add(5, "blender", false);
  EXPECT_THAT(*ProcessesOf(facts_), SizeIs(1));
  EXPECT_EQ(Who(), "pid 5 (blender, uid 77)");
}

TEST_F(ForeignProcessesTest, WhereTheDriverDoesNotTellOnlyItsWorkIsSeen) {
  facts_.nvidia_state->processes.reset();
  EXPECT_EQ(Who(), "");
  facts_.nvidia_sample->gpu_percent = 40;
  EXPECT_EQ(Who(), "somebody of whom the driver does not tell");
  EXPECT_EQ(WhoIsThere(FindForeign(DeviceFacts(), [](pid_t) { return false; }), users_), "");
}

TEST_F(ForeignProcessesTest, OneThatIsGoneOrHiddenStillCounts) {
  facts_.nvidia_state->processes->push_back({99, false, {}});
  EXPECT_EQ(Who(), "pid 99");
}

}  // namespace
}  // namespace kprof
