#include "daemon/helper/helper_jobs.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <iterator>
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

namespace {

// In one turn, then others have theirs: a grant takes as long as the disk's sync.
constexpr size_t kAnsweredAtATime = 4;

HelperRefused TooLate() {
  return {
      ErrorCode::kTimedOut, "the directory of users on this node does not answer",
      "see that what /etc/nsswitch.conf names for passwd and group does (sssd, LDAP: 'getent passwd'), and try again"};
}

HelperRefused TooMany() {
  return {ErrorCode::kQueueFull, "too many wait for the directory of users on this node", "try again later"};
}

HelperRefused Withdrawn() {
  return {ErrorCode::kCancelled, "it was forgotten before it was registered", ""};
}

bool IsReadable(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, 0) > 0;
}

}  // namespace

void LookupQueue::Add(Lookup lookup, std::weak_ptr<const void> asker, Answered answered) {
  if (waiting_.size() >= kMostWaiting) return answered(lookup.conclude(TooMany()));
  waiting_.push_back({std::move(lookup), std::move(asker), std::move(answered), clock_.mono_ns() + kLimitNs});
  Start();
}

void LookupQueue::Withdraw(const std::string& run_id) {
  std::vector<Asked> withdrawn;
  std::erase_if(running_, [&](Running& running) {
    if (running.asked.lookup.run_id != run_id) return false;
    running.job.Kill();
    withdrawn.push_back(std::move(running.asked));
    return true;
  });
  std::erase_if(waiting_, [&](Asked& waiting) {
    if (waiting.lookup.run_id != run_id) return false;
    withdrawn.push_back(std::move(waiting));
    return true;
  });
  for (const Asked& asked : withdrawn) asked.answered(asked.lookup.conclude(Withdrawn()));
  Start();
}

int64_t LookupQueue::AddWaits(std::vector<pollfd>& waits) const {
  int64_t wake_at_ns = waiting_.empty() ? INT64_MAX : waiting_.front().by_mono_ns;
  for (const Running& running : running_) {
    waits.push_back({running.job.fd(), POLLIN, 0});
    wake_at_ns = std::min(wake_at_ns, running.asked.by_mono_ns);
  }
  return wake_at_ns;
}

void LookupQueue::Turn() {
  Drop();
  const int64_t now_ns = clock_.mono_ns();
  size_t left = kAnsweredAtATime;
  for (size_t i = 0; i < running_.size() && left > 0;) {
    const bool is_there = IsReadable(running_[i].job.fd());
    if (!is_there && now_ns < running_[i].asked.by_mono_ns) {
      ++i;
      continue;
    }
    Running over = std::move(running_[i]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    --left;
    if (!is_there) over.job.Kill();
    over.asked.answered(is_there ? over.job.TakeAnswer().message : over.asked.lookup.conclude(TooLate()));
  }
  for (; !waiting_.empty() && now_ns >= waiting_.front().by_mono_ns && left > 0; --left) {
    const Asked late = std::move(waiting_.front());
    waiting_.pop_front();
    late.answered(late.lookup.conclude(TooLate()));
  }
  Start();
}

// Of those who have gone.
void LookupQueue::Drop() {
  std::erase_if(running_, [](Running& running) {
    if (!running.asked.asker.expired()) return false;
    running.job.Kill();
    return true;
  });
  std::erase_if(waiting_, [](const Asked& waiting) { return waiting.asker.expired(); });
}

bool LookupQueue::has_turn(uint32_t uid) const {
  const auto of_this = std::count_if(running_.begin(), running_.end(),
                                     [&](const Running& running) { return running.asked.lookup.uid == uid; });
  return running_.size() < kMostAtATime && static_cast<size_t>(of_this) < kMostOfAUid;
}

void LookupQueue::Start() {
  for (auto next = waiting_.begin(); next != waiting_.end() && running_.size() < kMostAtATime;) {
    if (!has_turn(next->lookup.uid)) {
      ++next;
      continue;
    }
    Asked asked = std::move(*next);
    next = waiting_.erase(next);
    Result<HelperJob> job = HelperJob::StartFinding(asked.lookup.look_up, asked.by_mono_ns, asked.lookup.conclude);
    if (job.ok()) {
      running_.push_back({std::move(asked), *std::move(job)});
    } else {
      asked.answered(asked.lookup.conclude(RefusedFor(job.status())));
    }
  }
}

}  // namespace kprof
