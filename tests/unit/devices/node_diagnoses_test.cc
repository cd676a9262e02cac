#include "daemon/devices/node_diagnoses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

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
  std::vector<Diagnosis> all = DiagnoseNode("", nullptr, root.path());
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
  for (const Diagnosis& diagnosis : DiagnoseNode("", nullptr, root.path())) {
    if (diagnosis.check == "open_files") continue;  // of this process
    EXPECT_EQ(diagnosis.level, DiagnosisLevel::kOk) << diagnosis.check << ": " << diagnosis.message;
  }
}

TEST(Diagnoses, TakesAnEmptyRootWithoutComplaint) {
  FakeRoot root;
  EXPECT_FALSE(DiagnoseNode("", nullptr, root.path()).empty());
}

TEST(Diagnoses, TellsOfDriversAndOfWhoMayReadCounters) {
  FakeRoot root;
  root.Write(
      "/proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version: 12\n");
  root.Write("/sys/module/neuron/version", "2.19.64.0\n");
  root.Write("/proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 0\nMore: 1\n");
  std::vector<Diagnosis> all = DiagnoseNode("", nullptr, root.path());
  EXPECT_EQ(Find(all, "nvidia_driver").message, "NVIDIA's driver is 535.104.05");
  EXPECT_EQ(Find(all, "neuron_driver").message, "the Neuron driver is 2.19.64.0");
  EXPECT_THAT(Find(all, "profiler_permission").message, HasSubstr("lets every user read"));
  root.Write("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 1\n");
  const Diagnosis refused = Find(DiagnoseNode("", nullptr, root.path()), "profiler_permission");
  EXPECT_THAT(refused.message, HasSubstr("root alone"));
  EXPECT_EQ(refused.level, ::geteuid() == 0 ? DiagnosisLevel::kOk : DiagnosisLevel::kWarning);
  EXPECT_EQ(refused.remedy.empty(), refused.level == DiagnosisLevel::kOk);
}

// A folder with tools that print this, whatever they are asked.
class FakeTools {
 public:
  void Write(const std::string& name, const std::string& script) {
    root_.Write("/bin/" + name, "#!/bin/sh\n" + script);
    std::filesystem::permissions(folder() + "/" + name, std::filesystem::perms::owner_all);
  }
  std::string folder() const { return root_.path() + "/bin"; }
  Diagnosis Of(const std::string& check) const { return Find(DiagnoseNode(folder(), nullptr, root_.path()), check); }
  bool Has(const std::string& check) const {
    const std::vector<Diagnosis> all = DiagnoseNode(folder(), nullptr, root_.path());
    return std::any_of(all.begin(), all.end(), [&](const Diagnosis& one) { return one.check == check; });
  }
  std::string Told() const { return Of("tools").message; }
  FakeRoot& root() { return root_; }

 private:
  FakeRoot root_;
};

TEST(Diagnoses, NamesTheToolsThatItFindsWithTheVersionThatTheyTell) {
  FakeTools tools;
  tools.Write(
      "ncu",
      "[ \"$1\" = --version ] && echo 'NVIDIA (R) Nsight Compute' && echo 'Version 2024.1.1.0 (build 33998838)'\n");
  tools.Write("dcgmi", "exit 3\n");
  EXPECT_THAT(tools.Told(), HasSubstr("ncu 2024.1.1.0 (" + tools.folder() + "/ncu)"));
  EXPECT_THAT(tools.Told(), HasSubstr("dcgmi (" + tools.folder() + "/dcgmi)"));
}

TEST(Diagnoses, WarnsOfAMissingNeuronToolWhereADeviceWasFound) {
  FakeTools tools;
  tools.Write("neuron-ls", "echo 'neuron-ls v2.20.17.0'\n");
  const auto all = [&](bool has_device) {
    return DiagnoseNode(tools.folder(), nullptr, tools.root().path(), has_device);
  };
  const Diagnosis missing = Find(all(true), "tool_neuron-explorer");
  EXPECT_EQ(missing.level, DiagnosisLevel::kWarning);
  EXPECT_THAT(missing.remedy, HasSubstr("aws-neuronx-tools"));
  EXPECT_EQ(Find(all(false), "tool_neuron-explorer").level, DiagnosisLevel::kOk);
  EXPECT_THAT(Find(all(false), "neuron_driver").message, HasSubstr("though there is neuron-ls"));
  for (const Diagnosis& one : all(true)) EXPECT_NE(one.check, "neuron_driver") << one.message;
}

