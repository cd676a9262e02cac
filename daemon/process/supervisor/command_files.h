// The files that a command and its tool left, and the folder for those of the tool. OutputSearch finds files by globs,
// absolute or from a folder. It takes regular files of the caller's own alone, and none that was last changed before
// the run began. It follows a symbolic link only where the glob names the folder itself. A file that is a link is left
// out, and so is a device, a pipe or a socket. Files that are left out are named, as far as there is room.
//
// `*` and `?` stand for no slash, `**` for any number of folders; a name that begins with a dot must be named so. A
// glob that names a folder, with no pattern in it, stands for all that is in it: `out` is `out/**`.
//
// Blocks for the file system; looks at kMostEntries names at most, and for kLongestSearchNs.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/launch/launch_protocol.h"
#include "storage/base/clock.h"
#include "storage/base/descriptors.h"

namespace kprof {

// The folder for a tool's own files, for its caller alone (0700). The command finds it by KPROF_OUTPUT_DIR. The
// supervisor removes it with its contents when it ends. If the supervisor is killed, its guard removes it
// (supervisor_guard.h), or the daemon that started the supervisor, which has chosen the path then.
inline constexpr char kOutputFolderVariable[] = "KPROF_OUTPUT_DIR";
inline constexpr size_t kOutputFolderPathBytes = 4096;

class OutputFolder {
 public:
  // `shared`: kOutputFolderPathBytes of memory shared with another process, which removes the folder that is named
  // there when this one cannot; null: there is no such process.
  explicit OutputFolder(char* shared) : shared_(shared) {}
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Makes it at `path`; empty: a new one in the TMPDIR of the environment, else in /tmp. Returns errno; 0: it is there.
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

class OutputSearch {
 public:
  static constexpr int64_t kMostEntries = 200'000;
  static constexpr int64_t kLongestSearchNs = 60 * kNanosPerSecond;

  struct Limits {
    int64_t files = 1000;
    int64_t entries = kMostEntries;
    int64_t not_before_unix_ns = 0;
    int64_t time_ns = kLongestSearchNs;
  };
  explicit OutputSearch(const Limits& limits);

  // `glob` from `folder`, unless it is absolute. `tool_output`: as in OutputFound. True: it matched something.
  bool Find(const std::string& folder, const std::string& glob, int32_t tool_output);
  // Notes one more that is not kept, and why.
  void LeaveOut(const std::string& reason);
  // Says that the glob matched no file.
  void Miss(const std::string& glob) { LeaveOut("no file matches '" + Shown(glob) + "'"); }

  struct File {
    std::string path;
    OutputFound found;
  };
  // In the order in which they were found; each file once.
  std::vector<File>& files() { return files_; }
  const OutputsLeftOut& left_out() const { return left_out_; }

  // Invalid where it cannot be opened, which is then noted.
  UniqueFd Open(const File& file);

 private:
  struct Place;
  void Walk(const Place& place, size_t part);
  void WalkAny(const Place& place, size_t part);
  void TakeAll(const Place& place);
  void Take(const Place& place);
  bool Count();
  static std::string Shown(std::string_view bytes);

  const Limits limits_;
  const int64_t until_mono_ns_;
  std::vector<std::string> parts_;  // of the glob that is being looked for
  int32_t tool_output_ = -1;
  bool matched_ = false;
  int64_t entries_ = 0;
  bool gave_up_ = false;
  std::vector<File> files_;
  std::set<std::pair<uint64_t, uint64_t>> seen_;  // device and inode
  OutputsLeftOut left_out_;
};

}  // namespace kprof
