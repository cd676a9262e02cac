#include "daemon/ingest/channel/ingest_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kFrameBytes = 256 << 10;

}  // namespace

Status FrameSink::AddString(uint32_t id, std::string_view text) {
  return Send(IngestFrame::kString, EncodeString(id, text));
}

Status FrameSink::AddTrack(const TrackRow& track) {
  return Send(IngestFrame::kTrack, EncodeTrack(track));
}

Status FrameSink::AddShape(uint32_t id, const ArgShape& shape) {
  return Send(IngestFrame::kShape, EncodeShape(id, shape));
}

Status FrameSink::AddSegment(const EncodedSegment& segment) {
  return Send(IngestFrame::kSegment, EncodeSegment(segment));
}

Status FrameSink::AddSideTable(uint32_t id, const SideTable& table) {
  return Send(IngestFrame::kSideTable, EncodeSideTable(id, table));
}

Status FrameSink::AddSideSegment(const EncodedSideSegment& segment) {
  return Send(IngestFrame::kSideSegment, EncodeSideSegment(segment));
}

Status FrameSink::SetFact(std::string_view name, std::string_view text) {
  return Send(IngestFrame::kText, EncodeText(name, text));
}

Status FrameSink::SetFact(std::string_view name, int64_t value) {
  return Send(IngestFrame::kInteger, EncodeInteger(name, value));
}

Status FrameSink::SendNow(IngestFrame type, std::string_view message) {
  RETURN_IF_ERROR(Send(type, message));
  return Flush();
}

Status FrameSink::Send(IngestFrame type, std::string_view message) {
  if (message.size() > kMostFrameBytes) {
    return Fail(ErrorCode::kBadInput, "tell kprofd what was read",
                "a piece of it has more than " + std::to_string(kMostFrameBytes >> 20) + " MiB");
  }
  AppendFrame(type, message, waiting_);
  return waiting_.size() < kFrameBytes ? OkStatus() : Flush();
}

Status FrameSink::Flush() {
  for (size_t done = 0; done < waiting_.size();) {
    const ssize_t wrote = ::write(fd_, waiting_.data() + done, waiting_.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return FailErrno(errno, "tell kprofd what was read");
    done += static_cast<size_t>(wrote);
  }
  waiting_.clear();
  return OkStatus();
}

namespace {

constexpr int kChannelBytes = 1 << 20;
constexpr size_t kReadBytes = 1 << 20;

// Both above the numbers that they get in the child, so that neither overwrites the other.
Result<UniqueFd> Above(int fd) {
  UniqueFd above(::fcntl(fd, F_DUPFD_CLOEXEC, kIngestSourceFd + 1));
  if (!above.valid()) return FailErrno(errno, "hand a descriptor on", "raise the limit of open files");
  return above;
}

// Nothing of kprofd's, but what a build with sanitizers is told by.
//
// It does not ask for huge pages (GLIBC_TUNABLES=glibc.malloc.hugetlb=1): where a virtual machine gives free memory
// back, all of them must be cleared anew after a few idle seconds, and then an import takes three times as long
// (docs/measurements.md).
std::vector<char*> EnvironmentOfReader() {
  std::vector<char*> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view name = std::string_view(*variable).substr(0, std::string_view(*variable).find('='));
    if (name.ends_with("SAN_OPTIONS")) kept.push_back(*variable);
  }
  kept.push_back(nullptr);
  return kept;
}

int Spawn(const std::string& program, int channel_fd, int source_fd, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, channel_fd, kIngestChannelFd);
  posix_spawn_file_actions_adddup2(&actions, source_fd, kIngestSourceFd);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  // Not the daemon's log: what hostile files make it print is theirs.
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, kIngestSourceFd + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  std::string name = program.substr(program.rfind('/') + 1);
  char* argv[] = {name.data(), nullptr};
  std::vector<char*> environment = EnvironmentOfReader();
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv, environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

Status SendAll(int fd, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t sent = ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) break;  // it has ended: why, Receive finds out
    if (sent < 0) return FailErrno(errno, "tell kprof-ingest what to read");
    done += static_cast<size_t>(sent);
  }
  return OkStatus();
}

}  // namespace

