#include "daemon/helper/helper_job.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

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

}  // namespace

Result<HelperJob> HelperJob::Start(const std::function<JobAnswer()>& work, int64_t by_mono_ns) {
  ASSIGN_OR_RETURN(SocketPair ends, MakeSocketPair(SOCK_SEQPACKET));
  const pid_t pid = ::fork();
  if (pid < 0) {
    return Fail(ErrorCode::kQueueFull, "start a process of the helper", "the kernel has none left", "try again later");
  }
  if (pid > 0) return HelperJob(pid, std::move(ends.ours), by_mono_ns, ReadAnswer);
  // CLOEXEC: that it closes says that this process is over, whatever it has started.
  if (ends.theirs.get() != kResultFd) ::dup3(ends.theirs.get(), kResultFd, O_CLOEXEC);
  const JobAnswer answer = work();
  std::vector<int> files;
  if (answer.file.valid()) files.push_back(answer.file.get());
  SendPacket(kResultFd, EncodeHelperPacket({0, answer.message}), files);
  ::_exit(0);
}

HelperJob HelperJob::Await(pid_t pid, UniqueFd result, int64_t by_mono_ns,
                           std::function<JobAnswer(int result)> read_answer) {
  return {pid, std::move(result), by_mono_ns, std::move(read_answer)};
}

void HelperJob::Kill() {
  KPROF_CHECK(pid_ > 1);
  ::kill(pid_, SIGKILL);
}

}  // namespace kprof
