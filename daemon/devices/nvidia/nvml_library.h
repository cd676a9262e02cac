// NVIDIA's management library, found at run time: a node without it works, and nothing of it is linked.
//
// Only for the processes that call it (nvidia_worker.h, clock_keeper.h): a call may hang in the driver for minutes, and
// a process that hangs there cannot be killed. kprofd itself never opens it.
#pragma once

#include <string>

#include "daemon/devices/nvidia/nvml_abi.h"
#include "storage/base/status.h"

namespace kprof {

class NvmlLibrary {
 public:
  static constexpr const char* kUsualName = "libnvidia-ml.so.1";

  // Opens and initialises it. `path`: empty for the usual name. Fails with kNotFound where there is no such library, or
  // no driver; kToolFailed for one that lacks a function of every version, or does not begin.
  static Result<NvmlLibrary> Open(const std::string& path);
  ~NvmlLibrary();
  NvmlLibrary(NvmlLibrary&& other) noexcept;
  NvmlLibrary& operator=(NvmlLibrary&&) = delete;

  const nvml::Functions& functions() const { return functions_; }

 private:
  NvmlLibrary() = default;

  void* handle_ = nullptr;
  nvml::Functions functions_;
};

// True for the codes of a lost device: it has fallen off the bus, wants a reset, or has no driver.
bool IsLost(nvml::Return returned);

// The reason of a failed call, and the remedy: "no permission", "run kprofd as root, or with its helper".
struct NvmlFailure {
  std::string why;
  std::string remedy;
};
NvmlFailure NvmlFailureOf(nvml::Return returned);

// As a Status: kNotPermitted, kNotFound for a device that is lost or gone, kUsage for a frequency that it does not
// have, else kToolFailed.
Status NvmlStatus(nvml::Return returned, const std::string& act);

}  // namespace kprof
