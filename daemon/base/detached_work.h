// Work that may never return: done on a thread of its own, for which nobody waits at the end. A WorkerPool would.
//
// Io loop only, but for the work itself.
#pragma once

#include <functional>
#include <memory>

#include "daemon/base/io_loop.h"

namespace kprof {

class DetachedWork {
 public:
  explicit DetachedWork(IoLoop& loop);
  // No answer comes from here on; the work may still be under way, for as long as the process is there.
  ~DetachedWork();
  DetachedWork(const DetachedWork&) = delete;
  DetachedWork& operator=(const DetachedWork&) = delete;

  // `work` runs on another thread, and owns all that it uses; what it returns runs on the loop. Fails with kQueueFull
  // when no thread can be made.
  Status Run(std::function<std::function<void()>()> work);

 private:
  struct Loop;  // null once nobody wants an answer
  const std::shared_ptr<Loop> loop_;
};

}  // namespace kprof
