#include "daemon/rpc/services/device_view.h"

#include <gmock/gmock.h>

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

AcceleratorStanding Gpu(const std::string& id, DeviceHealth health = DeviceHealth::kOk) {
  AcceleratorStanding device{.id = id, .facts = {.kind = DeviceKind::kNvidia, .health = health}, .clocks_trouble = {}};
  if (health != DeviceHealth::kStarting) device.facts.nvidia = NvidiaIdentity{.uuid = "GPU-" + id};
  return device;
}

std::vector<std::string> Texts(const std::vector<Diagnosis>& found) {
  std::vector<std::string> texts;
  for (const Diagnosis& one : found) {
    const char* levels[] = {"ok", "warning", "problem"};
    texts.push_back(one.check + " " + levels[static_cast<size_t>(one.level)] + " " + one.message);
    EXPECT_EQ(one.remedy.empty(), one.level == DiagnosisLevel::kOk) << one.message;
  }
  return texts;
}

TEST(DeviceDiagnoses, SaysNothingWhereThereAreNone) {
  EXPECT_THAT(DiagnoseAccelerators({}, false), IsEmpty());
}

TEST(DeviceDiagnoses, CountsThoseThatAreWell) {
  EXPECT_THAT(
      Texts(DiagnoseAccelerators({Gpu("0")}, true)),
      ElementsAre("devices ok 1 accelerator, which is well", "clocks ok kprofd may lock the clocks of 1 accelerator"));
  EXPECT_THAT(Texts(DiagnoseAccelerators({Gpu("0"), Gpu("1")}, true)),
              ElementsAre("devices ok 2 accelerators, all of them well",
                          "clocks ok kprofd may lock the clocks of 2 accelerators"));
}

TEST(DeviceDiagnoses, CallsNobodyWellWhoHasNotAnswered) {
  EXPECT_THAT(Texts(DiagnoseAccelerators({Gpu("0"), Gpu("1", DeviceHealth::kStarting)}, true)),
              ElementsAre("devices warning 2 accelerators, of which 1 does not answer yet",
                          "clocks ok kprofd may lock the clocks of 1 accelerator"));
}

TEST(DeviceDiagnoses, NamesEachThatIsNotWell) {
  AcceleratorStanding lost = Gpu("1", DeviceHealth::kLost);
  lost.facts.trouble = Fail(ErrorCode::kNotFound, "look", "it fell off the bus", "reboot");
  AcceleratorStanding locked = Gpu("2");
  locked.clocks_trouble = Fail(ErrorCode::kTimedOut, "release", "the driver hangs");
  EXPECT_THAT(Texts(DiagnoseAccelerators({Gpu("0"), lost, locked}, true)),
              ElementsAre("devices problem device 1 is lost: it fell off the bus",
                          HasSubstr("clocks problem the clocks of device 2 are not given back yet: the driver hangs")));
}

TEST(DeviceDiagnoses, SaysThatClocksTakeRoot) {
  EXPECT_THAT(Texts(DiagnoseAccelerators({Gpu("0")}, false)),
              ElementsAre(HasSubstr("devices ok"), HasSubstr("clocks warning clocks cannot be locked")));
  AcceleratorStanding neuron{.id = "nd0", .facts = {.kind = DeviceKind::kNeuron}, .clocks_trouble = {}};
  EXPECT_THAT(Texts(DiagnoseAccelerators({neuron}, false)), ElementsAre("devices ok 1 accelerator, which is well"));
}

}  // namespace
}  // namespace kprof
