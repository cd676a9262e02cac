#include "daemon/runs/state_marker.h"

#include <sys/stat.h>

namespace kprof {

std::string StateMarker(const Layout& layout) {
  struct stat info {};
  (void)::stat(layout.state_folder.c_str(), &info);
  return "KPROF_STATE=" + std::to_string(info.st_dev) + "-" + std::to_string(info.st_ino);
}

}  // namespace kprof
