#include "daemon/devices/neuron/neuron_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NeuronDevice UsedBy(std::vector<int64_t> pids) {
  NeuronDevice device;
  for (const int64_t pid : pids) device.processes.push_back({.pid = pid});
  return device;
}

TEST(NeuronChanges, TellsWhoCameAndWhoWent) {
  EXPECT_THAT(ChangesOf(UsedBy({1, 2}), UsedBy({2, 3, 4})),
              ElementsAre(NeuronChange{NeuronChange::Kind::kProcesses, "used by process 3, 4", 3},
                          NeuronChange{NeuronChange::Kind::kProcesses, "no more used by process 1", 3}));
  EXPECT_THAT(ChangesOf(UsedBy({1}), UsedBy({1})), IsEmpty());
}

TEST(NeuronChanges, TellsCountsThatHaveGrown) {
  NeuronDevice before;
  before.ecc = {.mem_uncorrected = 1, .mem_repairable_uncorrected = 2, .sram_uncorrected = 3};
  before.execution_errors = 4;
  NeuronDevice now = before;
  EXPECT_THAT(ChangesOf(before, now), IsEmpty());
  now.ecc = {.mem_uncorrected = 2, .mem_repairable_uncorrected = 4, .sram_uncorrected = 6};
  now.execution_errors = 8;
  EXPECT_THAT(
      ChangesOf(before, now),
      ElementsAre(
          NeuronChange{NeuronChange::Kind::kMemoryError, "uncorrected errors of its memory: 2, 1 more than before", 2},
          NeuronChange{NeuronChange::Kind::kMemoryError,
                       "uncorrected errors of its memory that can be repaired: 4, 2 more than before", 4},
          NeuronChange{NeuronChange::Kind::kMemoryError, "uncorrected errors of its SRAM: 6, 3 more than before", 6},
          NeuronChange{NeuronChange::Kind::kExecutionErrors, "executions with errors: 8, 4 more than before", 8}));
}

TEST(NeuronChanges, TakesNothingForAChangeThatIsNotTold) {
  NeuronDevice known;
  known.ecc.mem_uncorrected = 5;
  known.execution_errors = 5;
  EXPECT_THAT(ChangesOf(NeuronDevice(), known), IsEmpty());
  EXPECT_THAT(ChangesOf(known, NeuronDevice()), IsEmpty());
  NeuronDevice reset = known;
  reset.ecc.mem_uncorrected = 0;
  EXPECT_THAT(ChangesOf(known, reset), IsEmpty());
}

TEST(NeuronChanges, TellsWhatIsUnhealthy) {
  NeuronDevice ill;
  ill.unhealthy_components = {"hbm", "link_host"};
  EXPECT_THAT(
      ChangesOf(NeuronDevice(), ill),
      ElementsAre(NeuronChange{NeuronChange::Kind::kUnhealthy, "its driver calls unhealthy: hbm, link_host", 2}));
  EXPECT_THAT(
      ChangesOf(ill, NeuronDevice()),
      ElementsAre(NeuronChange{NeuronChange::Kind::kUnhealthy, "its driver calls no component unhealthy any more", 0}));
}

}  // namespace
}  // namespace kprof
