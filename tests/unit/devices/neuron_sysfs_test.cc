#include "daemon/devices/neuron/neuron_sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "storage/base/descriptors.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/stand_ins/neuron/neuron_stand_in.h"

namespace kprof {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

NeuronSysfs ReadSysfs(const NeuronSysfsStandIn& tree) {
  return ReadNeuronSysfs(tree.root(), tree.module_folder());
}

// What is opened and changed below a folder, by the kernel's word.
class OpenedFiles {
 public:
  explicit OpenedFiles(const std::string& root) : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    Watch(root);
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_directory()) Watch(entry.path().string());
    }
  }

  // Paths of files, each with what happened there.
  std::map<std::string, uint32_t> Take() {
    std::map<std::string, uint32_t> seen;
    alignas(inotify_event) char block[65536];
    for (ssize_t size = 0; (size = ::read(fd_.get(), block, sizeof block)) > 0;) {
      for (ssize_t at = 0; at < size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(block + at);
        KPROF_CHECK((event->mask & IN_Q_OVERFLOW) == 0);
        if (event->len > 0 && (event->mask & IN_ISDIR) == 0)
          seen[folders_[event->wd] + "/" + event->name] |= event->mask;
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
    return seen;
  }

 private:
  void Watch(const std::string& folder) {
    const int watch = ::inotify_add_watch(fd_.get(), folder.c_str(), IN_ALL_EVENTS);
    KPROF_CHECK(watch >= 0);
    folders_[watch] = folder;
  }

  const UniqueFd fd_;
  std::map<int, std::string> folders_;
};

TEST(NeuronSysfs, ReadsAnInf2OfDriver226) {
  const NeuronSysfs sysfs = ReadSysfs(NeuronSysfsStandIn("--driver 2.26"));
  EXPECT_EQ(sysfs.driver_version, "2.26");
  ASSERT_THAT(sysfs.devices, SizeIs(1));
  const NeuronSysfsDevice& device = sysfs.devices[0];
  EXPECT_EQ(device.arch_type, "NDv3");
  EXPECT_EQ(device.device_name, "Inferentia2");
  EXPECT_EQ(device.instance_type, "Inf2");
  EXPECT_EQ(device.serial_number, "a1b2c3d4e5f60000");
  EXPECT_EQ(device.core_count, 2);
  EXPECT_EQ(device.connected, std::vector<int>());
  EXPECT_EQ(device.ecc, NeuronEccCounts());
  EXPECT_EQ(device.host_memory, std::nullopt);
  EXPECT_EQ(device.power, (NeuronPower{NeuronPower::Status::kValid, 1787754540, 0.32, 3.04, 1.57}));
  EXPECT_EQ(device.power_raw, std::nullopt);
  EXPECT_THAT(device.notes, IsEmpty());
  ASSERT_THAT(device.cores, SizeIs(2));
  const NeuronSysfsCore& core = device.cores[1];
  EXPECT_EQ(core.core, 1);
  EXPECT_EQ(core.arch_type, "NCv2");
  EXPECT_EQ(core.device_memory, (NeuronMemoryCounter{5500, 0, 60000}));
  EXPECT_THAT(core.device_memory_kinds, Contains(NeuronNamedMemory{"tensors", {900, 0, 9000}}));
  EXPECT_EQ(core.host_memory, (NeuronMemoryCounter{4096, 0, 8192}));
  EXPECT_EQ(core.errors, std::nullopt);
  EXPECT_EQ(core.successes, std::nullopt);
  EXPECT_EQ(core.time_in_use_us, 0);
  EXPECT_EQ(core.reset_requests, 8);
}

TEST(NeuronSysfs, ReadsWhatEachDriverAdds) {
  const NeuronSysfsDevice old = ReadSysfs(NeuronSysfsStandIn("--driver 2.24 --chip trn1")).devices.at(0);
  EXPECT_EQ(old.device_name, "Trainium1");
  EXPECT_EQ(old.ecc, (NeuronEccCounts{std::nullopt, 1, 2, std::nullopt, 3}));
  EXPECT_EQ(old.host_memory, (NeuronMemoryCounter{280, std::nullopt, std::nullopt}));
  EXPECT_EQ(old.cores[0].errors, 0);
  EXPECT_THAT(old.health, IsEmpty());

  const NeuronSysfsDevice middle = ReadSysfs(NeuronSysfsStandIn("--driver 2.28")).devices.at(0);
  EXPECT_THAT(middle.health, ElementsAre(NeuronHealthNode{"hbm_ecc_count", "4"}, NeuronHealthNode{"hw_error", "5"}));

  const NeuronSysfs recent = ReadSysfs(NeuronSysfsStandIn("--driver 2.30.2 --devices 3 --chip trn2"));
  EXPECT_EQ(recent.driver_version, "2.30.2");
  ASSERT_THAT(recent.devices, SizeIs(3));
  EXPECT_THAT(*recent.devices[1].connected, ElementsAre(0, 2));
  EXPECT_THAT(recent.devices[0].unhealthy_components, ElementsAre("hbm", "link_host"));
  EXPECT_THAT(recent.devices[1].unhealthy_components, IsEmpty());
  EXPECT_EQ(recent.devices[0].ecc, (NeuronEccCounts{7, 1, 2, 6, 3}));
  EXPECT_THAT(recent.devices[0].health, Contains(NeuronHealthNode{"healthcheck_heartbeat", "1787754540"}));
  EXPECT_EQ(recent.devices[0].power_raw, "12.5,13.0");
  ASSERT_THAT(recent.devices[2].cores, SizeIs(8));
  EXPECT_EQ(recent.devices[2].cores[7].arch_type, "NCv3");
  EXPECT_EQ(recent.devices[2].cores[7].time_in_use_us, 14);
}

TEST(NeuronSysfs, SumsErrorsUnderTheirOldAndTheirNewNames) {
  for (const char* names : {"", " --old-names"}) {
    const NeuronSysfsStandIn tree(std::string("--driver 2.30.2") + names);
    const NeuronSysfsCore core = ReadSysfs(tree).devices.at(0).cores.at(0);
    EXPECT_EQ(core.errors, 3) << names;
    EXPECT_EQ(core.successes, 500) << names;
  }
}

TEST(NeuronSysfs, CountsAnErrorOnceThatHasBothNames) {
  const NeuronSysfsStandIn tree("--driver 2.30.2");
  const std::string status = tree.root() + "/neuron0/neuron_core0/stats/status/";
  fs::create_directory(status + "infer_failed_to_queue");
  std::ofstream(status + "infer_failed_to_queue/total") << "4\n";
  std::ofstream(status + "execute_failed_to_queue/total") << "4\n";
  EXPECT_EQ(ReadSysfs(tree).devices.at(0).cores.at(0).errors, 7);
}

TEST(NeuronSysfs, NotesNodesThatHaveMoved) {
  const NeuronSysfsDevice device = ReadSysfs(NeuronSysfsStandIn("--driver 2.31")).devices.at(0);
  EXPECT_EQ(device.arch_type, std::nullopt);
  EXPECT_EQ(device.power, std::nullopt);
  EXPECT_THAT(device.cores, IsEmpty());
  EXPECT_THAT(device.notes, ElementsAre(HasSubstr("before 2.31 have them: info/architecture, neuron_core0;")));

  const NeuronSysfsStandIn partly("--driver 2.30.2");
  fs::rename(partly.root() + "/neuron0/neuron_core0/stats/other_info", partly.root() + "/neuron0/neuron_core0/other");
  EXPECT_THAT(ReadSysfs(partly).devices.at(0).notes,
              ElementsAre(HasSubstr("have them: neuron_core0/stats/other_info;")));
}

TEST(NeuronSysfs, NeverOpensWhatActsAndNeverWrites) {
  const NeuronSysfsStandIn tree("--driver 2.30.2 --devices 2");
  OpenedFiles opened(tree.root());
  ASSERT_THAT(ReadSysfs(tree).devices, SizeIs(2));
  const std::map<std::string, uint32_t> seen = opened.Take();
  EXPECT_THAT(seen, SizeIs(testing::Gt(100U)));
  for (const auto& [path, mask] : seen) {
    EXPECT_EQ(mask & ~static_cast<uint32_t>(IN_OPEN | IN_ACCESS | IN_CLOSE_NOWRITE), 0U) << path;
    EXPECT_FALSE(path.ends_with("/reset") || path.ends_with("/notify_delay")) << path;
  }
}

TEST(NeuronSysfs, HasNothingWhereThereIsNoDriver) {
  const TemporaryFolder empty;
  EXPECT_EQ(ReadNeuronSysfs(empty / "none", empty / "none"), NeuronSysfs());
  EXPECT_EQ(ReadNeuronSysfs(empty.path(), empty.path()), NeuronSysfs());
}

TEST(NeuronSysfs, SaysThatItCannotLook) {
  const TemporaryFolder folder;
  fs::create_symlink("neuron_device", folder / "neuron_device");  // to itself
  const NeuronSysfs sysfs = ReadNeuronSysfs(folder / "neuron_device", folder / "none");
  EXPECT_THAT(sysfs.devices, IsEmpty());
  EXPECT_THAT(sysfs.notes, ElementsAre(HasSubstr("/neuron_device cannot be opened: Too many levels")));
}

TEST(NeuronSysfs, LeavesOutWhatCannotBeRead) {
  const NeuronSysfsStandIn tree("--driver 2.30.2");
  const std::string device = tree.root() + "/neuron0/";
  const auto replace = [&](const std::string& path, const std::string& text) {
    std::ofstream(device + path, std::ios::binary) << text;
  };
  replace("core_count", "two\n");
  replace("connected_devices", "1, x\n");
  replace("info/serial_number", std::string(5000, '1'));
  replace("info/architecture/arch_type", "\n");
  replace("info/architecture/device_name", "a\xff\n");
  replace("stats/power/utilization", "POWER_STATUS_VALID,1\n");
  replace("stats/hardware/mem_ecc_uncorrected", "-1\n");
  replace("neuron_core0/stats/status/timeout/total", "99999999999999999999\n");
  fs::remove(device + "neuron_core1/info/architecture/arch_type");
  ASSERT_EQ(::mkfifo((device + "neuron_core1/info/architecture/arch_type").c_str(), 0600), 0);
  const NeuronSysfsDevice read = ReadSysfs(tree).devices.at(0);
  EXPECT_EQ(read.core_count, std::nullopt);
  EXPECT_EQ(read.connected, std::nullopt);
  EXPECT_EQ(read.serial_number, std::nullopt);
  EXPECT_EQ(read.arch_type, std::nullopt);
  EXPECT_EQ(read.device_name, "a\\xff");
  EXPECT_EQ(read.power, std::nullopt);
  EXPECT_EQ(read.ecc.mem_uncorrected, std::nullopt);
  EXPECT_EQ(read.cores[0].errors, 1);
  EXPECT_EQ(read.cores[1].arch_type, std::nullopt);
}

TEST(NeuronSysfs, FollowsNoLinks) {
  const NeuronSysfsStandIn tree("--driver 2.28");
  const TemporaryFolder elsewhere;
  std::ofstream(elsewhere / "arch_type") << "NDv2\n";
  const std::string device = tree.root() + "/neuron0";
  fs::remove(device + "/info/serial_number");
  fs::create_symlink(elsewhere / "arch_type", device + "/info/serial_number");
  fs::remove_all(device + "/info/architecture");
  fs::create_symlink(elsewhere.path(), device + "/info/architecture");
  fs::create_symlink(device, tree.root() + "/neuron1");
  const NeuronSysfs sysfs = ReadSysfs(tree);
  ASSERT_THAT(sysfs.devices, SizeIs(1));
  EXPECT_EQ(sysfs.devices[0].serial_number, std::nullopt);
  EXPECT_EQ(sysfs.devices[0].arch_type, std::nullopt);
}

TEST(NeuronSysfs, KnowsDevicesByTheirNumbersAlone) {
  const NeuronSysfsStandIn tree("--driver 2.28 --devices 11");
  for (const char* name : {"/neuron", "/neuron01", "/neuron-1", "/neuronx", "/neuron99999", "/power"}) {
    fs::create_directory(tree.root() + name);
  }
  const NeuronSysfs sysfs = ReadSysfs(tree);
  ASSERT_THAT(sysfs.devices, SizeIs(11));
  for (int i = 0; i < 11; ++i) EXPECT_EQ(sysfs.devices[static_cast<size_t>(i)].index, i);
}

TEST(NeuronPower, HasValuesOnlyWhereTheyAreValid) {
  using Status = NeuronPower::Status;
  struct Case {
    const char* line;
    std::optional<NeuronPower> power;
  };
  const Case cases[] = {
      {"POWER_STATUS_VALID,1787754600,0.10,2.82,1.57", NeuronPower{Status::kValid, 1787754600, 0.1, 2.82, 1.57}},
      {"POWER_STATUS_VALID, 1787754600, 0, 25.00, 18.86", NeuronPower{Status::kValid, 1787754600, 0, 25, 18.86}},
      {"POWER_STATUS_NO_DATA,1787754600,0.00,0.00,0.00", NeuronPower{Status::kNoData, 1787754600, {}, {}, {}}},
      {"POWER_STATUS_INVALID,0,7,7,7", NeuronPower{Status::kInvalid, 0, {}, {}, {}}},
      {"POWER_STATUS_NO_DATA", NeuronPower{Status::kNoData, {}, {}, {}, {}}},
      {"POWER_STATUS_VALID", {}},
      {"POWER_STATUS_VALID,1,2,3", {}},
      {"POWER_STATUS_VALID,1,2,3,4,5", {}},
      {"POWER_STATUS_VALID,1,,3,4", {}},
      {"POWER_STATUS_VALID,x,2,3,4", {}},
      {"POWER_STATUS_VALID,1,-2,3,4", {}},
      {"POWER_STATUS_VALID,1,nan,3,inf", {}},
      {"POWER_STATUS_OTHER,1,2,3,4", {}},
      {"", {}},
      {",,,,", {}},
  };
  for (const Case& c : cases) EXPECT_EQ(ParseNeuronPower(c.line), c.power) << c.line;
}

TEST(NeuronSysfs, HasTheInstanceInTheFirmwaresTables) {
  const TemporaryFolder folder;
  EXPECT_EQ(ReadDmiInstanceType(folder.path()), std::nullopt);
  std::ofstream(folder / "product_name") << "inf2.xlarge\n";
  EXPECT_EQ(ReadDmiInstanceType(folder.path()), std::nullopt);  // whose name that is nobody says
  std::ofstream(folder / "sys_vendor") << "Amazon EC2\n";
  EXPECT_EQ(ReadDmiInstanceType(folder.path()), "inf2.xlarge");
  std::ofstream(folder / "sys_vendor", std::ios::trunc) << "QEMU\n";
  EXPECT_EQ(ReadDmiInstanceType(folder.path()), std::nullopt);
}

}  // namespace
}  // namespace kprof
