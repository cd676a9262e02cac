#include "daemon/base/detached_work.h"

#include <pthread.h>

#include <system_error>
#include <thread>
#include <utility>

#include "storage/base/mutex.h"

namespace kprof {

struct DetachedWork::Loop {
  Mutex mu;
  IoLoop* loop KPROF_GUARDED_BY(mu) = nullptr;
};

DetachedWork::DetachedWork(IoLoop& loop) : loop_(std::make_shared<Loop>()) {
  const MutexLock lock(loop_->mu);
  loop_->loop = &loop;
}

DetachedWork::~DetachedWork() {
  const MutexLock lock(loop_->mu);
  loop_->loop = nullptr;
}

Status DetachedWork::Run(std::function<std::function<void()>()> work) {
  auto run = [work = std::move(work), to = loop_] {
    pthread_setname_np(pthread_self(), "kprofd-detached");
    std::function<void()> answer = work();
    const MutexLock lock(to->mu);
    if (to->loop == nullptr) return;
    to->loop->Post([to, answer = std::move(answer)] {
      {
        const MutexLock lock(to->mu);
        if (to->loop == nullptr) return;  // since it was posted
      }
      answer();
    });
  };
  try {
    std::thread(std::move(run)).detach();
  } catch (const std::system_error& error) {
    return Fail(ErrorCode::kQueueFull, "start a thread", error.what(), "raise the limit of threads");
  }
  return OkStatus();
}

}  // namespace kprof
