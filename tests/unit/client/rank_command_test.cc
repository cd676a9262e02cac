#include "client/cli/verbs/rank_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "client/cli/grammar/command_line.h"

namespace kprof::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ReadVariable Variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(RankOfAJob, IsReadAsTorchrunSetsIt) {
  const Result<RankOfJob> job = ReadRankOfJob(Variables({{"RANK", "5"},
                                                         {"LOCAL_RANK", "1"},
                                                         {"WORLD_SIZE", "8"},
                                                         {"LOCAL_WORLD_SIZE", "4"},
                                                         {"MASTER_ADDR", "10.0.0.1"},
                                                         {"MASTER_PORT", "29500"},
                                                         {"TORCHELASTIC_RUN_ID", "none"}}),
                                              "20261128T205012.34");
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(*job, (RankOfJob{5, 1, 8, 4, "10.0.0.1:29500", 0}));
  // A launcher that does not say how many ranks are here has all of them here: each has the same share.
  EXPECT_EQ(*ReadRankOfJob(Variables({{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "2"}}), ""),
            (RankOfJob{0, 0, 2, 2, "", 0}));
}

// Port 29500 and the id "none" are each launch's.
TEST(RankOfAJob, IsCalledByTheLaunchWhereAllRanksAreHere) {
  const auto job = [](std::map<std::string, std::string> more, const std::string& launched) {
    std::map<std::string, std::string> values = {
        {"RANK", "1"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "2"}};
    values.merge(more);
    return ReadRankOfJob(Variables(values), launched)->job;
  };
  EXPECT_EQ(job({{"MASTER_ADDR", "h"}, {"MASTER_PORT", "1"}}, "T1"), "h:1/T1");
  EXPECT_EQ(job({{"TORCHELASTIC_RUN_ID", "night"}, {"MASTER_ADDR", "h"}}, "T1"), "night/T1");
  EXPECT_EQ(job({{"MASTER_ADDR", "h"}}, ""), "h");
  EXPECT_EQ(job({}, "T1"), "T1");
  EXPECT_EQ(job({{"MASTER_ADDR", "h"}, {"TORCHELASTIC_RESTART_COUNT", "2"}}, "T1"), "h/T1/restart2");
}

TEST(RankOfAJob, IsTheOnlyOneWithoutALauncher) {
  EXPECT_EQ(*ReadRankOfJob(Variables({}), "20261128T205012.34"), RankOfJob());
}

TEST(RankOfAJob, IsRefusedWhereItMakesNoSense) {
  for (const auto& values :
       std::vector<std::map<std::string, std::string>>{{{"RANK", "x"}},
                                                       {{"RANK", "2"}, {"WORLD_SIZE", "2"}},
                                                       {{"RANK", "-1"}},
                                                       {{"WORLD_SIZE", "99999999999"}},
                                                       {{"LOCAL_RANK", "3"}, {"LOCAL_WORLD_SIZE", "2"}}}) {
    EXPECT_EQ(ReadRankOfJob(Variables(values), "").status().code(), ErrorCode::kUsage);
  }
}

const std::vector<LeasableDevice> kTwoChips = {
    {"cpu", "cpu", {}}, {"neuron0", "neuron", {0, 1}}, {"neuron1", "neuron", {2, 3}}};

RankPlace PlaceOf(int64_t local, int64_t locals, const std::string& visible = "", std::optional<bool> gave_cores = {}) {
  const Result<RankPlace> place = PlaceOfRank({local, local, locals, locals, "", 0}, kTwoChips, visible, gave_cores);
  EXPECT_TRUE(place.ok()) << place.status().ToString();
  return place.ok() ? *place : RankPlace();
}

TEST(PlacesOfRanks, AreWholeDevicesWhereThereAreEnough) {
  EXPECT_EQ(PlaceOf(0, 1), (RankPlace{"neuron0,neuron1", {0, 1, 2, 3}, false}));
  EXPECT_EQ(PlaceOf(0, 2), (RankPlace{"neuron0", {0, 1}, false}));
  EXPECT_EQ(PlaceOf(1, 2), (RankPlace{"neuron1", {2, 3}, false}));
}

// Two leases of one device would wait for each other, and the ranks for each other.
TEST(PlacesOfRanks, ThatShareADeviceLeaseItOnce) {
  EXPECT_EQ(PlaceOf(0, 4), (RankPlace{"neuron0", {0}, false}));
  EXPECT_EQ(PlaceOf(1, 4), (RankPlace{"none", {1}, true}));
  EXPECT_EQ(PlaceOf(2, 4), (RankPlace{"neuron1", {2}, false}));
  EXPECT_EQ(PlaceOf(3, 4), (RankPlace{"none", {3}, true}));
}

TEST(PlacesOfRanks, AreAmongTheCoresThatAreVisible) {
  EXPECT_EQ(PlaceOf(0, 2, "2-3"), (RankPlace{"neuron1", {2}, false}));
  EXPECT_EQ(PlaceOf(1, 2, "2-3"), (RankPlace{"none", {3}, true}));
  EXPECT_EQ(PlaceOf(0, 1, "3", true), (RankPlace{"neuron1", {3}, false}));
}

