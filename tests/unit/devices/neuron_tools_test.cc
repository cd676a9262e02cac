#include "daemon/devices/neuron/neuron_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/fakes/base/program_file.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/stand_ins/neuron/neuron_stand_in.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kToolLongMs = 30'000;

Result<NeuronInventory> Ask(const NeuronStandIn& node, int deadline_ms = kToolLongMs,
                            const std::stop_token& stop = std::stop_token()) {
  return RunNeuronLs(node.place(), nullptr, deadline_ms, stop);
}

NeuronInventory Listed(const NeuronStandIn& node) {
  Result<NeuronInventory> inventory = Ask(node);
  EXPECT_TRUE(inventory.ok()) << inventory.status().ToString();
  return inventory.ok() ? *inventory : NeuronInventory();
}

TEST(NeuronTools, AreFoundInTheFolderThatIsNamed) {
  const TemporaryFolder folder(TemporaryFolder::Holds::kPrograms);
  WriteProgram(folder / "neuron-ls", "#!/bin/sh\n");
  EXPECT_EQ(*FindNeuronTool("neuron-ls", {folder.path(), {}}), folder / "neuron-ls");
  const Status missing = FindNeuronTool("neuron-monitor", {folder.path(), {"PATH=" + folder.path()}}).status();
  EXPECT_EQ(missing.code(), ErrorCode::kToolMissing);
  EXPECT_EQ(missing.why(), "there is no such program in " + folder.path());
}

TEST(NeuronTools, AreFoundInPathWhereNoFolderIsNamed) {
  const TemporaryFolder folder(TemporaryFolder::Holds::kPrograms);
  WriteProgram(folder / "neuron-of-test", "#!/bin/sh\n");
  const NeuronToolPlace place{"", {"PATH=relative:::/none:" + folder.path()}};
  EXPECT_EQ(*FindNeuronTool("neuron-of-test", place), folder / "neuron-of-test");
  for (const char* path : {"PATH=", "PATH=.", "PATH=relative", "OTHER=1"}) {
    const Status missing = FindNeuronTool("neuron-of-test", {"", {path}}).status();
    EXPECT_EQ(missing.code(), ErrorCode::kToolMissing) << path;
    EXPECT_THAT(missing.why(), HasSubstr("/opt/aws/neuron/bin, nor in PATH"));
  }
}

TEST(NeuronTools, AreProgramsThatMayBeExecuted) {
  const TemporaryFolder folder(TemporaryFolder::Holds::kPrograms);
  std::filesystem::create_directory(folder / "neuron-ls");
  std::ofstream(folder / "neuron-monitor") << "text";
  for (const char* name : {"neuron-ls", "neuron-monitor"}) {
    EXPECT_EQ(FindNeuronTool(name, {folder.path(), {}}).status().code(), ErrorCode::kToolMissing) << name;
  }
}

