#include "daemon/devices/neuron/neuron_ls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// As inf2 has it.
constexpr const char* kInf2 = R"([
    {
        "neuron_device": 0,
        "bdf": "0000:00:1f.0",
        "cpu_affinity": "0-3",
        "numa_node": "-1",
        "connected_to": null,
        "nc_count": 2,
        "memory_size": 34359738368,
        "neuroncore_ids": [0, 1],
        "neuron_processes": [
            {"pid": 2199, "command": "python train.py", "neuron_runtime_version": "2.30.51"}
        ]
    }
])";

NeuronInventory Read(const std::string& text) {
  Result<NeuronInventory> inventory = ParseNeuronLs(text);
  EXPECT_TRUE(inventory.ok()) << inventory.status().ToString();
  return inventory.ok() ? *inventory : NeuronInventory();
}

TEST(NeuronLs, ReadsTheArrayOfInf2) {
  NeuronDeviceFacts device;
  device.bdf = "0000:00:1f.0";
  device.cpu_affinity = "0-3";
  device.numa_node = -1;
  device.nc_count = 2;
  device.memory_bytes = 34359738368;
  device.neuroncore_ids = {0, 1};
  device.processes = {{2199, "python train.py", "2.30.51"}};
  EXPECT_THAT(Read(kInf2).devices, ElementsAre(device));
}

TEST(NeuronLs, ReadsWhatTrn2AndNewerVersionsAdd) {
  const NeuronInventory inventory = Read(R"([
      {"neuron_device": 1, "bdf": "cc:00.0", "numa_node": 1, "connected_to": [12, 3, 4, 0], "nc_count": "4",
       "logical_neuroncore_config": 2, "memory_size": "103079215104", "neuroncore_ids": [4, 5, 6, 7],
       "neuron_processes": [], "instance_type": "trn2.48xlarge", "something_new": {"a": [1]}},
      {"neuron_device": 0, "cpu_affinity": "48-95,144-191"}])");
  ASSERT_EQ(inventory.devices.size(), 2U);
  EXPECT_EQ(inventory.devices[0].cpu_affinity, "48-95,144-191");
  EXPECT_EQ(inventory.devices[0].nc_count, std::nullopt);
  const NeuronDeviceFacts& second = inventory.devices[1];
  EXPECT_EQ(second.index, 1);
  EXPECT_EQ(second.bdf, "cc:00.0");
  EXPECT_EQ(second.numa_node, 1);
  EXPECT_THAT(second.connected_to, ElementsAre(12, 3, 4, 0));
  EXPECT_EQ(second.nc_count, 4);
  EXPECT_EQ(second.lnc, 2);
  EXPECT_EQ(second.memory_bytes, 103079215104);
  EXPECT_EQ(second.instance_type, "trn2.48xlarge");
}

TEST(NeuronLs, FindsTheDevicesInAnObjectUnderWhateverKey) {
  const std::string devices = R"([{"neuron_device":0,"nc_count":4}])";
  for (const char* key : {"neuron_devices", "devices", "new_name"}) {
    const NeuronInventory inventory =
        Read(R"({"errors":[],"versions":["2.34"],"instance_type":"trn2.48xlarge","instance_id":"i-1",)"
             R"("logical_neuroncore_config":2,")" +
             std::string(key) + "\":" + devices + "}");
    ASSERT_EQ(inventory.devices.size(), 1U) << key;
    EXPECT_EQ(inventory.devices[0].nc_count, 4);
    EXPECT_EQ(inventory.instance_type, "trn2.48xlarge");
    EXPECT_EQ(inventory.instance_id, "i-1");
    EXPECT_EQ(inventory.lnc, 2);
  }
}

TEST(NeuronLs, SkipsLinesBeforeTheJson) {
  EXPECT_EQ(Read("[WARN] something\n{not this}\nnor [this]\n  " + std::string(kInf2)).devices.size(), 1U);
}

TEST(NeuronLs, HasNoDevicesWhereItSaysSo) {
  for (const char* text : {"[]", "[ ]\n", "No neuron devices found\n",
                           "ERROR: No neuron devices found in this instance", R"({"devices":[]})", "a line\n[]"}) {
    EXPECT_THAT(Read(text).devices, IsEmpty()) << text;
  }
}

