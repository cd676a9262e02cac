// What the devices tell, for whoever scrapes: they are asked when somebody looks, and never else. Events are counted.
//
// Made of families at the start; Follow once there are devices to follow. Io loop, but for LookNow.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/base/metrics.h"
#include "daemon/clocks/locks/device_clocks.h"
#include "daemon/devices/device_book.h"
#include "daemon/devices/node_devices.h"

namespace kprof {

class DeviceMetrics {
 public:
  explicit DeviceMetrics(Metrics& metrics);
  DeviceMetrics(const DeviceMetrics&) = delete;
  DeviceMetrics& operator=(const DeviceMetrics&) = delete;

  // All must outlive the scrapes; `clocks` may be null.
  struct Followed {
    IoLoop& loop;
    const DeviceBook& book;
    NodeDevices& devices;
    const DeviceClocks* clocks;
  };
  void Follow(const Followed& followed);

  // Asks the devices, and waits for that: not on the loop. One that takes longer than `limit_ns` has what it told
  // before.
  void LookNow(int64_t limit_ns);

 private:
  struct Looking;

  void Show();
  void ShowOne(const Device& device, const DeviceFacts& facts);

  std::unique_ptr<Followed> followed_;
  std::shared_ptr<void> listening_;
  Family<Gauge>& info_;
  Family<Gauge>& up_;
  Family<Gauge>& sm_clock_;
  Family<Gauge>& locked_;
  Family<Gauge>& memory_clock_;
  Family<Gauge>& power_;
  Family<Gauge>& power_limit_;
  Family<Gauge>& temperature_;
  Family<Gauge>& busy_;
  Family<Gauge>& memory_used_;
  Family<Gauge>& memory_;
  Family<Gauge>& processes_;
  Family<Gauge>& throttled_;
  Family<Counter>& events_;
};

}  // namespace kprof
