// Hands an open file to kprofd for an import, over the side socket (proto/side_socket.h): no byte of it is copied, and
// it is read with the rights of whoever opened it.
#pragma once

#include <string>

#include "storage/base/status.h"

namespace kprof {

// The ticket that SubmitImport claims it by, within a minute. `file` is open for reading alone, and stays the caller's.
// kUsage for what kprofd does not take (KprofClient::UploadSource sends its bytes instead), kNoDaemon where no side
// socket is.
Result<std::string> SendOpenFile(const std::string& socket_path, int file);

}  // namespace kprof
