#include "daemon/devices/neuron/neuron_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

NeuronDevice Found(int index, std::vector<int> cores, const std::string& chip = "Trainium2") {
  NeuronDevice device;
  device.index = index;
  device.chip = chip;
  for (const int number : cores) device.cores.push_back({.number = number});
  return device;
}

TEST(NeuronPlaces, AddsEachThatWasFoundUnderANameThatNoOtherVendorsHas) {
  const NeuronDevice first = Found(0, {0, 1});
  const NeuronDevice second = Found(1, {2, 3}, "");
  std::vector<Device> devices = {{.id = "0", .kind = DeviceKind::kNvidia}};
  EXPECT_THAT(PlaceNeuronDevices({&first, &second}, devices), ElementsAre(Pair("neuron0", 0), Pair("neuron1", 1)));
  ASSERT_THAT(devices, SizeIs(3));
  EXPECT_EQ(devices[1], (Device{.id = "neuron0", .kind = DeviceKind::kNeuron, .name = "Trainium2", .cores = {0, 1}}));
  EXPECT_EQ(devices[2].name, "Neuron device");
  EXPECT_THAT(devices[2].cores, ElementsAre(2, 3));
}

TEST(NeuronPlaces, AddsNoneWhereTheConfigurationNamesSome) {
  const NeuronDevice first = Found(0, {0, 1});
  const NeuronDevice second = Found(1, {2, 3});
  std::vector<Device> devices = {{.id = "half", .kind = DeviceKind::kNeuron, .cores = {3}},
                                 {.id = "named", .kind = DeviceKind::kNeuron, .name = "mine", .cores = {0, 1}},
                                 {.id = "gone", .kind = DeviceKind::kNeuron, .cores = {8}}};
  EXPECT_THAT(PlaceNeuronDevices({&first, &second}, devices), ElementsAre(Pair("half", 1), Pair("named", 0)));
  ASSERT_THAT(devices, SizeIs(3));
  EXPECT_EQ(devices[0].name, "Trainium2");
  EXPECT_EQ(devices[1].name, "mine");
}

TEST(NeuronPlaces, LeavesOutOneWhoseNameTheConfigurationGaveToAnother) {
  const NeuronDevice first = Found(0, {0, 1});
  std::vector<Device> devices = {{.id = "neuron0", .kind = DeviceKind::kAmd}};
  EXPECT_THAT(PlaceNeuronDevices({&first}, devices), IsEmpty());
  EXPECT_THAT(devices, SizeIs(1));
}

}  // namespace
}  // namespace kprof
