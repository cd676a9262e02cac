// The devices of this node as far as they are known now. It grows while kprofd runs, when a driver is loaded late, say;
// none ever goes, so that an id means one thing as long as kprofd lives: what has become of a device is its health.
//
// Any thread, hence the mutex.
#pragma once

#include <memory>
#include <utility>

#include "daemon/devices/device_list.h"
#include "storage/base/mutex.h"

namespace kprof {

class DeviceBook {
 public:
  explicit DeviceBook(DeviceList list) : list_(std::make_shared<const DeviceList>(std::move(list))) {}

  // Shared: whoever looks at one keeps it while the next one is made.
  std::shared_ptr<const DeviceList> now() const {
    MutexLock lock(mu_);
    return list_;
  }
  void Set(DeviceList list) {
    MutexLock lock(mu_);
    list_ = std::make_shared<const DeviceList>(std::move(list));
  }

 private:
  mutable Mutex mu_;
  std::shared_ptr<const DeviceList> list_ KPROF_GUARDED_BY(mu_);
};

}  // namespace kprof
