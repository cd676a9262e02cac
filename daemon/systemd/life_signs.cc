#include "daemon/systemd/life_signs.h"

#include <utility>

#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "storage/db/writer.h"

namespace kprof {

WatchedPart WatchedLoop(IoLoop& loop) {
  return {"io loop", [&loop](std::function<void()> answer) { loop.Post(std::move(answer)); },
          [&loop] { return loop.tasks_run(); }};
}

// Changes nothing. A disk that refuses to commit is an answer, too: the daemon lives on with a full one.
WatchedPart WatchedWriter(Writer& writer) {
  return {"writer",
          [&writer](const std::function<void()>& answer) {
            writer.Submit([](Db&) { return OkStatus(); },
                          [answer](const Status& status) {
                            if (status.code() != ErrorCode::kQueueFull) answer();
                          });
          },
          [&writer] { return writer.commits(); }};
}

WatchedPart WatchedWorkers(WorkerPool& pool) {
  return {"workers", [&pool](std::function<void()> answer) { (void)pool.Submit(std::move(answer)); },
          [&pool] { return pool.jobs_done(); }};
}

LifeSigns::LifeSigns(std::vector<WatchedPart> parts) {
  for (WatchedPart& part : parts) watched_.push_back({std::move(part), nullptr, 0});
}

std::vector<std::string> LifeSigns::Look() {
  std::vector<std::string> stuck;
  for (Watched& watched : watched_) {
    if (Lives(watched)) {
      Ask(watched);
    } else {
      stuck.push_back(watched.part.name);
    }
  }
  return stuck;
}

bool LifeSigns::Lives(Watched& watched) {
  const int64_t work_done = watched.part.work_done();
  const bool moved = std::exchange(watched.work_done, work_done) != work_done;
  return moved || watched.answered == nullptr || *watched.answered;
}

void LifeSigns::Ask(Watched& watched) {
  auto answered = std::make_shared<std::atomic<bool>>(false);
  watched.answered = answered;
  watched.part.ask([answered] { *answered = true; });
}

}  // namespace kprof
