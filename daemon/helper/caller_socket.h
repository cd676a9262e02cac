// Who is at the other end of a connection that kprofd hands over, read from the connection itself; and whether it is a
// caller's at all: a connection that kprofd has accepted at its own listening socket, and that is still open.
//
// Why so much care: SO_PEERCRED of a socket that *connected* somewhere tells who listened there. kprofd may connect to
// anybody's listening socket, so the uid alone proves nothing. An accepted socket carries the file that its listener
// was bound to (SIOCUNIXFILE), and that file lies where only root can put one.
#pragma once

#include <string>

#include "daemon/helper/grant.h"
#include "storage/base/status.h"

namespace kprof {

// What makes a caller acceptable.
struct CallerRules {
  std::string socket_path;    // kprofd's listening socket, as the helper sees it
  uint32_t kprofd_uid = 0;    // never a caller
  uint32_t least_uid = 1000;  // below are the system's own
  bool allow_root = false;    // uid 0
  bool need_account = true;   // a line in passwd
};

// The folders above the socket belong to root and nobody else can change what they hold: so that the socket is the one
// that root made. kNotPermitted with the folder.
Status CheckSocketPlace(const std::string& socket_path);

// Fails with kNotPermitted and what is wrong with it. Needs CAP_NET_ADMIN.
Result<CallerIdentity> ReadCaller(int connection, const CallerRules& rules);

// The part of it that depends on the uid alone; asked again before anything is started.
Status CheckCallerUid(uint32_t uid, const CallerRules& rules);

}  // namespace kprof
