#include "storage/base/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

namespace kprof {

bool OccupyClosedDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // It gets the lowest number that is free, and those below this one are taken.
    if (::open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) != fd) {
      constexpr char kWhy[] = "open /dev/null in place of a closed descriptor: failed\n";
      [[maybe_unused]] ssize_t ignored = ::write(STDERR_FILENO, kWhy, sizeof(kWhy) - 1);
      return false;
    }
  }
  return true;
}

}  // namespace kprof
