#include "daemon/devices/node_diagnoses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::HasSubstr;

// A made-up root with the files that the checks read.
class FakeRoot {
 public:
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_.path() + path).parent_path());
    std::ofstream(folder_.path() + path) << text;
  }
  const std::string& path() const { return folder_.path(); }

 private:
  const TemporaryFolder folder_;
};

Diagnosis Find(const std::vector<Diagnosis>& all, const std::string& check) {
  for (const Diagnosis& diagnosis : all) {
    if (diagnosis.check == check) return diagnosis;
  }
  ADD_FAILURE() << "no check " << check;
  return {};
}

TEST(Diagnoses, WarnsOfWhatMakesHostTimesDrift) {
  FakeRoot root;
  root.Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  root.Write("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  root.Write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "acpi_pm\n");
  root.Write("/proc/loadavg", "900.00 1 1 1/1 1\n");
  root.Write("/proc/swaps", "Filename Type\n/dev/sda partition\n");
  root.Write("/proc/sys/kernel/perf_event_paranoid", "4\n");
  std::vector<Diagnosis> all = DiagnoseNode("", root.path());
  for (const char* check : {"cpu_governor", "cpu_turbo", "clock_source", "host_load", "swap", "perf_events"}) {
    Diagnosis diagnosis = Find(all, check);
    EXPECT_EQ(diagnosis.level, DiagnosisLevel::kWarning) << check;
    EXPECT_FALSE(diagnosis.remedy.empty()) << check;
  }
  EXPECT_THAT(Find(all, "cpu_governor").message, HasSubstr("powersave"));
}

TEST(Diagnoses, IsContentWithAQuietNode) {
  FakeRoot root;
  root.Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  root.Write("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  root.Write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  root.Write("/proc/loadavg", "0.00 0.00 0.00 1/1 1\n");
  root.Write("/proc/swaps", "Filename Type\n");
  root.Write("/proc/sys/kernel/perf_event_paranoid", "2\n");
  for (const Diagnosis& diagnosis : DiagnoseNode("", root.path())) {
    if (diagnosis.check == "open_files") continue;  // of this process
    EXPECT_EQ(diagnosis.level, DiagnosisLevel::kOk) << diagnosis.check << ": " << diagnosis.message;
  }
}

TEST(Diagnoses, TakesAnEmptyRootWithoutComplaint) {
  FakeRoot root;
  EXPECT_FALSE(DiagnoseNode("", root.path()).empty());
}

TEST(Diagnoses, TellsOfDriversAndOfWhoMayReadCounters) {
  FakeRoot root;
  root.Write(
      "/proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version: 12\n");
  root.Write("/sys/module/neuron/version", "2.19.64.0\n");
  root.Write("/proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 0\nMore: 1\n");
  std::vector<Diagnosis> all = DiagnoseNode("", root.path());
  EXPECT_EQ(Find(all, "nvidia_driver").message, "NVIDIA's driver is 535.104.05");
  EXPECT_EQ(Find(all, "neuron_driver").message, "the Neuron driver is 2.19.64.0");
  EXPECT_THAT(Find(all, "profiler_permission").message, HasSubstr("lets every user read"));
  root.Write("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 1\n");
  const Diagnosis refused = Find(DiagnoseNode("", root.path()), "profiler_permission");
  EXPECT_THAT(refused.message, HasSubstr("root alone"));
  EXPECT_EQ(refused.level, ::geteuid() == 0 ? DiagnosisLevel::kOk : DiagnosisLevel::kWarning);
  EXPECT_EQ(refused.remedy.empty(), refused.level == DiagnosisLevel::kOk);
}

TEST(Diagnoses, NamesTheToolsThatItFinds) {
  FakeRoot root;
  root.Write("/opt/nvidia/nsight-compute/2024.1.1/ncu", "#!/bin/sh\n");
  std::filesystem::permissions(root.path() + "/opt/nvidia/nsight-compute/2024.1.1/ncu",
                               std::filesystem::perms::owner_all);
  std::filesystem::create_directories(root.path() + "/bin");
  std::filesystem::create_symlink(root.path() + "/opt/nvidia/nsight-compute/2024.1.1/ncu", root.path() + "/bin/ncu");
  const Diagnosis tools = Find(DiagnoseNode(root.path() + "/bin", root.path()), "tools");
  EXPECT_THAT(tools.message, HasSubstr("ncu 2024.1.1 (" + root.path() + "/bin/ncu)"));
}

TEST(Diagnoses, TheRemedyIsForTheSwitchThatIsThere) {
  FakeRoot root;
  root.Write("/sys/devices/system/cpu/cpufreq/boost", "1\n");
  EXPECT_EQ(Find(DiagnoseNode("", root.path()), "cpu_turbo").remedy,
            "as root, while you measure: echo 0 > /sys/devices/system/cpu/cpufreq/boost");
}

}  // namespace
}  // namespace kprof
