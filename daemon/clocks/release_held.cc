#include "daemon/clocks/release_held.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/clocks/hold_files.h"
#include "daemon/process/call_page.h"
#include "daemon/process/worker_process.h"
#include "storage/base/packet_socket.h"

namespace kprof {
namespace {

// A keeper that nobody asks anything: it gives back what was left, and ends.
class LoneKeeper {
 public:
  LoneKeeper(CallPage page, WorkerProcess process, std::string uuid)
      : page_(std::move(page)), process_(std::move(process)), uuid_(std::move(uuid)) {}

  static Result<LoneKeeper> Start(const ClockLink::Settings& settings, const std::string& uuid) {
    ASSIGN_OR_RETURN(CallPage page, CallPage::Make());
    ASSIGN_OR_RETURN(const SocketPair ends, MakeSocketPair(SOCK_SEQPACKET));  // ours ends here
    ASSIGN_OR_RETURN(WorkerProcess process,
                     StartWorker(settings.program, {settings.library, settings.folder, uuid, settings.boot_id},
                                 {ends.theirs.get(), page.fd()}, settings.own));
    return LoneKeeper(std::move(page), std::move(process), uuid);
  }

  // Whether it has ended by then.
  bool WaitUntil(std::chrono::steady_clock::time_point end) {
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
      pollfd ended{process_.exit.get(), POLLIN, 0};
      const int ready = ::poll(&ended, 1, static_cast<int>(std::max<int64_t>(left, 0)));
      if (ready > 0) {
        how_ = ReapWorker(process_.pid, nullptr);
        return true;
      }
      if (ready == 0) return false;
    }
  }

  // It is killed, if it can be, and not waited for.
  Status GiveUp() {
    const std::optional<CallPage::Call> call = page_.Now();
    ::kill(process_.pid, SIGKILL);
    return Fail(ErrorCode::kTimedOut, "release the clocks of " + uuid_,
                call ? call->name + " does not return" : "it takes too long",
                "see dmesg for what the driver says, then run kprofd --release-clocks again");
  }

  const std::string& uuid() const { return uuid_; }
  const std::string& how() const { return how_; }

 private:
  CallPage page_;
  WorkerProcess process_;
  std::string uuid_;
  std::string how_;
};

}  // namespace

Result<std::vector<ReleasedDevice>> ReleaseHeldClocks(const ClockLink::Settings& settings, Files& files,
                                                      int64_t limit_ms) {
  HoldFiles holds(files, settings.folder);
  ASSIGN_OR_RETURN(const std::vector<std::string> uuids, holds.List());
  std::vector<ReleasedDevice> released;
  std::vector<LoneKeeper> keepers;
  for (const std::string& uuid : uuids) {
    Result<LoneKeeper> keeper = LoneKeeper::Start(settings, uuid);
    if (keeper.ok()) {
      keepers.push_back(*std::move(keeper));
    } else {
      released.push_back({uuid, keeper.status()});
    }
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  for (LoneKeeper& keeper : keepers) {
    if (!keeper.WaitUntil(end)) {
      released.push_back({keeper.uuid(), keeper.GiveUp()});
      continue;
    }
    Result<std::optional<ClockHold>> left = holds.Read(keeper.uuid());
    Status status;
    if (!left.ok() || *left) {
      status = Fail(ErrorCode::kToolFailed, "release the clocks of " + keeper.uuid(),
                    "kprof-clocks, which says why above, ended " + keeper.how(),
                    "mend that, then run kprofd --release-clocks again");
    }
    released.push_back({keeper.uuid(), std::move(status)});
  }
  return released;
}

}  // namespace kprof
