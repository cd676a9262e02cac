#include "daemon/devices/device_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Device Gpu(const std::string& id, const std::string& uuid) {
  return Device{.id = id, .kind = DeviceKind::kNvidia, .name = "H200", .uuid = uuid};
}
Device Neuron(const std::string& id, std::vector<int> cores) {
  return Device{.id = id, .kind = DeviceKind::kNeuron, .name = "trn2", .cores = std::move(cores)};
}

std::vector<std::string> SelectOk(const DeviceList& list, const std::string& selector,
                                  const std::vector<std::string>& environment = {}) {
  Result<std::vector<std::string>> ids = list.Select(selector, environment);
  EXPECT_TRUE(ids.ok()) << selector << ": " << ids.status().ToString();
  return ids.ok() ? *ids : std::vector<std::string>{"failed"};
}

TEST(DeviceList, SelectsByIdUuidAllCpuAndNone) {
  DeviceList list({Gpu("0", "GPU-aaaa"), Gpu("1", "GPU-bbbb")});
  EXPECT_THAT(SelectOk(list, "1"), ElementsAre("1"));
  EXPECT_THAT(SelectOk(list, "GPU-bbbb"), ElementsAre("1"));
  EXPECT_THAT(SelectOk(list, "all"), ElementsAre("0", "1"));
  EXPECT_THAT(SelectOk(list, "cpu"), ElementsAre("cpu"));
  EXPECT_THAT(SelectOk(list, "none"), IsEmpty());
}

TEST(DeviceList, NamesDevicesInTheNodesOrder) {
  DeviceList list({Gpu("0", "GPU-aaaa"), Gpu("1", "GPU-bbbb")});
  EXPECT_THAT(SelectOk(list, "1, GPU-aaaa"), ElementsAre("0", "1"));
  EXPECT_THAT(SelectOk(list, "all,cpu"), ElementsAre("cpu", "0", "1"));
  EXPECT_THAT(SelectOk(list, "", {"CUDA_VISIBLE_DEVICES=1,0,1"}), ElementsAre("0", "1")) << "not kprofd's to judge";
}

// Whoever names a device twice, or none beside one, means something that is not so.
TEST(DeviceList, RefusesWhatMakesNoSenseTogether) {
  DeviceList list({Gpu("0", "GPU-aaaa"), Gpu("1", "GPU-bbbb")});
  struct Case {
    const char* selector;
    const char* why;
  };
  const Case cases[] = {
      {"cpu,none", "'none' goes with no other device"},
      {"none, 0", "'none' goes with no other device"},
      {"none,none", "'none' goes with no other device"},
      {"1,0,1", "it names device 1 twice"},
      {"0,GPU-aaaa", "it names device 0 twice"},
      {"all,1", "it names device 1 twice"},
      {"cpu,cpu", "it names device cpu twice"},
      {"0,7", "this node has no device '7'"},
      {"0,,1", "it names nothing before or after a comma"},
      {"0,", "it names nothing before or after a comma"},
  };
  for (const Case& c : cases) {
    for (const Status& refused : {list.Select(c.selector, {}).status(), list.SelectSome(c.selector).status()}) {
      EXPECT_EQ(refused.code(), ErrorCode::kUsage) << c.selector;
      EXPECT_EQ(refused.what(), "select device '" + std::string(c.selector) + "'");
      EXPECT_EQ(refused.why(), c.why) << c.selector;
    }
    EXPECT_EQ(list.Select(c.selector, {}).status().remedy(), "name one of: cpu, 0, 1, all, none");
  }
}

TEST(DeviceList, OffersNoneOnlyToWhoNeedsNoDevice) {
  DeviceList list({Gpu("0", "GPU-aaaa")});
  EXPECT_THAT(*list.SelectSome("0,cpu"), ElementsAre("cpu", "0"));
  EXPECT_THAT(*list.SelectSome(""), ElementsAre("0"));
  EXPECT_EQ(list.SelectSome("none").status().why(), "it names no device");
  EXPECT_EQ(list.SelectSome("none").status().remedy(), "name one of: cpu, 0, all");
}

