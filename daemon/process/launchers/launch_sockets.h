// The two ends of a supervisor's channel, with where the command's output goes on its way to it: what launch_protocol.h
// begins with. Whoever starts the supervisor gives it the other end.
#pragma once

#include "daemon/process/launchers/launcher.h"
#include "storage/base/packet_socket.h"
#include "storage/base/status.h"

namespace kprof {

// Costs a pair of sockets. The files stay the caller's; copies of them are held until the supervisor takes them, or
// both ends are closed.
Result<SocketPair> MakeLaunchSockets(const OutputFiles& files);

}  // namespace kprof
