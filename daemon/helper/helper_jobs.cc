#include "daemon/helper/helper_jobs.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <utility>
#include <vector>

#include "storage/base/packet_socket.h"

namespace kprof {
namespace {

constexpr int kResultFd = 3;

HelperRefused NoAnswer() {
  return {ErrorCode::kInternal, "the process that was to do it died", "look in the journal of kprofd-helper"};
}

constexpr int kFindingBytes = 512 << 10;  // with the kernel's own of them
constexpr char kFound = 'F';
constexpr char kRefused = 'R';

JobAnswer ReadAnswer(int result) {
  Packet packet;
  if (ReceivePacket(result, kHelperPacketLimitBytes, packet) != 0 || packet.end || packet.cut) {
    return {NoAnswer(), UniqueFd()};
  }
  Result<HelperPacket> decoded = DecodeHelperPacket(packet.bytes);
  if (!decoded.ok() || packet.files.size() != FilesOf(decoded->message)) return {NoAnswer(), UniqueFd()};
  UniqueFd file;
  if (!packet.files.empty()) file = std::move(packet.files.front());
  return {std::move(decoded->message), std::move(file)};
}

std::string EncodeFinding(const JobFinding& finding) {
  if (const auto* found = std::get_if<std::string>(&finding)) return kFound + *found;
  return kRefused + EncodeHelperPacket({0, std::get<HelperRefused>(finding)});
}

JobFinding ReadFinding(int result) {
  Packet packet;
  if (ReceivePacket(result, kFindingBytes, packet) != 0 || packet.end || packet.cut || !packet.files.empty() ||
      packet.bytes.empty()) {
    return NoAnswer();
  }
  const char kind = packet.bytes.front();
  packet.bytes.erase(0, 1);
  if (kind == kFound) return std::move(packet.bytes);
  Result<HelperPacket> decoded = DecodeHelperPacket(packet.bytes);
  auto* refused = decoded.ok() ? std::get_if<HelperRefused>(&decoded->message) : nullptr;
  return kind == kRefused && refused != nullptr ? std::move(*refused) : NoAnswer();
}

// Forks; `tell` runs in the new process, whose way back is kResultFd. What is readable here when it has told, or ended.
struct Forked {
  pid_t pid = -1;
  UniqueFd result;
};
Result<Forked> Fork(const std::function<void()>& tell) {
  ASSIGN_OR_RETURN(SocketPair ends, MakeSocketPair(SOCK_SEQPACKET));
  const pid_t pid = ::fork();
  if (pid < 0) {
    return Fail(ErrorCode::kQueueFull, "start a process of the helper", "the kernel has none left", "try again later");
  }
  if (pid > 0) return Forked{pid, std::move(ends.ours)};
  // CLOEXEC: that it closes says that this process is over, whatever it has started.
  if (ends.theirs.get() != kResultFd) ::dup3(ends.theirs.get(), kResultFd, O_CLOEXEC);
  // A connection that the helper closes, or that dies with it, is closed, however long this process is there; and who
  // takes the helper's place finds nobody listening there.
  ::syscall(SYS_close_range, kResultFd + 1, INT_MAX, 0);
  tell();
  ::_exit(0);
}

}  // namespace

HelperRefused RefusedFor(const Status& status) {
  return {status.code(), status.what() + ": " + status.why(), status.remedy()};
}

void EndWithTheHelper(pid_t helper) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != helper) ::_exit(0);
}

Result<HelperJob> HelperJob::Start(const std::function<JobAnswer()>& work, int64_t by_mono_ns) {
  auto tell = [&work] {
    const JobAnswer answer = work();
    std::vector<int> files;
    if (answer.file.valid()) files.push_back(answer.file.get());
    SendPacket(kResultFd, EncodeHelperPacket({0, answer.message}), files);
  };
  ASSIGN_OR_RETURN(Forked forked, Fork(tell));
  return HelperJob(forked.pid, std::move(forked.result), by_mono_ns, ReadAnswer);
}

Result<HelperJob> HelperJob::StartFinding(const std::function<JobFinding()>& work, int64_t by_mono_ns,
                                          std::function<HelperMessage(const JobFinding&)> conclude) {
  auto tell = [&work, helper = ::getpid()] {
    EndWithTheHelper(helper);
    ::setsockopt(kResultFd, SOL_SOCKET, SO_SNDBUF, &kFindingBytes, sizeof kFindingBytes);
    SendPacket(kResultFd, EncodeFinding(work()));
  };
  ASSIGN_OR_RETURN(Forked forked, Fork(tell));
  return HelperJob(forked.pid, std::move(forked.result), by_mono_ns, [conclude = std::move(conclude)](int result) {
    return JobAnswer{conclude(ReadFinding(result)), UniqueFd()};
  });
}

HelperJob HelperJob::Await(pid_t pid, UniqueFd result, int64_t by_mono_ns,
                           std::function<JobAnswer(int result)> read_answer) {
  return {pid, std::move(result), by_mono_ns, std::move(read_answer)};
}

void HelperJob::Kill() {
  KPROF_CHECK(pid_ > 1);
  pollfd answered{result_.get(), POLLIN, 0};
  if (::poll(&answered, 1, 0) != 0) return;
  ::kill(pid_, SIGKILL);
}

}  // namespace kprof
