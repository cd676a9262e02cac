#include "client/cli/verbs/rank_launcher.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof::cli {
namespace {

using Values = std::map<std::string, std::string>;

const Values kRank = {{"RANK", "1"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "2"}, {"NEURON_RT_VISIBLE_CORES", "2-3"}};

class RankLauncherTest : public testing::Test {
 protected:
  RankLauncherTest() { Write("stat", "cpu 1 2\nbtime 1700000000\n"); }

  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  // Without `environment` it cannot be read.
  void AddProcess(int pid, int parent, int64_t start_ticks, const std::optional<Values>& environment) {
    const std::string folder = std::to_string(pid);
    Write(folder + "/stat", folder + " (a) b) S " + std::to_string(parent) +
                                " 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 " + std::to_string(start_ticks) + " 1 1\n");
    if (!environment) return;
    std::string text;
    for (const auto& [name, value] : *environment) text += name + "=" + value + '\0';
    Write(folder + "/environ", text);
  }
  RankLauncher Find(int parent, Values own = kRank) {
    return FindLauncher(folder_.path(), parent, [own](const char* name) -> std::optional<std::string> {
      const auto found = own.find(name);
      return found == own.end() ? std::nullopt : std::optional(found->second);
    });
  }

  TemporaryFolder folder_;
};

TEST_F(RankLauncherTest, IsTheNearestAncestorThatIsNoRank) {
  AddProcess(10, 1, 123456, Values{{"PATH", "/bin"}});
  AddProcess(11, 10, 123460, kRank);  // sh around the rank
  AddProcess(12, 11, 123470, kRank);
  EXPECT_EQ(Find(12).started, Find(10).started);
  EXPECT_EQ(Find(12).started, "20231114T223354.56");  // 1234.56 s after boot
}

// A rank of another job that starts a job of its own.
TEST_F(RankLauncherTest, MayBeARankOfAnotherJob) {
  Values other = kRank;
  other["RANK"] = "0";
  AddProcess(10, 1, 100, Values{{"PATH", "/bin"}});
  AddProcess(11, 10, 12300, other);
  EXPECT_EQ(Find(11).started, "20231114T221523.00");
}

TEST_F(RankLauncherTest, SaysWhetherItGaveTheRankItsCores) {
  AddProcess(10, 1, 100, Values{{"PATH", "/bin"}});
  AddProcess(11, 1, 100, Values{{"NEURON_RT_VISIBLE_CORES", "2-3"}});
  AddProcess(12, 1, 100, std::nullopt);
  EXPECT_EQ(Find(10).gave_cores, true);
  EXPECT_EQ(Find(11).gave_cores, false);
  EXPECT_EQ(Find(12).gave_cores, std::nullopt);
  EXPECT_FALSE(Find(12).started.empty());
  EXPECT_EQ(Find(10, {{"RANK", "1"}}).gave_cores, false);
}

TEST_F(RankLauncherTest, ThatCannotBeSeenIsUnknown) {
  EXPECT_EQ(Find(10).started, "");
  EXPECT_EQ(Find(0).started, "");
  AddProcess(11, 1, 100, Values{{"PATH", "/bin"}});
  Write("11/stat", "11 (a");
  EXPECT_EQ(Find(11).started, "");
}

}  // namespace
}  // namespace kprof::cli
