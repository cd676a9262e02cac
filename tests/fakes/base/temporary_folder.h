// An empty folder of a test's own, gone with it. Its path has no symbolic links and is short enough for a socket's.
// Needs storage/base and nothing else.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "storage/base/status.h"

namespace kprof {

class TemporaryFolder {
 public:
  enum class Holds {
    kFiles,     // in $TMPDIR if that is set, else in memory where there is some: tests shall not wait for a disk
    kPrograms,  // never in memory, where a container may not execute anything
  };

  explicit TemporaryFolder(Holds holds = Holds::kFiles) {
    namespace fs = std::filesystem;
    bool in_memory = holds == Holds::kFiles && std::getenv("TMPDIR") == nullptr && fs::is_directory("/dev/shm");
    std::string name = (fs::canonical(in_memory ? "/dev/shm" : fs::temp_directory_path()) / "kprof.XXXXXX").string();
    KPROF_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace kprof
