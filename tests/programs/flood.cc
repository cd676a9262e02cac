// flood <bytes> [stderr]: prints that many bytes as fast as it can.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/programs/flood_pattern.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int64_t size = std::atoll(argv[1]);
  const int fd = argc > 2 && std::strcmp(argv[2], "stderr") == 0 ? STDERR_FILENO : STDOUT_FILENO;
  static char block[64 << 10];
  for (int64_t at = 0; at < size;) {
    const int64_t count = std::min<int64_t>(size - at, sizeof block);
    for (int64_t i = 0; i < count; ++i) block[i] = FloodByte(at + i);
    for (int64_t done = 0; done < count;) {
      ssize_t n = ::write(fd, block + done, static_cast<size_t>(count - done));
      if (n <= 0) return 1;
      done += n;
    }
    at += count;
  }
  return 0;
}
