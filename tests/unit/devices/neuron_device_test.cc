#include "daemon/devices/neuron/neuron_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<int> NumbersOf(const NeuronDevice& device) {
  std::vector<int> numbers;
  for (const NeuronLogicalCore& core : device.cores) numbers.push_back(core.number);
  return numbers;
}

NeuronDeviceFacts Facts(int index, std::optional<int> count, std::vector<int> ids = {}) {
  NeuronDeviceFacts facts;
  facts.index = index;
  facts.nc_count = count;
  facts.neuroncore_ids = std::move(ids);
  return facts;
}

NeuronSysfsDevice Tree(int index, int cores, const std::string& core_arch = "") {
  NeuronSysfsDevice device;
  device.index = index;
  for (int i = 0; i < cores; ++i) {
    NeuronSysfsCore core;
    core.core = i;
    if (!core_arch.empty()) core.arch_type = core_arch;
    device.cores.push_back(core);
  }
  return device;
}

NeuronSources Listed(std::vector<NeuronDeviceFacts> devices) {
  NeuronSources sources;
  sources.inventory = NeuronInventory{.devices = std::move(devices)};
  return sources;
}

TEST(NeuronChipTable, KnowsChipsByAllTheirNames) {
  struct Case {
    const char* name;
    const char* chip;
  };
  const Case cases[] = {
      {"Inferentia2", "Inferentia2"},
      {"inferentia2", "Inferentia2"},
      {"Inf2", "Inferentia2"},
      {"inf2.48xlarge", "Inferentia2"},
      {"NDv3", "Inferentia2"},
      {"Trainium1", "Trainium1"},
      {"trn1n.32xlarge", "Trainium1"},
      {"NDv2", "Trainium1"},
      {"trn2u.48xlarge", "Trainium2"},
      {"Trainium2", "Trainium2"},
      {"trn3.48xlarge", "Trainium3"},
      {"inf1.xlarge", nullptr},
      {"trn12.large", nullptr},
      {"NDv4", nullptr},
      {"", nullptr},
      {"g5.xlarge", nullptr},
  };
  for (const Case& c : cases) {
    const NeuronChip* chip = FindNeuronChip(c.name);
    EXPECT_EQ(chip == nullptr ? "" : chip->name, c.chip == nullptr ? "" : c.chip) << c.name;
  }
  EXPECT_EQ(FindNeuronChip("inf2")->core_version, "v2");
  EXPECT_EQ(FindNeuronChip("trn1")->core_version, "v2");
  EXPECT_EQ(FindNeuronChip("trn2")->core_version, "v3");
  EXPECT_EQ(FindNeuronChip("trn3")->core_version, "v4");
  EXPECT_EQ(FindNeuronChip("trn3")->cores, 8);
}

TEST(NeuronDevice, KnowsDriversWhoseCountersAreLive) {
  for (const char* version : {"2.30.2", "2.30.2.0", "2.30.10", "2.31", "3.0"}) {
    EXPECT_TRUE(HasLiveNeuronCounters(version)) << version;
  }
  for (const char* version : {"", "2.30", "2.30.1", "2.26.0", "1.99.99", "x"}) {
    EXPECT_FALSE(HasLiveNeuronCounters(version)) << version;
  }
}

TEST(NeuronDevice, NeverTellsTheCoresVersionByTheDevices) {
  NeuronSources sources;
  sources.report = NeuronReport();
  sources.report->hardware = NeuronHardwareInfo{.device_type = "inferentia2",
                                                .device_version = "v3",
                                                .neuroncore_version = "v2",
                                                .device_count = 1,
                                                .cores_per_device = 2,
                                                .lnc = 1};
  const std::vector<NeuronDevice> devices = MergeNeuronDevices(sources);
  ASSERT_THAT(devices, SizeIs(1));
  EXPECT_EQ(devices[0].chip, "Inferentia2");
  EXPECT_EQ(devices[0].core_version, "v2");
  EXPECT_THAT(NumbersOf(devices[0]), ElementsAre(0, 1));

  NeuronSources by_arch;
  by_arch.sysfs = NeuronSysfs{.devices = {Tree(0, 2)}};
  by_arch.sysfs->devices[0].arch_type = "NDv3";
  EXPECT_EQ(MergeNeuronDevices(by_arch).at(0).core_version, "v2");
}

