#include "client/cli/waiting/direct_output.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "daemon/launch/launch_protocol.h"
#include "storage/base/packet_socket.h"

namespace kprof::cli {
namespace {

constexpr size_t kPieceBytes = 64 << 10;

}  // namespace

Result<SupervisorEnds> DirectOutput::Open() {
  Close();
  ASSIGN_OR_RETURN(SocketPair out, MakeSocketPair(SOCK_STREAM));
  ASSIGN_OR_RETURN(SocketPair err, MakeSocketPair(SOCK_STREAM));
  ends_ = {std::move(out.ours), std::move(err.ours)};
  is_in_use_ = true;
  return SupervisorEnds{std::move(out.theirs), std::move(err.theirs)};
}

void DirectOutput::Close() {
  ends_ = {};
  told_ = {};
  taken_bytes_ = {};
  is_in_use_ = false;
}

std::string DirectOutput::Take(Stream stream) {
  UniqueFd& end = ends_[stream];
  if (!end.valid()) return {};
  std::string bytes(kPieceBytes, '\0');
  const ssize_t size = ::recv(end.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) end.Reset();
  bytes.resize(size > 0 ? static_cast<size_t>(size) : 0);
  taken_bytes_[stream] += static_cast<int64_t>(bytes.size());
  return bytes;
}

void DirectOutput::TellReaderGone(Stream stream) {
  if (!ends_[stream].valid()) return;
  (void)::send(ends_[stream].get(), &kReaderGone, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  told_[stream] = std::move(ends_[stream]);
}

}  // namespace kprof::cli
