#include "daemon/process/helper_client/caller_place.h"

namespace kprof {

Status CheckIsHere(CallerPlace place, const std::string& what) {
  switch (place) {
    case CallerPlace::kHere:
      return OkStatus();
    case CallerPlace::kElsewhere:
      return Fail(ErrorCode::kNotPermitted, what,
                  "its caller is in a container, or sees other files than this machine's (another mount or user "
                  "namespace)",
                  "capture in the foreground (without --detach): that stays where its caller is and needs no helper");
    case CallerPlace::kGone:
      return Fail(ErrorCode::kNotPermitted, what,
                  "the process that connected has gone, so that nobody can see whether its caller is in a container",
                  "connect again, and stay until it is accepted");
    case CallerPlace::kUnknown:
    case CallerPlace::kUnasked:
      break;
  }
  return Fail(ErrorCode::kSpawnFailed, what,
              "kprofd-helper did not say, when its caller connected, whether that is in a container",
              "try again in some seconds, over a connection that is made anew, as gRPC's clients do by themselves; if "
              "that does not help, see with 'kprofctl doctor' whether kprofd-helper answers, or capture in the "
              "foreground (without --detach): that needs no helper");
}

}  // namespace kprof
