// An Output whose words stay in memory, for tests.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "client/cli/output.h"
#include "storage/base/descriptors.h"

namespace kprof::cli {

class CapturedOutput {
 public:
  Output& output() { return output_; }
  // Everything so far.
  std::string Results() {
    (void)output_.Flush();
    return ReadAll(results_.get());
  }
  std::string Notes() { return ReadAll(notes_.get()); }

 private:
  static std::string ReadAll(int fd) {
    std::string text(static_cast<size_t>(::lseek(fd, 0, SEEK_END)), '\0');
    ssize_t got = ::pread(fd, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }

  UniqueFd results_{::memfd_create("results", MFD_CLOEXEC)};
  UniqueFd notes_{::memfd_create("notes", MFD_CLOEXEC)};
  Output output_{results_.get(), notes_.get()};
};

}  // namespace kprof::cli
