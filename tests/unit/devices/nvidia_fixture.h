// NVIDIA devices of the stand-in for NVML, with our own worker processes on them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "daemon/devices/nvidia/nvidia_link.h"
#include "tests/fakes/base/real_loop.h"
#include "tests/fakes/devices/nvml_model.h"

namespace kprof {

class NvidiaTest : public testing::Test {
 protected:
  explicit NvidiaTest(const std::string& profiles = "h200,t4") : model_(profiles) {
    ::setenv("KPROF_NVML_STAND_IN", model_.path().c_str(), 1);
  }
  ~NvidiaTest() override { ::unsetenv("KPROF_NVML_STAND_IN"); }

  NvidiaLink::Settings Settings() {
    return {.program = KPROF_BIN_DIR "/kprof-device",
            .library = KPROF_BIN_DIR "/libnvml_stand_in.so",
            .call_limit_ns = call_limit_ns_,
            .own = &own_};
  }

  NvmlModel model_;
  int64_t call_limit_ns_ = 5 * kNanosPerSecond;
  OwnChildren own_;
  RealLoop real_;
};

}  // namespace kprof
