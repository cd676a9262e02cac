// The devices that a run has which names none, for a tool that needs some of a kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/capture/tools.h"
#include "daemon/runs/command/run_submission.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Device kGpu{.id = "0", .kind = DeviceKind::kNvidia};
const Device kFirstChip{.id = "neuron0", .kind = DeviceKind::kNeuron, .cores = {0, 1}};
const Device kSecondChip{.id = "neuron1", .kind = DeviceKind::kNeuron, .cores = {2, 3}};

RunPlace PlaceOn(std::vector<Device> devices, RunRequest request) {
  const Result<RunPlace> place = PlaceByItself(request, *FindTool(request.tool), DeviceList(std::move(devices)));
  EXPECT_TRUE(place.ok()) << place.status().ToString();
  return place.ok() ? *place : RunPlace();
}

TEST(PlacesOfRuns, OfANeuronToolHaveItsDevices) {
  EXPECT_THAT(PlaceOn({kFirstChip, kSecondChip}, {.tool = "neuron"}).devices, ElementsAre("neuron0"));
  EXPECT_EQ(PlaceOn({kFirstChip}, {.tool = "neuron"}).clocks, "none");
  EXPECT_EQ(PlaceOn({kFirstChip}, {.tool = "command", .device = "neuron0", .clocks = "lock!"}).clocks, "none");
  EXPECT_THAT(PlaceOn({kGpu, kFirstChip}, {.tool = "neuron"}).devices, ElementsAre("neuron0"));
  EXPECT_THAT(
      PlaceOn({kFirstChip, kSecondChip}, {.tool = "neuron-system", .environment = {"NEURON_RT_VISIBLE_CORES=2-3"}})
          .devices,
      ElementsAre("neuron1"));
}

TEST(PlacesOfRuns, WithoutSuchADeviceHaveNoneAndNoClocks) {
  for (const std::vector<Device>& devices : {std::vector<Device>(), std::vector<Device>{kGpu}}) {
    const RunPlace place = PlaceOn(devices, {.tool = "neuron"});
    EXPECT_THAT(place.devices, IsEmpty());
    EXPECT_EQ(place.clocks, "none");
  }
  EXPECT_THAT(PlaceOn({}, {.tool = "command"}).devices, ElementsAre("cpu"));
}

TEST(PlacesOfRuns, NeedNoDeviceWhereNothingRunsOnOne) {
  EXPECT_THAT(PlaceOn({kFirstChip}, {.tool = "neuron", .options = {"neff=a.neff", "ntff=a.ntff"}}).devices, IsEmpty());
}

TEST(PlacesOfRuns, AreWhatTheRequestNames) {
  const RunPlace place = PlaceOn({kFirstChip}, {.tool = "neuron", .device = "cpu", .clocks = "base"});
  EXPECT_THAT(place.devices, ElementsAre("cpu"));
  EXPECT_EQ(place.clocks, "base");
}

}  // namespace
}  // namespace kprof
