// Watches the room that is left where the state folder is: takes the catalog's reserve back as soon as there is space
// for it, and says when there is little left. What is refused for want of space is up to whoever wants it.
//
// Io loop only, unless it says otherwise. Nothing blocks: the file system is asked on a worker.
#pragma once

#include <cstdint>
#include <functional>

#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "storage/base/clock.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/catalog.h"

namespace kprof {

// Fails with kStorageFull when little room is left. From a worker.
Status CheckRoom(Catalog& catalog, Files& files);

class StorageRoom {
 public:
  static constexpr int64_t kLookEveryNs = 10 * kNanosPerSecond;
  // After a write that was refused. Not at once: what the reserve was given for has to be written first.
  static constexpr int64_t kLookSoonNs = kNanosPerSecond;

  // `told` is called from the loop when CheckRoom says something else than before; `is_full`: nothing is in reserve for
  // the ends of runs. It outlives the jobs of `work`.
  StorageRoom(IoLoop& loop, WorkerPool& work, Catalog& catalog, Files& files,
              std::function<void(const Status& room, bool is_full)> told);
  StorageRoom(const StorageRoom&) = delete;
  StorageRoom& operator=(const StorageRoom&) = delete;

  // Looks from here on. Once, when the loop runs.
  void Begin() { LookIn(0); }
  // A write was refused for want of space.
  void LookSoon();

 private:
  void LookIn(int64_t delay_ns);
  void Look();

  IoLoop& loop_;
  WorkerPool& work_;
  Catalog& catalog_;
  Files& files_;
  const std::function<void(const Status&, bool is_full)> told_;
  Status room_;
  bool soon_ = false;
  IoLoop::Timer next_;
};

}  // namespace kprof
