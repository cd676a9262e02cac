#include "daemon/launch/process_table.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class ProcessDescentTest : public testing::Test {
 protected:
  void SetUp() override {
    Add(1, 0, "systemd");
    Add(10, 1, "kprofd");
    Add(20, 10, "kprof-launch");
    Add(30, 20, "python3");
    Add(40, 30, "python3");
    Add(50, 1, "python3");
    Add(60, 55, "python3");  // whose parent is hidden
  }
  void Add(pid_t pid, pid_t parent, const std::string& name) {
    const std::string folder = proc_ / std::to_string(pid);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/stat") << pid << " (" << name << ") S " << parent
                                    << " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 99\n";
  }
  TemporaryFolder proc_;
};

TEST_F(ProcessDescentTest, ACommandsSupervisorIsItsParent) {
  EXPECT_EQ(SupervisorOf(30, proc_.path()), 20);
  EXPECT_EQ(SupervisorOf(40, proc_.path()), std::nullopt) << "a number of another pid namespace";
  EXPECT_EQ(SupervisorOf(7, proc_.path()), std::nullopt);
  EXPECT_EQ(SupervisorOf(1, proc_.path()), std::nullopt);
}

TEST_F(ProcessDescentTest, WhoIsBelowAndWhoIsNot) {
  EXPECT_EQ(DescentFrom(20, 40, proc_.path()), Descent::kYes);
  EXPECT_EQ(DescentFrom(20, 30, proc_.path()), Descent::kYes);
  EXPECT_EQ(DescentFrom(20, 20, proc_.path()), Descent::kYes);
  EXPECT_EQ(DescentFrom(20, 10, proc_.path()), Descent::kNo);
  EXPECT_EQ(DescentFrom(20, 50, proc_.path()), Descent::kNo);
  EXPECT_EQ(DescentFrom(20, 60, proc_.path()), Descent::kUnknown);
  EXPECT_EQ(DescentFrom(20, 7, proc_.path()), Descent::kUnknown);
}

TEST_F(ProcessDescentTest, ACircleIsLeft) {
  Add(70, 71, "a");
  Add(71, 70, "b");
  EXPECT_EQ(DescentFrom(20, 70, proc_.path()), Descent::kUnknown);
}

}  // namespace
}  // namespace kprof