TEST(Diagnoses, FindsTheVersionInWhatToolsPrint) {
  FakeTools tools;
  tools.Write("nsys", "echo 'NVIDIA Nsight Systems version 2024.4.2.133-244234382004v0'\n");
  tools.Write("dcgmi", "echo 'dcgmi  version: 3.3.5'\n");
  tools.Write("neuron-ls", "echo 'neuron-ls v2.20.17.0'\n");
  tools.Write("ncu", "echo 'Copyright (c) 2018-2024 NVIDIA Corporation. No version.'\n");
  const std::string told = tools.Told();
  EXPECT_THAT(told, HasSubstr("nsys 2024.4.2.133 ("));
  EXPECT_THAT(told, HasSubstr("dcgmi 3.3.5 ("));
  EXPECT_THAT(told, HasSubstr("neuron-ls 2.20.17.0 ("));
  EXPECT_THAT(told, HasSubstr("ncu ("));
}

TEST(Diagnoses, LooksWhereToolsAreUsuallyInstalled) {
  FakeTools tools;
  const std::string usual = "/opt/aws/neuron/bin/neuron-ls";
  tools.root().Write(usual, "#!/bin/sh\necho 'neuron-ls v2.20.17.0'\n");
  std::filesystem::permissions(tools.root().path() + usual, std::filesystem::perms::owner_all);
  EXPECT_THAT(tools.Told(), HasSubstr("neuron-ls 2.20.17.0 (" + tools.root().path() + usual + ")"));
}

// Of two programs that serve alike one is enough, and one is missed.
TEST(Diagnoses, MissesANeuronProgramWhereThereIsTheDriver) {
  FakeTools tools;
  EXPECT_EQ(tools.Of("tool_neuron-explorer").level, DiagnosisLevel::kOk);
  tools.root().Write("/sys/module/neuron/version", "2.30.2\n");
  const Diagnosis missing = tools.Of("tool_neuron-explorer");
  EXPECT_EQ(missing.level, DiagnosisLevel::kWarning);
  EXPECT_THAT(missing.message, HasSubstr("captures with neuron, neuron-system need"));
  EXPECT_FALSE(tools.Has("tool_neuron-profile"));
  tools.Write("neuron-profile", "echo 'neuron-profile 2.28.23.0%kaena'\n");
  EXPECT_FALSE(tools.Has("tool_neuron-explorer"));
  EXPECT_THAT(tools.Told(), HasSubstr("neuron-profile 2.28.23.0 ("));
}

TEST(Diagnoses, AnNsysThatCapturesRefuseIsTooOld) {
  FakeTools tools;
  tools.Write("nsys", "echo 'NVIDIA Nsight Systems version 2021.3.3.2-b99c4d6'\n");
  const Diagnosis old = tools.Of("tool_nsys");
  EXPECT_EQ(old.level, DiagnosisLevel::kWarning);
  EXPECT_THAT(old.message,
              HasSubstr("too old for captures with nsys: nsys (" + tools.folder() + "/nsys) is of 2021.3"));
  EXPECT_THAT(old.remedy, HasSubstr("install Nsight Systems 2021.4 or later"));
  for (const char* usable : {"2021.4.1.73-08591f7", "2026.1.1.204", "of which nobody knows"}) {
    tools.Write("nsys", std::string("echo 'NVIDIA Nsight Systems version ") + usable + "'\n");
    EXPECT_FALSE(tools.Has("tool_nsys")) << usable;
  }
}

TEST(Diagnoses, TheRemedyIsForTheSwitchThatIsThere) {
  FakeRoot root;
  root.Write("/sys/devices/system/cpu/cpufreq/boost", "1\n");
  EXPECT_EQ(Find(DiagnoseNode("", nullptr, root.path()), "cpu_turbo").remedy,
            "as root, while you measure: echo 0 > /sys/devices/system/cpu/cpufreq/boost");
}

}  // namespace
}  // namespace kprof
