// Waits until devices are cool enough to run for a while before they have to slow down: 10 C below the temperature at
// which they would. A benchmark that starts on a device that another has just heated measures that other one as well.
//
// Io loop only. Destroyed, it waits no longer, and calls nobody.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/devices/node_devices.h"
#include "storage/catalog/run_row.h"

namespace kprof {

class CoolDown {
 public:
  static constexpr uint32_t kHeadroomC = 10;

  // `cooled` is called once, from the loop: with nothing when all are cool, or do not tell; after `limit_ns` with those
  // that are not.
  CoolDown(IoLoop& loop, NodeDevices& devices, std::vector<std::string> device_ids, int64_t limit_ns,
           std::function<void(std::vector<TrustReason>)> cooled);

 private:
  void Ask();
  void Look();
  std::vector<TrustReason> TooWarm() const;

  IoLoop& loop_;
  NodeDevices& devices_;
  const std::vector<std::string> device_ids_;
  const int64_t begun_mono_ns_;
  const int64_t limit_ns_;
  const std::function<void(std::vector<TrustReason>)> cooled_;
  IoLoop::Timer again_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // answers may come when it is gone
};

}  // namespace kprof
