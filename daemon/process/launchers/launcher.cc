#include "daemon/process/launchers/launcher.h"

#include <utility>

namespace kprof {

Launcher* Launchers::WayOf(RunStarter starter) const {
  switch (starter) {
    case RunStarter::kDaemon:
      return ways_.daemon;
    case RunStarter::kClient:
      return ways_.client;
    case RunStarter::kHelper:
      return ways_.helper;
  }
  return nullptr;
}

Result<std::unique_ptr<Launched>> Launchers::Launch(const LaunchRequest& request, const LaunchAs& as,
                                                    const std::string& marker, const OutputFiles& files,
                                                    LaunchEvents events) {
  Launcher* way = WayOf(as.starter);
  if (way == nullptr) {
    return Fail(ErrorCode::kSpawnFailed, "start run " + marker,
                "it was queued by a kprofd in another mode (--user, or the system's), which starts commands otherwise",
                "submit it again");
  }
  return way->Launch(request, as, marker, files, std::move(events));
}

void Launchers::EndRemains(const LaunchAs& as, const std::string& marker, UniqueFd progress,
                           std::function<void(Status)> done) {
  if (Launcher* way = WayOf(as.starter)) return way->EndRemains(as, marker, std::move(progress), std::move(done));
  loop_.Post([marker, done = std::move(done)] {
    done(Fail(ErrorCode::kSpawnFailed, "end what run " + marker + " left",
              "it was started by a kprofd in another mode (--user, or the system's)"));
  });
}

}  // namespace kprof
