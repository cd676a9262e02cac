#include "daemon/base/worker_pool.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
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

namespace {

constexpr int kLastNiceness = 19;

}  // namespace

WorkerPool::WorkerPool(const Options& options) : options_(options) {
  MutexLock lock(mu_);
  if (options_.threads > 0) AddThread();
}

WorkerPool::~WorkerPool() {
  End();
}

void WorkerPool::End() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    threads.swap(threads_);  // none is added once it stops
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

Status WorkerPool::Submit(std::function<void()> job) {
  {
    MutexLock lock(mu_);
    if (stopping_) return Fail(ErrorCode::kNoDaemon, "start work", "kprofd is stopping", "try again when it is back");
    if (options_.threads > 0) return Queue(std::move(job));
  }
  job();
  jobs_done_.fetch_add(1, std::memory_order_relaxed);
  return OkStatus();
}

Status WorkerPool::Queue(std::function<void()> job) {
  if (queue_.size() >= options_.queue_limit_jobs) {
    return Fail(ErrorCode::kQueueFull, "start work", std::to_string(queue_.size()) + " jobs are waiting already",
                "try again in a moment");
  }
  if (threads_.empty() && !AddThread()) {  // nobody would ever take it
    return Fail(ErrorCode::kQueueFull, "start work", "no thread can be started", "raise the limit of threads");
  }
  queue_.push_back(std::move(job));
  CallOne();
  return OkStatus();
}

// Without one more the others do the work, if there are any.
bool WorkerPool::AddThread() {
  try {
    threads_.emplace_back([this] { Work(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void WorkerPool::CallOne() {
  if (one_is_called_ || stopping_) return;  // when it stops all are called
  if (idle_ > 0) {
    one_is_called_ = true;
    wake_.notify_one();
  } else if (threads_.size() < options_.threads) {
    one_is_called_ = AddThread();
  }
}

// Never before the process itself, which somebody may have niced.
void WorkerPool::StandBack() const {
  if (options_.niceness == 0) return;
  const int of_process = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::getpid()));  // of its first thread
  const auto thread = static_cast<id_t>(::gettid());
  const int wanted = std::min(of_process + options_.niceness, kLastNiceness);
  if (wanted > ::getpriority(PRIO_PROCESS, thread)) (void)::setpriority(PRIO_PROCESS, thread, wanted);
}

void WorkerPool::Work() {
  pthread_setname_np(pthread_self(), "kprofd-worker");
  StandBack();
  while (true) {
    std::function<void()> job;
    {
      MutexLock lock(mu_);
      ++idle_;
      wake_.wait(mu_, [this]() KPROF_REQUIRES(mu_) { return stopping_ || !queue_.empty(); });
      --idle_;
      one_is_called_ = false;
      if (queue_.empty()) return;
      job = std::move(queue_.front());
      queue_.pop_front();
      if (!queue_.empty()) CallOne();
    }
    job();
    jobs_done_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace kprof
