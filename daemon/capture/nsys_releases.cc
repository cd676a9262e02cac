#include "daemon/capture/nsys_releases.h"

#include "daemon/capture/vendor_program.h"

namespace kprof {

Status CheckNsysRelease(const std::string& program, const std::string& version) {
  const int64_t release = ReleaseOf(version);
  if (release == 0 || release >= kFirstNsysRelease) return OkStatus();
  return Fail(ErrorCode::kToolMissing, "trace with nsys",
              program + " is of " + version + ", which writes reports of an older form (.qdrep)",
              "install Nsight Systems 2021.4 or later, put its folder first into PATH, or name it in [devices] "
              "tool_path (KPROF_TOOL_PATH)");
}

}  // namespace kprof