TEST(NeuronDevice, SaysWhoTellsTheChip) {
  struct Case {
    const char* configured;
    const char* driver;  // device_name
    const char* listed;
    const char* dmi;
    const char* arch;
    const char* chip;
    const char* source;
    std::optional<std::string> instance;
  };
  const Case cases[] = {
      {"", "", "", "", "", "", "", std::nullopt},
      {"", "", "inf2.xlarge", "", "", "Inferentia2", "neuron-ls (inf2.xlarge)", "inf2.xlarge"},
      {"", "", "", "trn1.32xlarge", "", "Trainium1", "the firmware (DMI) (trn1.32xlarge)", "trn1.32xlarge"},
      {"", "", "inf2.xlarge", "trn1.32xlarge", "", "Inferentia2", "neuron-ls (inf2.xlarge)", "inf2.xlarge"},
      {"", "Trainium2", "inf2.xlarge", "", "", "Trainium2", "the driver (Trainium2)", "inf2.xlarge"},
      {"", "", "", "", "NDv3", "Inferentia2", "the driver (NDv3)", std::nullopt},
      {"", "", "", "m5.large", "", "", "", "m5.large"},
      {"trn2.48xlarge", "", "inf2.xlarge", "", "", "Trainium2", "the configuration (trn2.48xlarge)", "inf2.xlarge"},
      {"Trainium3", "", "", "", "", "Trainium3", "the configuration (Trainium3)", std::nullopt},
      {"trn2.48xlarge", "", "", "", "", "Trainium2", "the configuration (trn2.48xlarge)", "trn2.48xlarge"},
  };
  for (const Case& c : cases) {
    NeuronSources sources = Listed({Facts(0, 2, {0, 1})});
    sources.sysfs = NeuronSysfs{.devices = {Tree(0, 2)}};
    const auto told = [](const char* text) { return *text == '\0' ? std::nullopt : std::optional<std::string>(text); };
    sources.sysfs->devices[0].device_name = told(c.driver);
    sources.sysfs->devices[0].arch_type = told(c.arch);
    sources.listed_instance_type = told(c.listed);
    sources.dmi_instance_type = told(c.dmi);
    sources.configured_chip = c.configured;
    const NeuronDevice device = MergeNeuronDevices(sources).at(0);
    EXPECT_EQ(device.chip, c.chip) << c.source;
    EXPECT_EQ(device.chip_source, c.source);
    EXPECT_EQ(device.instance_type, c.instance) << c.source;
  }
}

TEST(NeuronDevice, TakesTheCoresOwnVersionFirst) {
  struct Case {
    const char* arch;
    const char* version;
  };
  const Case cases[] = {{"NCv2", "v2"}, {"NC_V3", "v3"}, {"NC_V3d", "v3"}, {"ncv10", "v10"},
                        {"NC", "v2"},   {"NDv3", "v2"},  {"other", "v2"}};
  for (const Case& c : cases) {
    NeuronSources sources;
    sources.sysfs = NeuronSysfs{.devices = {Tree(0, 2, c.arch)}};
    sources.sysfs->devices[0].device_name = "Trainium1";
    EXPECT_EQ(MergeNeuronDevices(sources).at(0).core_version, c.version) << c.arch;
  }
}

