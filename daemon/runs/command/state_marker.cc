#include "daemon/runs/command/state_marker.h"

#include <sys/stat.h>

#include "daemon/launch/run_variables.h"

namespace kprof {

std::string StateMarker(const Layout& layout) {
  struct stat info {};
  (void)::stat(layout.state_folder.c_str(), &info);
  return std::string(kStateVariable) + "=" + std::to_string(info.st_dev) + "-" + std::to_string(info.st_ino);
}

}  // namespace kprof
