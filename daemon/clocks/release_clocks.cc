#include "daemon/clocks/release_clocks.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/clocks/keeper/note_store.h"
#include "daemon/clocks/keeper/pause_keeper.h"
#include "daemon/clocks/locks/clock_notes.h"
#include "daemon/process/helper_client/helper_protocol.h"
#include "daemon/process/worker/call_page.h"
#include "daemon/process/worker/worker_process.h"
#include "storage/base/packet_socket.h"
#include "storage/base/status.h"

namespace kprof {
namespace {

// A keeper (keeper_life.h) that nobody asks anything: it gives back what was left, and ends. For who cleans up without
// a kprofd. One thread; blocks only in WaitUntil.
class CleanupKeeper {
 public:
  // `act`: what it is there for, "release the clocks of GPU-1". Fails as StartWorker.
  static Result<CleanupKeeper> Start(const std::string& program, const std::vector<std::string>& arguments,
                                     OwnChildren* own, std::string act);

  // Whether it has ended by then.
  bool WaitUntil(std::chrono::steady_clock::time_point end);
  // It is killed, if it can be, and not waited for.
  Status GiveUp();

  const std::string& act() const { return act_; }
  // REQUIRES: it has ended. "with status 1", "by signal 14 within nvmlDeviceResetGpuLockedClocks"
  const std::string& how() const { return how_; }

 private:
  CleanupKeeper(CallPage page, WorkerProcess process, std::string act)
      : page_(std::move(page)), process_(std::move(process)), act_(std::move(act)) {}

  CallPage page_;
  WorkerProcess process_;
  std::string act_;
  std::string how_;
};

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

}  // namespace

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

namespace {

using std::chrono::steady_clock;

constexpr const char* kAct = "release clocks";
constexpr auto kLastWord = std::chrono::seconds(1);
constexpr const char* kRemedy = "see 'systemctl status kprofd-helper' and its journal";

// False: the time is over before.
bool WaitForInput(int socket, steady_clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now()).count();
  pollfd said{socket, POLLIN, 0};
  return ::poll(&said, 1, static_cast<int>(std::max<int64_t>(left, 0))) > 0;
}

// One question after the other.
class HelperTalk {
 public:
  static Result<HelperTalk> Connect(const std::string& path, steady_clock::time_point end) {
    ASSIGN_OR_RETURN(UniqueFd socket, ConnectPacketSocket(path));
    HelperTalk helper(std::move(socket), end);
    ASSIGN_OR_RETURN(const HelperMessage hello, helper.Ask(HelperHello{}, {}));
    const auto* theirs = std::get_if<HelperHello>(&hello);
    if (theirs == nullptr || theirs->version != kHelperProtocolVersion) {
      return Fail(ErrorCode::kInternal, kAct, "kprofd-helper speaks another protocol",
                  "install both from the same package");
    }
    return helper;
  }

  Result<HelperMessage> Ask(HelperMessage request, const std::vector<int>& files) {
    if (SendPacket(socket_.get(), EncodeHelperPacket({++tag_, std::move(request)}), files) != 0) return Gone();
    if (!WaitForInput(socket_.get(), end_)) {
      return Fail(ErrorCode::kTimedOut, kAct, "kprofd-helper does not answer", kRemedy);
    }
    Packet packet;
    if (ReceivePacket(socket_.get(), kHelperPacketLimitBytes, packet) != 0 || packet.end) return Gone();
    ASSIGN_OR_RETURN(HelperPacket answer, DecodeHelperPacket(packet.bytes));
    if (const auto* refused = std::get_if<HelperRefused>(&answer.message)) {
      return Fail(refused->code, kAct, refused->why, refused->remedy);
    }
    return std::move(answer.message);
  }

  void AnswerBy(steady_clock::time_point end) { end_ = end; }

 private:
  HelperTalk(UniqueFd socket, steady_clock::time_point end) : socket_(std::move(socket)), end_(end) {}
  static Status Gone() { return Fail(ErrorCode::kNoDaemon, kAct, "kprofd-helper went away", kRemedy); }

  UniqueFd socket_;
  steady_clock::time_point end_;
  uint32_t tag_ = 0;
};

Result<std::vector<std::string>> ListHeld(HelperTalk& helper) {
  ASSIGN_OR_RETURN(const HelperMessage answer, helper.Ask(HelperListHeld{}, {}));
  const auto* held = std::get_if<HelperHeldList>(&answer);
  if (held == nullptr) return Fail(ErrorCode::kInternal, kAct, "kprofd-helper says something else");
  return held->device_uuids;
}

// A keeper that nobody asks anything. Its end is that of the socket.
Result<UniqueFd> StartCleanupKeeper(HelperTalk& helper, const std::string& uuid) {
  ASSIGN_OR_RETURN(CallPage page, CallPage::Make());
  ASSIGN_OR_RETURN(SocketPair ends, MakeSocketPair(SOCK_SEQPACKET));
  RETURN_IF_ERROR(helper.Ask(HelperHoldClocks{uuid}, {ends.theirs.get(), page.fd()}).status());
  ::shutdown(ends.ours.get(), SHUT_WR);
  return std::move(ends.ours);
}

}  // namespace

Result<std::vector<ReleasedDevice>> ReleaseByHelper(const std::string& helper_socket, int64_t limit_ms) {
  if (::access(helper_socket.c_str(), F_OK) != 0 && errno == ENOENT) return std::vector<ReleasedDevice>();
  const auto end = steady_clock::now() + std::chrono::milliseconds(limit_ms);
  ASSIGN_OR_RETURN(HelperTalk helper, HelperTalk::Connect(helper_socket, end));
  ASSIGN_OR_RETURN(const std::vector<std::string> held, ListHeld(helper));
  std::vector<ReleasedDevice> released;
  std::vector<std::pair<std::string, UniqueFd>> keepers;
  for (const std::string& uuid : held) {
    Result<UniqueFd> keeper = StartCleanupKeeper(helper, uuid);
    if (keeper.ok()) {
      keepers.emplace_back(uuid, *std::move(keeper));
    } else {
      released.push_back({uuid, keeper.status()});
    }
  }
  for (const auto& [uuid, keeper] : keepers) WaitForInput(keeper.get(), end);
  if (keepers.empty()) return released;
  helper.AnswerBy(std::max(end, steady_clock::now() + kLastWord));
  ASSIGN_OR_RETURN(const std::vector<std::string> left, ListHeld(helper));
  for (const auto& [uuid, keeper] : keepers) {
    Status status;
    if (std::find(left.begin(), left.end(), uuid) != left.end()) {
      status = Fail(ErrorCode::kToolFailed, "release the clocks of " + uuid,
                    "they are still held; 'journalctl -u kprof-clocks-* -u kprofd-helper' says why",
                    "mend that, then run kprofd --release-clocks again");
    }
    released.push_back({uuid, std::move(status)});
  }
  return released;
}

}  // namespace kprof
