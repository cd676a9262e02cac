#include "daemon/clocks/release_pause.h"

#include <chrono>
#include <string>

#include "daemon/clocks/keeper/note_store.h"
#include "daemon/clocks/lone_keeper.h"
#include "daemon/clocks/pause/pause_hold.h"

namespace kprof {

Result<std::optional<Status>> ReleaseHeldPause(const ProfilerPause::Settings& settings, Files& files,
                                               int64_t limit_ms) {
  NoteStore holds(files, settings.folder);
  ASSIGN_OR_RETURN(const std::optional<std::string> noted, holds.Read(kPauseHoldName));
  if (!noted) return std::optional<Status>();
  ASSIGN_OR_RETURN(
      CleanupKeeper keeper,
      CleanupKeeper::Start(settings.program, {settings.library, settings.tool_path, settings.folder, settings.boot_id},
                           settings.own, "resume DCGM's profiling"));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  if (!keeper.WaitUntil(end)) return std::optional<Status>(keeper.GiveUp());
  Result<std::optional<std::string>> left = holds.Read(kPauseHoldName);
  if (left.ok() && !*left) return std::optional<Status>(OkStatus());
  return std::optional<Status>(Fail(ErrorCode::kToolFailed, keeper.act(),
                                    "kprof-pause, which says why above, ended " + keeper.how(),
                                    "mend that, then run kprofd --release-clocks again"));
}

}  // namespace kprof
