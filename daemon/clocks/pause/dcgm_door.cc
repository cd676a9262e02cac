#include "daemon/clocks/pause/dcgm_door.h"

#include "daemon/clocks/pause/dcgm_library.h"
#include "daemon/clocks/pause/dcgm_tool.h"

namespace kprof {

Result<std::unique_ptr<DcgmDoor>> OpenDcgm(const std::string& library, const std::string& tool_path, CallPage& page) {
  Result<std::unique_ptr<DcgmDoor>> door = DcgmLibrary::Open(library, page);
  if (door.ok() || door.status().code() != ErrorCode::kNotFound) return door;
  if (std::unique_ptr<DcgmDoor> tool = DcgmTool::Find(tool_path, page)) return tool;
  return Fail(ErrorCode::kNotFound, "find DCGM", "this node has neither its library (libdcgm.so) nor its tool (dcgmi)",
              "where it is installed elsewhere, name it: [devices] dcgm_library, or KPROF_DCGM_LIBRARY");
}

Status NoHostEngine(const std::string& act) {
  return Fail(ErrorCode::kNotFound, act, "no host engine of DCGM's runs on this node",
              "where one should, start it (nv-hostengine)");
}

Status DcgmStatus(dcgm::Return returned, const std::string& act, std::string_view said) {
  const std::string text(said);
  switch (returned) {
    case dcgm::kOk:
      return OkStatus();
    case dcgm::kNotSupported:
    case dcgm::kModuleNotLoaded:
    case dcgm::kProfilingNotSupported:
      return Fail(ErrorCode::kToolMissing, act, "DCGM has no profiling that it could pause: " + text,
                  "nothing is to be done on Hopper and newer; on others see dcgmi modules -l");
    case dcgm::kNoPermission:
    case dcgm::kRequiresRoot:
      return Fail(ErrorCode::kNotPermitted, act, text, "let DCGM's host engine run as root");
    case dcgm::kPaused:
      return Fail(ErrorCode::kToolFailed, act, "all of DCGM is paused, for a diagnostic say: " + text,
                  "wait until that is over");
    case dcgm::kTimeout:
      return Fail(ErrorCode::kTimedOut, act, "DCGM's host engine does not answer: " + text,
                  "see its log, and dmesg for what the driver says");
    default:
      return Fail(ErrorCode::kToolFailed, act, text.empty() ? "DCGM failed" : text,
                  "see the log of DCGM's host engine; dcgmi profile --pause and --resume do the same by hand");
  }
}

}  // namespace kprof
