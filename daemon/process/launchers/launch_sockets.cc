#include "daemon/process/launchers/launch_sockets.h"

#include <sys/socket.h>

#include <string_view>
#include <utility>
#include <vector>

namespace kprof {

Result<SocketPair> MakeLaunchSockets(const OutputFiles& files) {
  ASSIGN_OR_RETURN(SocketPair ends, MakeSocketPair(SOCK_STREAM));
  const std::string_view first_byte("\0", 1);
  std::vector<int> descriptors = {files.stdout_fd, files.stderr_fd};
  if (files.progress_fd >= 0) descriptors.push_back(files.progress_fd);
  if (files.held_fd >= 0) descriptors.push_back(files.held_fd);
  int error = SendPacket(ends.ours.get(), first_byte, descriptors);
  if (error != 0) return FailErrno(error, "hand files to kprof-launch");
  return ends;
}

}  // namespace kprof
