// An OutputIntake with what it runs on: a loop and a thread of its own, which may wait for a disk.
//
// Made and destroyed on the main thread, while `home` runs or before; destroyed after all takings. What has not been
// taken then stays untaken: the runs whose it is are over.
#pragma once

#include <thread>

#include "daemon/base/io_loop.h"
#include "daemon/process/launchers/output_intake.h"

namespace kprof {

class OutputThread {
 public:
  explicit OutputThread(IoLoop& home);
  ~OutputThread();

  OutputIntake& intake() { return intake_; }

 private:
  IoLoop loop_;
  OutputIntake intake_;
  std::thread thread_;
};

}  // namespace kprof