TEST(NeuronLs, LeavesOutWhatIsOfAnotherKind) {
  const NeuronInventory inventory =
      Read(R"([{"neuron_device":0,"bdf":7.5,"cpu_affinity":null,"numa_node":"x","nc_count":-1,"memory_size":{},)"
           R"("logical_neuroncore_config":3,"neuron_processes":[{"pid":"12"},{"pid":-1,"command":5}]}])");
  NeuronDeviceFacts device;
  device.processes = {{12, "", std::nullopt}, {0, "5", std::nullopt}};
  EXPECT_THAT(inventory.devices, ElementsAre(device));
}

TEST(NeuronLs, SaysWhatItCannotRead) {
  struct Case {
    std::string text;
    const char* why;
  };
  std::string many = "[";
  for (int i = 0; i < 1025; ++i) many += (i == 0 ? "" : ",") + (R"({"neuron_device":)" + std::to_string(i)) + "}";
  std::string cores;
  for (int i = 0; i < 257; ++i) cores += (i == 0 ? "" : ",") + std::to_string(i);
  const Case cases[] = {
      {"", "there is no JSON in it"},
      {"command not found", "there is no JSON in it"},
      {"\"text\"", "there is no JSON in it"},
      {std::string(kInf2).substr(0, 100), "ends too early, after 100 bytes"},
      {"x\n[{\"neuron_device\":0,}]", "byte 20 cannot stand where it does"},
      {R"([{"bdf":"1"}])", "[0].neuron_device: is not there"},
      {R"([{"neuron_device":0},{"neuron_device":"x"}])", "[1].neuron_device: is not there, or no number of a device"},
      {R"([{"neuron_device":-1}])", "[0].neuron_device"},
      {R"([{"neuron_device":0},7])", "[1]: is no object"},
      {R"({"devices":[{"neuron_device":0},null]})", "devices[1]: is no object"},
      {R"([{"neuron_device":3},{"neuron_device":3}])", "has device 3 twice"},
      {R"([{"neuron_device":0,"connected_to":7}])", "[0].connected_to: is no list"},
      {R"([{"neuron_device":0,"connected_to":["a"]}])", "[0].connected_to: has an element that is no such number"},
      {R"([{"neuron_device":0,"neuron_processes":[7]}])", "[0].neuron_processes: has an element that is no object"},
      {R"({"a":[1],"b":{}})", "holds no list of devices"},
      {"{}", "holds no list of devices"},
      {many + "]", "the list: has more than 1024 elements"},
      {R"([{"neuron_device":0,"neuroncore_ids":[)" + cores + "]}]", "[0].neuroncore_ids: has more than 256 elements"},
  };
  for (const Case& c : cases) {
    const Result<NeuronInventory> inventory = ParseNeuronLs(c.text);
    ASSERT_FALSE(inventory.ok()) << c.why;
    EXPECT_EQ(inventory.status().code(), ErrorCode::kBadInput) << c.why;
    EXPECT_EQ(inventory.status().what(), "read what neuron-ls says");
    EXPECT_THAT(inventory.status().why(), HasSubstr(c.why));
  }
}

TEST(NeuronLs, TellsTheInstanceInItsText) {
  struct Case {
    const char* text;
    std::optional<std::string> type;
  };
  const Case cases[] = {
      {"instance-type: inf2.xlarge\ninstance-id: i-1\n+----+\n| NEURON |\n", "inf2.xlarge"},
      {"[INFO] reading\n  instance-type:   trn2.48xlarge  \r\n", "trn2.48xlarge"},
      {"instance-type:\n", std::nullopt},
      {"the instance-type: inf2.xlarge\n", std::nullopt},
      {"", std::nullopt},
  };
  for (const Case& c : cases) EXPECT_EQ(InstanceTypeInText(c.text), c.type) << c.text;
  EXPECT_EQ(InstanceTypeInText("instance-type: " + std::string(100, 'x')), std::nullopt);
}

TEST(NeuronLs, RefusesEachCutOfAnAnswer) {
  const std::string whole = kInf2;
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(ParseNeuronLs(whole.substr(0, size)).ok()) << size;
}

}  // namespace
}  // namespace kprof
