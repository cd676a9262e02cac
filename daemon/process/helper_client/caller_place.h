// Whether a caller is on this machine or in a container. A uid tells who somebody is on this machine, not that they are
// on it: a process in a container that the socket is mounted into has the uid and sees other files. Commands of such a
// caller may run only there, as its own child. Only the root helper can see the place of a caller (helper_protocol.h).
// A value.
#pragma once

#include <cstdint>
#include <string>

#include "storage/base/status.h"

namespace kprof {

// The numbers of kHere, kElsewhere and kGone go over the wire.
enum class CallerPlace : uint8_t {
  kUnknown = 0,    // nobody has answered in time
  kHere = 1,       // in the mount and the user namespace that commands are started in
  kElsewhere = 2,  // in others
  kGone = 3,       // the process that connected has ended; somebody else keeps its connection open
  kUnasked = 4,    // it does not matter: in user mode, for remote callers, for callers who may start nothing
};

// Ok for kHere alone: commands may be started on this machine for such a caller. Otherwise tells why not and what to
// do. `what`: the act that is refused.
Status CheckIsHere(CallerPlace place, const std::string& what);

}  // namespace kprof
