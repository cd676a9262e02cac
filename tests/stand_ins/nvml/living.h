// Which processes are there.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

namespace kprof::nvml_stand_in {

// False for one that has ended and that nobody has waited for.
bool IsAlive(pid_t pid);

// Those of this name (at most the 15 letters that the kernel keeps) in whose environment kModelVariable names the file
// with this inode: a node may run several tests at once, and whoever kills by name shall meet its own alone.
std::vector<pid_t> ProcessesNamed(std::string_view name, dev_t file_device, ino_t file_inode);

}  // namespace kprof::nvml_stand_in