TEST(DeviceList, SaysWhatThereIsWhenADeviceIsNotThere) {
  DeviceList list({Gpu("0", "GPU-aaaa")});
  for (const char* selector : {"7", "0,7", ",", "GPU-zzzz"}) {
    Result<std::vector<std::string>> ids = list.Select(selector, {});
    ASSERT_FALSE(ids.ok()) << selector;
    EXPECT_EQ(ids.status().code(), ErrorCode::kUsage);
    EXPECT_THAT(ids.status().ToString(), HasSubstr("cpu, 0")) << selector;
  }
}

TEST(DeviceList, OffersOnlyWhatItTakes) {
  for (const char* selector : {"7", ",", "all"}) {
    Result<std::vector<std::string>> ids = DeviceList({}).Select(selector, {});
    ASSERT_FALSE(ids.ok()) << selector;
    EXPECT_EQ(ids.status().remedy(), "name one of: cpu, none");
  }
  EXPECT_EQ(DeviceList({Gpu("0", "GPU-aaaa")}).Select("7", {}).status().remedy(), "name one of: cpu, 0, all, none");
}

TEST(DeviceList, DefaultsToWhatTheEnvironmentNamesThenTheFirstThenCpu) {
  DeviceList gpus({Gpu("0", "GPU-aaaa-1"), Gpu("1", "GPU-bbbb-2"), Neuron("n0", {0, 1, 2, 3}), Neuron("n1", {4, 5})});
  EXPECT_THAT(SelectOk(gpus, "", {"CUDA_VISIBLE_DEVICES=1"}), ElementsAre("1"));
  EXPECT_THAT(SelectOk(gpus, "", {"CUDA_VISIBLE_DEVICES=GPU-bbbb"}), ElementsAre("1"));
  EXPECT_THAT(SelectOk(gpus, "", {"NEURON_RT_VISIBLE_CORES=3-4"}), ElementsAre("n0", "n1"));
  EXPECT_THAT(SelectOk(gpus, "", {"CUDA_VISIBLE_DEVICES="}), ElementsAre("cpu"));
  EXPECT_THAT(SelectOk(gpus, "", {"CUDA_VISIBLE_DEVICES=-1"}), ElementsAre("cpu"));
  EXPECT_EQ(gpus.Select("", {"CUDA_VISIBLE_DEVICES=99"}).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(gpus.Select("", {"NEURON_RT_VISIBLE_CORES=0-99999999"}).status().code(), ErrorCode::kUsage);
  EXPECT_THAT(SelectOk(gpus, "", {}), ElementsAre("0"));
  EXPECT_THAT(SelectOk(DeviceList({}), "", {"CUDA_VISIBLE_DEVICES=0"}), ElementsAre("cpu"));
}

TEST(DeviceList, MakesExactlyTheLeasedDevicesVisible) {
  DeviceList list({Gpu("0", "GPU-aaaa"), Gpu("1", "GPU-bbbb"), Neuron("n0", {0, 1}), Neuron("n1", {2, 3})});
  EXPECT_THAT(list.VisibilityVariables({"1"}, {}),
              ElementsAre("CUDA_VISIBLE_DEVICES=GPU-bbbb", "NEURON_RT_VISIBLE_CORES="));
  EXPECT_THAT(list.VisibilityVariables({"0", "1", "n1"}, {}),
              ElementsAre("CUDA_VISIBLE_DEVICES=GPU-aaaa,GPU-bbbb", "NEURON_RT_VISIBLE_CORES=2,3"));
  EXPECT_THAT(list.VisibilityVariables({"cpu"}, {}), ElementsAre("CUDA_VISIBLE_DEVICES=", "NEURON_RT_VISIBLE_CORES="));
}

TEST(DeviceList, NarrowsLeasedCoresToThoseTheCallerNames) {
  DeviceList list({Neuron("n0", {0, 1}), Neuron("n1", {2, 3})});
  struct Case {
    std::vector<std::string> leased;
    const char* callers;
    const char* commands;
  };
  const Case cases[] = {
      {{"n0"}, "1", "1"},   {{"n0", "n1"}, "1-2", "1,2"}, {{"n0", "n1"}, "3", "3"},
      {{"n0"}, "1,2", "1"},  // the device was named, too; its lease says what there is
      {{"n1"}, "0", "2,3"},  // another device was named: that counts
      {{"n1"}, "", "2,3"},  {{"n1"}, "nonsense", "2,3"},  {{"cpu"}, "1", ""},
  };
  for (const Case& c : cases) {
    const std::string name = "NEURON_RT_VISIBLE_CORES=";
    EXPECT_THAT(list.VisibilityVariables(c.leased, {name + c.callers}), ElementsAre(name + c.commands)) << c.callers;
  }
}

TEST(DeviceList, CountsDevicesWithoutAUuidAmongThoseOfTheirKind) {
  Device amd{.id = "3", .kind = DeviceKind::kAmd, .name = "MI300X"};
  DeviceList list({Neuron("0", {0, 1}), Gpu("1", ""), Gpu("big", ""), amd});
  EXPECT_THAT(list.VisibilityVariables({"1"}, {}),
              ElementsAre("CUDA_VISIBLE_DEVICES=0", "NEURON_RT_VISIBLE_CORES=", "ROCR_VISIBLE_DEVICES="));
  EXPECT_THAT(list.VisibilityVariables({"big", "3"}, {}),
              ElementsAre("CUDA_VISIBLE_DEVICES=1", "NEURON_RT_VISIBLE_CORES=", "ROCR_VISIBLE_DEVICES=0"));
  // The caller's own choice and what its command sees are the same device.
  EXPECT_THAT(list.VisibilityVariables(SelectOk(list, "", {"CUDA_VISIBLE_DEVICES=1"}), {}),
              ElementsAre("CUDA_VISIBLE_DEVICES=1", "NEURON_RT_VISIBLE_CORES=", "ROCR_VISIBLE_DEVICES="));
}

TEST(DeviceList, LeavesVendorsItDoesNotManageAsTheCallerHasThem) {
  EXPECT_THAT(DeviceList({}).VisibilityVariables({"cpu"}, {}), IsEmpty());
}

TEST(DeviceList, NamesNeuronDevicesByTheirNumbersWhereThereAreNoOthers) {
  const DeviceList alone({Neuron("neuron0", {0, 1}), Neuron("neuron1", {2, 3})});
  EXPECT_THAT(SelectOk(alone, "1"), ElementsAre("neuron1"));
  EXPECT_THAT(SelectOk(alone, "neuron1,0"), ElementsAre("neuron0", "neuron1"));
  EXPECT_EQ(alone.Select("0,neuron0", {}).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(alone.Select("2", {}).status().code(), ErrorCode::kUsage);
  const DeviceList mixed({Gpu("0", "GPU-aaaa"), Neuron("neuron0", {0, 1}), Neuron("neuron1", {2, 3})});
  EXPECT_THAT(SelectOk(mixed, "0"), ElementsAre("0"));
  EXPECT_EQ(mixed.Select("1", {}).status().code(), ErrorCode::kUsage);
  const DeviceList named({Neuron("0", {0, 1}), Neuron("neuron0", {2, 3})});
  EXPECT_THAT(SelectOk(named, "0"), ElementsAre("0"));
}

TEST(DeviceList, LeavesNeuronCoresAsTheCallerHasThemWhereNobodyTellsThem) {
  const DeviceList list({Neuron("neuron0", {})});
  EXPECT_THAT(list.VisibilityVariables({"neuron0"}, {}), testing::IsEmpty());
}

}  // namespace
}  // namespace kprof