// Each has other cores than its launcher; nobody knows here which the others have.
TEST(PlacesOfRanks, AreTheCoresThatTheLauncherGaveThem) {
  EXPECT_EQ(PlaceOf(0, 2, "2", true), (RankPlace{"neuron1", {2}, false}));
  EXPECT_EQ(PlaceOf(1, 2, "3", true),
            (RankPlace{"none", {3}, true}));  // two leases of neuron1 would wait for each other
  EXPECT_EQ(PlaceOf(1, 2, "2-3", true), (RankPlace{"neuron1", {2, 3}, false}));
  EXPECT_EQ(PlaceOf(1, 2, "3"), (RankPlace{"none", {3}, true}));  // fewer than ranks, and the launcher cannot be seen
}

// The same for all ranks, so all fail: none waits for another.
TEST(PlacesOfRanks, AreRefusedWhereFewerCoresThanRanksAreVisible) {
  for (const int64_t local : {0, 1}) {
    EXPECT_THAT(
        PlaceOfRank({local, local, 2, 2, "", 0}, kTwoChips, "3", false).status().ToString(),
        HasSubstr("the 1 NeuronCores of this node that NEURON_RT_VISIBLE_CORES=3 names cannot be shared out to 2 "
                  "ranks"));
  }
}

TEST(PlacesOfRanks, AreRefusedWhereTheyCannotBe) {
  const RankOfJob third{2, 2, 3, 3, "", 0};
  EXPECT_THAT(PlaceOfRank(third, kTwoChips, "", {}).status().ToString(),
              HasSubstr("4 NeuronCores cannot be shared out to 3"));
  EXPECT_THAT(PlaceOfRank({}, kTwoChips, "a", {}).status().ToString(), HasSubstr("no list of cores"));
  EXPECT_THAT(PlaceOfRank({}, kTwoChips, "7", {}).status().ToString(), HasSubstr("the 0 NeuronCores"));
  EXPECT_THAT(PlaceOfRank({}, {{"cpu", "cpu", {}}, {"0", "nvidia", {}}}, "", {}).status().ToString(),
              HasSubstr("--device"));
}

TEST(PlacesOfRanks, AreNoneOnANodeWithoutAccelerators) {
  EXPECT_EQ(*PlaceOfRank({}, {{"cpu", "cpu", {}}}, "", {}), (RankPlace{"none", {}, false}));
}

TEST(RecordedCommands, HaveTheRecorderBehindTheInterpreter) {
  const auto words = [](const std::vector<std::string>& command) {
    return WithRecorder(command, "/n.py", {"--no-scalene"});
  };
  EXPECT_THAT(*words({"python", "train.py", "-m", "x"}),
              ElementsAre("python", "/n.py", "--no-scalene", "train.py", "-m", "x"));
  EXPECT_THAT(*words({"/v/bin/python3.11", "-u", "-W", "ignore", "train.py"}),
              ElementsAre("/v/bin/python3.11", "-u", "-W", "ignore", "/n.py", "--no-scalene", "train.py"));
  EXPECT_THAT(*words({"python3", "-m", "pkg.train", "a"}),
              ElementsAre("python3", "/n.py", "--no-scalene", "-m", "pkg.train", "a"));
  EXPECT_THAT(*words({"./train", "a"}), ElementsAre("./train", "a"));
  EXPECT_THAT(*words({"pythonic", "a"}), ElementsAre("pythonic", "a"));
  EXPECT_THAT(words({"python", "-c", "x"}).status().ToString(), HasSubstr("python -c"));
  EXPECT_THAT(words({"python"}).status().ToString(), HasSubstr("no program for Python"));
}

TEST(RankCaptures, AreLabelledWithJobAndRank) {
  RankExecArgs args;
  args.labels = {{"try", "3"}};
  args.quiet = true;
  EXPECT_THAT(RankCaptureWords(args, {1, 1, 2, 2, "night", 0}, {"none", {3}, true}, {"python", "train.py"}),
              ElementsAre("capture", "command", "--device", "none", "--label", "job=night", "--label", "rank=1",
                          "--label", "world_size=2", "--label", "local_rank=1", "--label", "try=3", "--queue-timeout",
                          "10m", "--quiet", "--", "/usr/bin/env", "NEURON_RT_VISIBLE_CORES=3", "python", "train.py"));
  args.device = "cpu";
  args.job = "mine";
  const std::vector<std::string> words = RankCaptureWords(args, {0, 0, 1, 1, "night", 0}, {}, {"python", "train.py"});
  EXPECT_TRUE(ParseCommandLine(words).ok()) << "capture takes its own words";
  EXPECT_EQ(words[3], "cpu");
  EXPECT_EQ(words[5], "job=mine");
}

TEST(RankExec, TakesItsCommandBehindTheDashes) {
  const Result<CommandLine> line =
      ParseCommandLine({"rank-exec", "--scalene", "--label", "a=b", "--wrap", "m:f", "--", "python", "--json"});
  ASSERT_TRUE(line.ok()) << line.status().ToString();
  const auto& args = std::get<RankExecArgs>(line->verb);
  EXPECT_TRUE(args.scalene);
  EXPECT_THAT(args.command, ElementsAre("python", "--json"));
  EXPECT_THAT(args.wraps, ElementsAre("m:f"));
  EXPECT_THAT(ParseCommandLine({"rank-exec"}).status().ToString(), HasSubstr("no command to run"));
  EXPECT_THAT(ParseCommandLine({"rank-exec", "--label", "rank=1", "--", "a"}).status().ToString(),
              HasSubstr("the rank's own"));
}

}  // namespace
}  // namespace kprof::cli
