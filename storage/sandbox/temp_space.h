// The place of one query's temporary files (sorts, DISTINCT, recursive queries, materialised subqueries), and a limit
// on the disk that they take together. It is a SQLite VFS of its own per query: a connection opened through it can open
// nameless temporary files in the given folder and nothing else, not even by ATTACH. The files never have a name that
// outlives their opening (O_TMPFILE, or unlinked at once), so a crash leaves nothing.
//
// Must outlive the connections opened through it. One thread at a time; many of them live side by side.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>

namespace kprof {

class TempSpace {
 public:
  TempSpace(std::string folder, int64_t limit_bytes);
  ~TempSpace();
  TempSpace(const TempSpace&) = delete;
  TempSpace& operator=(const TempSpace&) = delete;

  // For sqlite3_open_v2.
  const char* vfs_name() const { return name_.c_str(); }

  // True once a write was refused for going over the limit: SQLite reports SQLITE_FULL.
  bool exceeded() const { return exceeded_; }
  int64_t used_bytes() const { return used_bytes_; }
  int64_t peak_bytes() const { return peak_bytes_; }
  const std::string& folder() const { return folder_; }

  // For the files: asks for room; a negative number gives it back.
  bool Take(int64_t difference_bytes) noexcept;

 private:
  const std::string folder_;
  const std::string name_;
  const int64_t limit_bytes_;
  sqlite3_vfs vfs_;
  int64_t used_bytes_ = 0;
  int64_t peak_bytes_ = 0;
  bool exceeded_ = false;
};

}  // namespace kprof
