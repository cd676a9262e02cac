// Where a caller is: a uid says who somebody is on this machine, not that they are on it. Whoever comes out of a
// container that the socket is mounted into has the uid, and sees other files. What such a caller asks for may run
// there, as its own child, and nowhere else. Only the root helper can see where somebody is (helper_protocol.h). A
// value.
#pragma once

#include <cstdint>
#include <string>

#include "storage/base/status.h"

namespace kprof {

// The numbers of those that somebody can see go over the wire.
enum class CallerPlace : uint8_t {
  kUnknown = 0,    // nobody has answered in time
  kHere = 1,       // in the mount and the user namespace that commands are started in
  kElsewhere = 2,  // in others
  kGone = 3,       // the process that connected has ended; somebody else keeps its connection open
  kUnasked = 4,    // it does not matter: in user mode, of remote callers, of those who may start nothing
};

// Whether commands may be started on this machine for whoever is there: kHere alone. Says why not, and what to do.
// `what`: the act that is refused.
Status CheckIsHere(CallerPlace place, const std::string& what);

}  // namespace kprof