Result<IngestProcess> IngestProcess::Start(const std::string& program, int source_fd, const IngestRequest& request,
                                           OwnChildren* own) {
  const char* remedy = "check that kprof is installed whole, and the limits of processes and open files";
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return FailErrno(errno, "start " + program, remedy);
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  for (const int end : ends) ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kChannelBytes, sizeof(kChannelBytes));
  ASSIGN_OR_RETURN(const UniqueFd channel, Above(theirs.get()));
  ASSIGN_OR_RETURN(const UniqueFd source, Above(source_fd));
  int error = 0;
  const auto start = [&]() -> pid_t {
    pid_t pid = -1;
    error = Spawn(program, channel.get(), source.get(), pid);
    return error == 0 ? pid : -1;
  };
  const pid_t pid = own == nullptr ? start() : own->Add(start);
  if (pid < 0) {
    const ErrorCode code = error == ENOENT ? ErrorCode::kToolMissing : ErrorCode::kSpawnFailed;
    return Fail(code, "start " + program, FailErrno(error, "start it").why(), remedy);
  }
  IngestProcess process(std::move(ours), pid, own);
  std::string frame;
  AppendFrame(IngestFrame::kRequest, EncodeIngestRequest(request), frame);
  RETURN_IF_ERROR(SendAll(process.channel_.get(), frame));
  return process;
}

IngestProcess::IngestProcess(IngestProcess&& other) noexcept
    : channel_(std::move(other.channel_)),
      pid_(std::exchange(other.pid_, -1)),
      own_(other.own_),
      bytes_(std::move(other.bytes_)),
      filled_(other.filled_),
      taken_(other.taken_) {}

IngestProcess::~IngestProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  Wait();
}

int IngestProcess::Wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  if (own_ != nullptr) own_->Remove(pid_);
  pid_ = -1;
  return status;
}

Result<bool> IngestProcess::Tell(const SourceGrowth::State& grown) {
  std::string frame;
  AppendFrame(IngestFrame::kGrown, EncodeGrown(grown), frame);
  const ssize_t sent = ::send(channel_.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(frame.size())) return true;
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return true;  // it has ended: why, Receive finds out
  return FailErrno(sent < 0 ? errno : EMSGSIZE, "tell kprof-ingest how far its source is");
}

Result<std::optional<ReceivedFrame>> IngestProcess::Receive(int wait_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  while (true) {
    std::string_view rest = std::string_view(bytes_).substr(taken_, filled_ - taken_);
    ASSIGN_OR_RETURN(const std::optional<ReceivedFrame> frame, TakeFrame(rest));
    if (frame) {
      taken_ = filled_ - rest.size();
      return frame;
    }
    std::copy(rest.begin(), rest.end(), bytes_.begin());
    filled_ = rest.size();
    taken_ = 0;
    // Of the whole frame: one that comes byte by byte must not hold up who waits.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (left < 0) return std::optional<ReceivedFrame>();
    pollfd readable{channel_.get(), POLLIN, 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return FailErrno(errno, "hear from kprof-ingest");
    if (ready <= 0) return std::optional<ReceivedFrame>();
    bytes_.resize(std::max(bytes_.size(), filled_ + kReadBytes));
    const ssize_t got = ::recv(channel_.get(), bytes_.data() + filled_, kReadBytes, 0);
    filled_ += static_cast<size_t>(std::max<ssize_t>(got, 0));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return WhyEnded();
  }
}

Status IngestProcess::WhyEnded() {
  ::kill(pid_, SIGKILL);  // one that only closed its socket
  const int status = Wait();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kIngestOutOfMemory) {
    return Fail(ErrorCode::kBadInput, "read it", "that takes more memory than an import may have", kMoreMemory);
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    return Fail(ErrorCode::kBadInput, "read it",
                "that takes more time of processors than an import of its size may have: docs/import.md says how much",
                "report it, with the file if that may be shown");
  }
  const std::string how =
      WIFSIGNALED(status) ? SignalName(WTERMSIG(status)) : "status " + std::to_string(WEXITSTATUS(status));
  return Fail(ErrorCode::kInternal, "read it", "kprof-ingest, which reads it, ended with " + how,
              "report it, with the file if that may be shown");
}

}  // namespace kprof
