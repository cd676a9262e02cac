// A model of devices for the stand-in for NVML, in a folder of its own, that a test scripts and looks into without
// starting a process. The programs under test load tests/stand_ins/nvml's library with Environment().
//
//   NvmlModel model("h200,t4");
//   model.Set(0, "load 100");
//   ...
//   EXPECT_EQ(model.State(0).locked_max, 1500u);
//
// What there is to set: tests/stand_ins/nvml/*_commands.cc, or nvml_stand_in --help. A command that makes no sense is
// the test's mistake: it ends the program. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fakes/base/temporary_folder.h"
#include "tests/stand_ins/nvml/model.h"
#include "tests/stand_ins/nvml/readings.h"

namespace kprof {

// What a driver remembers of a device. Locks in MHz; both 0: none.
struct NvmlState {
  unsigned locked_min = 0;
  unsigned locked_max = 0;
  unsigned locked_mem_min = 0;
  unsigned locked_mem_max = 0;
  bool persistence = false;
  unsigned power_limit_mw = 0;
  unsigned app_graphics = 0;
  unsigned app_memory = 0;
  bool app_clocks_are_set = false;  // false: it boosts above them
  bool operator==(const NvmlState&) const = default;
};

// A call that changes something, or was to.
struct NvmlCall {
  uint64_t sequence = 0;
  uint64_t mono_ns = 0;
  int pid = 0;
  unsigned device = 0;
  std::string function;
  unsigned first = 0;
  unsigned second = 0;
  int returned = 0;  // -1: its process died within
};

class NvmlModel {
 public:
  // Devices of these profiles, "h200,h100,t4" say.
  explicit NvmlModel(const std::string& profiles = "h200");
  ~NvmlModel();
  NvmlModel(const NvmlModel&) = delete;
  NvmlModel& operator=(const NvmlModel&) = delete;

  const std::string& path() const { return path_; }
  // "KPROF_NVML_STAND_IN=<path>", for a program's environment.
  std::string Environment() const;

  // "load 100": a key and its values.
  void Set(unsigned device, const std::string& command);
  void SetAll(const std::string& command);
  void SetNode(const std::string& command);

  // "xid 79", "double_bit_ecc", "clock".
  void TellEvent(unsigned device, const std::string& event);

  NvmlState State(unsigned device);
  nvml_stand_in::Readings Sensors(unsigned device);
  std::string Uuid(unsigned device);
  std::vector<NvmlCall> Calls();
  // How often a function was called, by all processes. REQUIRES: the stand-in has it.
  uint64_t Count(const std::string& function);

  // For what this class has no word for; see tests/stand_ins/nvml/model_file.h for its lock.
  nvml_stand_in::Model& model() { return *model_; }

 private:
  void SetFor(const std::string& target, const std::string& command);

  TemporaryFolder folder_;
  std::string path_;
  nvml_stand_in::Model* model_ = nullptr;
};

}  // namespace kprof
