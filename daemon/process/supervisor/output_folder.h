// The folder for a tool's own files, for its caller alone (0700). The command finds it by KPROF_OUTPUT_DIR. It goes
// with all that is in it when the supervisor ends. Of a supervisor that is killed the keeper removes it
// (supervisor_guard.h), or the daemon that started it, which then has named it.
#pragma once

#include <string>
#include <vector>

namespace kprof {

inline constexpr char kOutputFolderVariable[] = "KPROF_OUTPUT_DIR";
inline constexpr size_t kOutputFolderPathBytes = 4096;

class OutputFolder {
 public:
  // `shared`: kOutputFolderPathBytes that another process sees, which removes the folder that is named there when this
  // one cannot; null: nobody does.
  explicit OutputFolder(char* shared) : shared_(shared) {}
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // `path`: where it is to be; empty: a new one in the TMPDIR of the environment, else in /tmp. Returns errno, 0: it is
  // there.
  int Make(const std::string& path, const std::vector<std::string>& environment);
  const std::string& path() const { return path_; }
  // Leaves what it cannot remove.
  void Remove();

 private:
  char* const shared_;
  std::string path_;
};

// Removes a folder and all below it, following no link. Blocks.
void RemoveFolderTree(const std::string& path);

}  // namespace kprof
