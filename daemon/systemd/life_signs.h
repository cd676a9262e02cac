// Whether the parts of the daemon that everything else waits for still get work done: the io loop, the writer, the
// short jobs' workers. Each is asked for an answer, as one more job of its own; a part is stuck that by the next look
// has neither answered nor done any other work since. So a long queue is no reason, as long as it moves. Knows nothing
// of who wants to know; that is watchdog.h.
//
// Look: one thread. Answers come from anywhere, and may come when this is gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kprof {

class IoLoop;
class WorkerPool;
class Writer;

struct WatchedPart {
  std::string name;
  // Calls `answer` when its turn comes; never, if there is no room for one more job.
  std::function<void(std::function<void()> answer)> ask;
  // Jobs done so far.
  std::function<int64_t()> work_done;
};

// They must outlive whoever looks.
WatchedPart WatchedLoop(IoLoop& loop);
WatchedPart WatchedWriter(Writer& writer);
WatchedPart WatchedWorkers(WorkerPool& pool);

class LifeSigns {
 public:
  explicit LifeSigns(std::vector<WatchedPart> parts);

  // The names of the parts that are stuck; asks all others again. The first look only asks.
  std::vector<std::string> Look();

 private:
  struct Watched {
    WatchedPart part;
    std::shared_ptr<std::atomic<bool>> answered;  // shared with the answer to the last question; none: never asked
    int64_t work_done = 0;
  };
  static bool Lives(Watched& watched);
  static void Ask(Watched& watched);

  std::vector<Watched> watched_;
};

}  // namespace kprof