TEST(NeuronDevice, CountsPhysicalAndLogicalCores) {
  struct Case {
    const char* what;
    std::optional<int> listed;  // logical
    std::optional<int> lnc;
    int in_tree;  // physical
    const char* instance;
    std::optional<int> physical;
    size_t logical;
    std::optional<int> of_each;
  };
  const Case cases[] = {
      {"all told", 4, 2, 8, "trn2.3xlarge", 8, 4, 2},
      {"LNC 1 on Trn2", 8, 1, 8, "trn2.3xlarge", 8, 8, 1},
      {"LNC by what both count", 4, {}, 8, "", 8, 4, 2},
      {"no tree", 4, 2, 0, "", 8, 4, 2},
      {"v2 has no LNC", 2, {}, 0, "inf2.xlarge", 2, 2, 1},
      {"nothing but the instance", {}, {}, 0, "inf2.xlarge", 2, 2, 1},
      {"LNC of a device that is not listed whole", {}, 2, 8, "", 8, 4, 2},
      {"nothing", {}, {}, 0, "", {}, 0, {}},
  };
  for (const Case& c : cases) {
    NeuronSources sources = Listed({Facts(0, c.listed)});
    sources.inventory->devices[0].lnc = c.lnc;
    if (*c.instance != '\0') sources.inventory->instance_type = c.instance;
    if (c.in_tree > 0) sources.sysfs = NeuronSysfs{.devices = {Tree(0, c.in_tree)}};
    const NeuronDevice device = MergeNeuronDevices(sources).at(0);
    EXPECT_EQ(device.physical_cores, c.physical) << c.what;
    EXPECT_THAT(device.cores, SizeIs(c.logical)) << c.what;
    EXPECT_EQ(device.lnc, c.of_each) << c.what;
    EXPECT_THAT(device.notes, IsEmpty()) << c.what;
  }
}

TEST(NeuronDevice, NotesCountsThatDoNotAgree) {
  NeuronSources sources = Listed({Facts(0, 3)});
  sources.inventory->lnc = 2;
  sources.sysfs = NeuronSysfs{.devices = {Tree(0, 8)}};
  EXPECT_THAT(MergeNeuronDevices(sources).at(0).notes,
              ElementsAre("3 logical cores of 2 physical ones each are not its 8 physical cores"));
}

TEST(NeuronDevice, NumbersCoresAsNeuronLsDoes) {
  const std::vector<NeuronDevice> devices =
      MergeNeuronDevices(Listed({Facts(0, 2, {3, 2}), Facts(1, 2, {0, 1}), Facts(5, std::nullopt, {7})}));
  EXPECT_THAT(NumbersOf(devices[0]), ElementsAre(2, 3));
  EXPECT_THAT(NumbersOf(devices[1]), ElementsAre(0, 1));
  EXPECT_THAT(NumbersOf(devices[2]), ElementsAre(7));
}

