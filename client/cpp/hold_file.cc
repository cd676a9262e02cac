#include "client/cpp/hold_file.h"

#include <utility>

#include "client/cpp/side_socket_client.h"

namespace kprof {

Result<std::string> SendOpenFile(const std::string& socket_path, int file) {
  ASSIGN_OR_RETURN(SideReply reply, CallSideSocket(socket_path, {kSideHoldFile, ""}, file, "hand over a file"));
  return std::move(reply.text);
}

}  // namespace kprof
