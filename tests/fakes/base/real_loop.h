// An io loop on the test's own thread, with the real clock: for tests whose other end is a process.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "daemon/base/io_loop.h"
#include "storage/base/clock.h"

namespace kprof {

struct RealLoop {
  RealClock clock;
  IoLoop loop{clock};

  // Whether it comes true in time.
  bool Until(const std::function<bool()>& is_so, std::chrono::seconds limit = std::chrono::seconds(60)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!is_so()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop.RunUntilIdle();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  void Pass(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    Until([&] { return std::chrono::steady_clock::now() >= end; });
  }
};

}  // namespace kprof