TEST(NeuronDevice, CountsCoresOnWhereNeuronLsDoesNotNumberThem) {
  const std::vector<NeuronDevice> devices = MergeNeuronDevices(Listed({Facts(0, 4), Facts(2, 4)}));
  EXPECT_THAT(NumbersOf(devices[0]), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(NumbersOf(devices[1]), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(devices[1].notes, IsEmpty());
}

TEST(NeuronDevice, CountsCoresOnWhereNeuronLsHasOneTwice) {
  const std::vector<NeuronDevice> devices = MergeNeuronDevices(Listed({Facts(0, 2, {0, 1}), Facts(1, 2, {0, 1})}));
  EXPECT_THAT(NumbersOf(devices[0]), ElementsAre(0, 1));
  EXPECT_THAT(NumbersOf(devices[1]), ElementsAre(2, 3));
  EXPECT_THAT(devices[0].notes, IsEmpty());
  EXPECT_THAT(devices[1].notes, ElementsAre(HasSubstr("does not number each core of the node once")));
}

TEST(NeuronDevice, TakesTheUsualLncWhereNobodyTellsItAndSaysSo) {
  NeuronSources sources;
  sources.sysfs = NeuronSysfs{.devices = {Tree(0, 8, "NCv3"), Tree(1, 8, "NCv3")}};
  for (NeuronSysfsDevice& device : sources.sysfs->devices) device.device_name = "Trainium2";
  const std::vector<NeuronDevice> devices = MergeNeuronDevices(sources);
  EXPECT_EQ(devices[1].lnc, 2);
  EXPECT_THAT(NumbersOf(devices[1]), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(devices[1].notes, ElementsAre(HasSubstr("nobody tells how many physical cores")));
}

TEST(NeuronDevice, TellsWhatEachRuntimeDoesOnIt) {
  NeuronSources sources = Listed({Facts(0, 2, {0, 1}), Facts(1, 2, {2, 3})});
  NeuronRuntime runtime;
  runtime.pid = 11;
  runtime.tag = "train";
  runtime.cores = std::vector<NeuronCoreUse>{{.core = 1}, {.core = 2}};
  runtime.executions = NeuronExecutions{.completed = 5, .completed_with_error = 1, .timed_out = 2};
  runtime.errors = NeuronErrorCounts{.numerical = 3, .hardware = 4};
  runtime.device_latency = NeuronLatency{.p50_s = 0.5, .p99_s = 0.9};
  runtime.memory =
      NeuronMemoryUse{.host_bytes = 7, .cores = {{.core = 1, .total_bytes = 10}, {.core = 2, .total_bytes = 20}}};
  NeuronRuntime idle;
  idle.pid = 12;
  sources.report = NeuronReport{.runtimes = {runtime, idle}};
  const std::vector<NeuronDevice> devices = MergeNeuronDevices(sources);
  const NeuronRuntimeUse on_first{11, "train", 5, 3, 7, 0.5, 0.9, 10, 7};
  const NeuronRuntimeUse on_second{11, "train", 5, 3, 7, 0.5, 0.9, 20, 7};
  EXPECT_THAT(devices[0].runtimes, ElementsAre(on_first));
  EXPECT_THAT(devices[1].runtimes, ElementsAre(on_second));
}

TEST(NeuronDevice, SumsWhatAllProcessesDoOnACore) {
  NeuronSources sources = Listed({Facts(0, 2, {0, 1}), Facts(1, 2, {2, 3})});
  sources.inventory->devices[1].processes = {{11, "python a.py", "2.30"}};
  NeuronRuntime first;
  first.pid = 11;
  first.cores = {{2, 60.0, 5.0, {}}};
  first.memory = NeuronMemoryUse{.cores = {{.core = 2, .total_bytes = 100}, {.core = 3, .total_bytes = 7}}};
  NeuronRuntime second;
  second.pid = 12;
  second.cores = {{2, 70.0, 6.0, {}}};
  sources.report = NeuronReport();
  sources.report->runtimes = {first, second};
  const std::vector<NeuronDevice> devices = MergeNeuronDevices(sources);
  EXPECT_THAT(devices[0].cores, ElementsAre(NeuronLogicalCore{.number = 0, .utilization_percent = 0.0},
                                            NeuronLogicalCore{.number = 1, .utilization_percent = 0.0}));
  EXPECT_THAT(devices[1].cores, ElementsAre(NeuronLogicalCore{2, 100.0, 11.0, 100, {11, 12}},
                                            NeuronLogicalCore{3, 0.0, std::nullopt, 7, {}}));
  EXPECT_THAT(devices[1].processes,
              ElementsAre(NeuronProcess{11, "python a.py", "2.30"}, NeuronProcess{12, "", std::nullopt}));
  EXPECT_EQ(devices[1].memory_used_bytes, 107);
}

TEST(NeuronDevice, DoesNotTakeACoreForIdleWhenAProcessIsNotTold) {
  NeuronSources sources = Listed({Facts(0, 1)});
  sources.report = NeuronReport();
  sources.report->runtimes = {NeuronRuntime{.pid = 3, .group_errors = {{"neuroncore_counters", "x"}}}};
  EXPECT_EQ(MergeNeuronDevices(sources).at(0).cores.at(0).utilization_percent, std::nullopt);
  sources.report.reset();
  EXPECT_EQ(MergeNeuronDevices(sources).at(0).cores.at(0).utilization_percent, std::nullopt);
}

TEST(NeuronDevice, PutsMemoryErrorsAndPowerTogether) {
  NeuronSources sources = Listed({Facts(0, 2)});
  sources.inventory->devices[0].memory_bytes = 1000;
  NeuronSysfsDevice tree = Tree(0, 2);
  tree.cores[0].device_memory = NeuronMemoryCounter{30, 1, 99};
  tree.cores[1].device_memory = NeuronMemoryCounter{4, 1, 99};
  tree.ecc = {std::nullopt, 5, 6, std::nullopt, std::nullopt};
  tree.unhealthy_components = {"hbm"};
  tree.power = NeuronPower{NeuronPower::Status::kValid, 60, 1, 3, 2};
  tree.notes = {"moved"};
  sources.sysfs = NeuronSysfs{.devices = {tree}};
  sources.report = NeuronReport();
  sources.report->ecc = std::vector<NeuronDeviceEcc>{{0, {1, 2, std::nullopt, 3, 4}}};
  const NeuronDevice device = MergeNeuronDevices(sources).at(0);
  EXPECT_EQ(device.memory_bytes, 1000);
  EXPECT_EQ(device.memory_used_bytes, 34);
  EXPECT_EQ(device.ecc, (NeuronEccCounts{1, 5, 6, 3, 4}));
  EXPECT_EQ(device.power, tree.power);
  EXPECT_THAT(device.unhealthy_components, ElementsAre("hbm"));
  EXPECT_THAT(device.notes, ElementsAre("moved"));
}

TEST(NeuronDevice, HasPowerOnlyWhereItIsValid) {
  for (const auto status : {NeuronPower::Status::kNoData, NeuronPower::Status::kInvalid}) {
    NeuronSources sources;
    sources.sysfs = NeuronSysfs{.devices = {Tree(0, 2)}};
    sources.sysfs->devices[0].power = NeuronPower{.status = status, .sampled_unix_s = 60};
    EXPECT_EQ(MergeNeuronDevices(sources).at(0).power, std::nullopt);
  }
}

TEST(NeuronDevice, BelievesNoErrorsOnlyOfADriverThatCounts) {
  struct Case {
    const char* driver;
    int64_t counted;
    std::optional<int64_t> errors;
  };
  const Case cases[] = {{"2.26.0", 0, std::nullopt}, {"2.26.0", 3, 3}, {"2.30.2", 0, 0}, {"2.30.2", 3, 3}};
  for (const Case& c : cases) {
    NeuronSources sources;
    sources.sysfs = NeuronSysfs{.devices = {Tree(0, 1)}, .driver_version = c.driver};
    sources.sysfs->devices[0].cores[0].errors = c.counted;
    EXPECT_EQ(MergeNeuronDevices(sources).at(0).execution_errors, c.errors) << c.driver << " " << c.counted;
  }
}

TEST(NeuronDevice, IsThereWhichSourceEverNamesIt) {
  NeuronSources sources = Listed({Facts(2, 2)});
  sources.sysfs = NeuronSysfs{.devices = {Tree(0, 2)}, .driver_version = "2.28"};
  sources.report = NeuronReport();
  sources.report->ecc = std::vector<NeuronDeviceEcc>{{1, {}}};
  const std::vector<NeuronDevice> devices = MergeNeuronDevices(sources);
  ASSERT_THAT(devices, SizeIs(3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(devices[static_cast<size_t>(i)].index, i);
  EXPECT_EQ(devices[2].driver_version, "2.28");
  EXPECT_THAT(MergeNeuronDevices(NeuronSources()), IsEmpty());
}

}  // namespace
}  // namespace kprof
