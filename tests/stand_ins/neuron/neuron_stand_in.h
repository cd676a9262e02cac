// The Neuron tools of this folder, as a test has them: with a node of its own to describe, and how they behave. Also
// the driver's tree in sysfs.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "daemon/devices/neuron/neuron_tools.h"
#include "storage/base/status.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {

class NeuronStandIn {
 public:
  // `node`: JSON, as neuron_node.py says.
  explicit NeuronStandIn(const std::string& node = "{}") { std::ofstream(folder_ / "node.json") << node; }

  NeuronToolPlace place() const {
    std::vector<std::string> environment = {"PATH=/usr/bin:/bin", "KPROF_NEURON_STAND_IN=" + (folder_ / "node.json")};
    return {KPROF_SOURCE_DIR "/tests/stand_ins/neuron", std::move(environment)};
  }
  const std::string& folder() const { return folder_.path(); }

 private:
  const TemporaryFolder folder_;
};

// "--driver 2.26 --devices 2": see make_sysfs.py.
class NeuronSysfsStandIn {
 public:
  explicit NeuronSysfsStandIn(const std::string& options) {
    const std::string command =
        "/usr/bin/python3 " KPROF_SOURCE_DIR "/tests/stand_ins/neuron/make_sysfs.py " + folder_.path() + " " + options;
    KPROF_CHECK(std::system(command.c_str()) == 0);
  }

  std::string root() const { return folder_ / "neuron_device"; }
  std::string module_folder() const { return folder_ / "module"; }

 private:
  const TemporaryFolder folder_;
};

// The child that is entered there; 0: none. Also one that nobody waits for.
inline pid_t ChildOf(const OwnChildren& own) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (own.Has(pid)) return pid;
  }
  return 0;
}

}  // namespace kprof
