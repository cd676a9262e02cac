#include "daemon/clocks/release_held.h"

#include <chrono>
#include <optional>
#include <utility>

#include "daemon/clocks/locks/clock_notes.h"
#include "daemon/clocks/lone_keeper.h"

namespace kprof {

Result<std::vector<ReleasedDevice>> ReleaseHeldClocks(const ClockLink::Settings& settings, Files& files,
                                                      int64_t limit_ms) {
  ClockNotes holds(files, settings.folder);
  ASSIGN_OR_RETURN(const std::vector<std::string> uuids, holds.List());
  std::vector<ReleasedDevice> released;
  std::vector<std::pair<std::string, CleanupKeeper>> keepers;
  for (const std::string& uuid : uuids) {
    Result<CleanupKeeper> keeper =
        CleanupKeeper::Start(settings.program, {settings.library, settings.folder, uuid, settings.boot_id},
                             settings.own, "release the clocks of " + uuid);
    if (keeper.ok()) {
      keepers.emplace_back(uuid, *std::move(keeper));
    } else {
      released.push_back({uuid, keeper.status()});
    }
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  for (auto& [uuid, keeper] : keepers) {
    if (!keeper.WaitUntil(end)) {
      released.push_back({uuid, keeper.GiveUp()});
      continue;
    }
    Result<std::optional<ClockHold>> left = holds.Read(uuid);
    Status status;
    if (!left.ok() || *left) {
      status = Fail(ErrorCode::kToolFailed, keeper.act(), "kprof-clocks, which says why above, ended " + keeper.how(),
                    "mend that, then run kprofd --release-clocks again");
    }
    released.push_back({uuid, std::move(status)});
  }
  return released;
}

}  // namespace kprof
