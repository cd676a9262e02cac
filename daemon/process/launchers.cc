#include "daemon/process/launchers.h"

#include <utility>

namespace kprof {

Launcher* Launchers::WayOf(LaunchAs::By by) const {
  switch (by) {
    case LaunchAs::By::kDaemon:
      return ways_.daemon;
    case LaunchAs::By::kClient:
      return ways_.client;
    case LaunchAs::By::kHelper:
      return ways_.helper;
  }
  return nullptr;
}

Result<std::unique_ptr<Launched>> Launchers::Launch(const LaunchRequest& request, const LaunchAs& as,
                                                    const std::string& marker, const OutputFiles& files,
                                                    LaunchEvents events) {
  Launcher* way = WayOf(as.by);
  if (way == nullptr) {
    return Fail(ErrorCode::kSpawnFailed, "start run " + marker,
                "it was queued by a kprofd in another mode (--user, or the system's), which starts commands otherwise",
                "submit it again");
  }
  return way->Launch(request, as, marker, files, std::move(events));
}

void Launchers::EndRemains(const LaunchAs& as, const std::string& marker, UniqueFd progress,
                           std::function<void(Status)> done) {
  if (Launcher* way = WayOf(as.by)) return way->EndRemains(as, marker, std::move(progress), std::move(done));
  loop_.Post([marker, done = std::move(done)] {
    done(Fail(ErrorCode::kSpawnFailed, "end what run " + marker + " left",
              "it was started by a kprofd in another mode (--user, or the system's)"));
  });
}

}  // namespace kprof
