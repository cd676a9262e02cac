// Lets SQLite read a stranger's database through our descriptor of it and through nothing else: no path, no lock, no
// journal, no file beside it, no temporary file. Calls that would change something fail. The content of the file stays
// hostile; the connection guards against it (nsys_database.h).
//
// A file that was cut off gets the size that its header says, with zeros in place of the missing end. So SQLite reads
// the tables before the cut, and finds damage behind it.
//
// One thread at a time. Must outlive the connections.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>

#include "daemon/ingest/source/source_file.h"

namespace kprof {

class SourceVfs {
 public:
  // `source` is borrowed. Registers itself with SQLite, under a name of its own.
  explicit SourceVfs(const SourceFile& source);
  ~SourceVfs();
  SourceVfs(const SourceVfs&) = delete;
  SourceVfs& operator=(const SourceVfs&) = delete;

  // For sqlite3_open_v2, with kSourceUri, SQLITE_OPEN_READONLY and SQLITE_OPEN_URI.
  const char* name() const { return name_.c_str(); }
  // The size that the file's header says, or the real size if that is larger.
  int64_t claimed_bytes() const { return claimed_bytes_; }
  // The first failure of the file itself; SQLite only reports that reading failed.
  const Status& status() const { return status_; }

  // For SQLite's callbacks.
  int Read(void* out, int size, int64_t offset_bytes) noexcept;

 private:
  const SourceFile& source_;
  const std::string name_;
  int64_t claimed_bytes_;
  Status status_;
  sqlite3_vfs vfs_{};
};

// Without immutable=1 SQLite would look for a journal, and lock.
inline constexpr const char* kSourceUri = "file:source?immutable=1";

}  // namespace kprof
