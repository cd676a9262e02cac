// Waits until nobody else is on some devices (foreign_processes.h), which are asked again and again meanwhile. A device
// that nobody can be asked about, as one that only the configuration knows, counts as quiet; one that could be asked
// and does not tell does not. Keeps nobody from coming afterwards: that is for a lease among
// those who use kprofd, and for nobody among the rest.
//
// Io loop only. Never blocks. What it is given must outlive it. Destroyed, it waits no longer, and nobody is called.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/base/user_names.h"
#include "daemon/devices/node_devices.h"
#include "storage/base/status.h"

namespace kprof {

class QuietWait {
 public:
  struct Wish {
    std::vector<std::string> device_ids;
    std::function<bool(pid_t)> is_own = [](pid_t) { return false; };  // whom the devices are for
    int64_t limit_ns = 0;                                             // 0: they are looked at once
    int64_t period_ns = kNanosPerSecond;
  };
  // Ok: all are quiet. kQueueTimeout: who is where after all that time. kNotFound: there is no such device. Called
  // once, from the loop, never from inside.
  using Done = std::function<void(Status)>;

  QuietWait(IoLoop& loop, NodeDevices& devices, UserNames& users, Wish wish, Done done);
  QuietWait(const QuietWait&) = delete;
  QuietWait& operator=(const QuietWait&) = delete;

  // For people, at the last look: "pid 4711 (python3, user eve) on device 0". Empty: it was quiet, or none was made
  // yet.
  const std::string& who() const { return who_; }

 private:
  void Ask();
  void Look();
  Result<std::string> WhoIsOn(const std::string& device_id);
  void Finish(Status status);

  IoLoop& loop_;
  NodeDevices& devices_;
  UserNames& users_;
  const Wish wish_;
  Done done_;
  const int64_t since_mono_ns_;
  int64_t asked_mono_ns_ = 0;
  std::string who_;
  IoLoop::Timer again_;
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);  // shared with the question under way, weakly
};

}  // namespace kprof
