#include "daemon/clocks/lone_keeper.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "storage/base/packet_socket.h"

namespace kprof {

Result<CleanupKeeper> CleanupKeeper::Start(const std::string& program, const std::vector<std::string>& arguments,
                                           OwnChildren* own, std::string act) {
  ASSIGN_OR_RETURN(CallPage page, CallPage::Make());
  ASSIGN_OR_RETURN(const SocketPair ends, MakeSocketPair(SOCK_SEQPACKET));  // ours ends here
  ASSIGN_OR_RETURN(WorkerProcess process, StartWorker(program, arguments, {ends.theirs.get(), page.fd()}, own));
  return CleanupKeeper(std::move(page), std::move(process), std::move(act));
}

bool CleanupKeeper::WaitUntil(std::chrono::steady_clock::time_point end) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd ended{process_.exit.get(), POLLIN, 0};
    const int ready = ::poll(&ended, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready > 0) {
      how_ = ReapWorker(process_.pid, nullptr);
      if (const std::optional<CallPage::Call> call = page_.Now()) how_ += " within " + call->name;
      return true;
    }
    if (ready == 0) return false;
  }
}

Status CleanupKeeper::GiveUp() {
  const std::optional<CallPage::Call> call = page_.Now();
  ::kill(process_.pid, SIGKILL);
  return Fail(ErrorCode::kTimedOut, act_, call ? call->name + " does not return" : "it takes too long",
              "see dmesg for what the driver says, then run kprofd --release-clocks again");
}

}  // namespace kprof