TEST(NeuronTools, ListsTheDevicesOfAnOlderVersion) {
  const NeuronInventory inventory = Listed(
      NeuronStandIn(R"({"chip":"trn2","devices":2,"runtimes":[{"pid":7,"command":"python","cores":{"5":50}}]})"));
  ASSERT_THAT(inventory.devices, SizeIs(2));
  EXPECT_EQ(inventory.devices[1].lnc, 2);
  EXPECT_THAT(inventory.devices[1].neuroncore_ids, ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(inventory.devices[1].processes, ElementsAre(NeuronProcess{7, "python", "2.30.51"}));
  EXPECT_EQ(inventory.instance_type, std::nullopt);
}

TEST(NeuronTools, AsksTheTextForTheInstance) {
  const NeuronStandIn stand_in(R"({"chip":"trn1"})");
  EXPECT_EQ(*AskNeuronLsForInstance(stand_in.place(), nullptr, 10'000, std::stop_token()), "trn1.2xlarge");
  const NeuronStandIn unknown(R"({"instance_type":""})");
  EXPECT_EQ(*AskNeuronLsForInstance(unknown.place(), nullptr, 10'000, std::stop_token()), std::nullopt);
}

TEST(NeuronTools, ListsTheDevicesOfAVersionThatRefusesTheOldOption) {
  const NeuronInventory inventory = Listed(NeuronStandIn(R"({"tools":"2.34","chip":"trn2","devices":16})"));
  EXPECT_THAT(inventory.devices, SizeIs(16));
  EXPECT_EQ(inventory.instance_type, "trn2.3xlarge");
  EXPECT_EQ(inventory.lnc, 2);
}

TEST(NeuronTools, SkipsWhatIsPrintedBeforeTheAnswer) {
  EXPECT_THAT(Listed(NeuronStandIn(R"({"ls":{"log":["[INFO] one","two"],"stderr":"three\n"}})")).devices, SizeIs(1));
}

TEST(NeuronTools, TakesNoDevicesForNoFailure) {
  for (const char* node : {R"({"devices":0})", R"({"devices":0,"ls":{"exit":1}})",
                           R"({"devices":0,"ls":{"exit":1,"quiet":true}})", R"({"ls":{"stdout":"[]"}})"}) {
    EXPECT_THAT(Listed(NeuronStandIn(node)).devices, IsEmpty()) << node;
  }
}

TEST(NeuronTools, SaysHowItFailed) {
  struct Case {
    const char* node;
    ErrorCode code;
    const char* why;
  };
  const Case cases[] = {
      {R"({"ls":{"exit":1,"stdout":"","stderr":"driver not loaded\n"}})", ErrorCode::kToolFailed,
       "it ended with status 1: driver not loaded"},
      {R"({"tools":"2.34","ls":{"exit":4}})", ErrorCode::kToolFailed, "it ended with status 4"},
      {R"({"ls":{"signal":11}})", ErrorCode::kToolFailed, "it ended with signal 11 (SIGSEGV)"},
      {R"({"ls":{"stdout":"+---+\n| 0 |\n"}})", ErrorCode::kBadInput, "there is no JSON in it"},
      {R"({"ls":{"stdout":"[{\"neuron_device\":"}})", ErrorCode::kBadInput, "ends too early"},
      {R"({"ls":{"flood_bytes":20000000}})", ErrorCode::kToolFailed, "it printed more than 16777216 bytes"},
  };
  for (const Case& c : cases) {
    const Status status = Ask(NeuronStandIn(c.node)).status();
    EXPECT_EQ(status.code(), c.code) << c.node;
    EXPECT_THAT(status.why(), HasSubstr(c.why));
  }
}

TEST(NeuronTools, SaysWhatTheOptionSaidThatItKnows) {
  const TemporaryFolder folder(TemporaryFolder::Holds::kPrograms);
  const char* const older =
      "#!/bin/sh\n[ \"$1\" = -j ] && { echo no driver >&2; exit 1; }\necho unknown flag >&2; exit 2\n";
  const char* const newer =
      "#!/bin/sh\n[ \"$1\" = -j ] && { echo Unknown flag >&2; exit 2; }\necho no driver >&2; exit 1\n";
  for (const char* script : {older, newer}) {
    WriteProgram(folder / "neuron-ls", script);
    const Status status = RunNeuronLs({folder.path(), {}}, nullptr, kToolLongMs, {}).status();
    EXPECT_EQ(status.why(), "it ended with status 1: no driver") << script;
  }
}

TEST(NeuronTools, IsMissing) {
  const TemporaryFolder folder;
  EXPECT_EQ(RunNeuronLs({folder.path(), {}}, nullptr, kToolLongMs, {}).status().code(), ErrorCode::kToolMissing);
}

TEST(NeuronTools, WaitsNoLongerThanTheDeadline) {
  const auto begin = std::chrono::steady_clock::now();
  const Status status = Ask(NeuronStandIn(R"({"ls":{"hang_s":1000}})"), 300).status();
  EXPECT_EQ(status.code(), ErrorCode::kTimedOut);
  EXPECT_THAT(status.why(), HasSubstr("it gave no answer in time"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(NeuronTools, StopsWhenItIsTold) {
  std::stop_source source;
  const std::jthread stopper([&] { source.request_stop(); });
  EXPECT_EQ(Ask(NeuronStandIn(R"({"ls":{"hang_s":1000}})"), kToolLongMs, source.get_token()).status().code(),
            ErrorCode::kCancelled);
}

TEST(NeuronTools, DoesNotWaitForWhatItLeaves) {
  EXPECT_THAT(Listed(NeuronStandIn(R"({"ls":{"leave_child_s":1000}})")).devices, SizeIs(1));
}

}  // namespace
}  // namespace kprof
