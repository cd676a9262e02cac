// Lets SQLite read a database of somebody else's through the descriptor that we have of it, and through nothing else:
// no path, no lock, no journal, no file beside it, no temporary file; whatever would change something fails. What is
// in the file stays as hostile as it was; that is the connection's business (nsys_database.h).
//
// A file that was cut off has the size that its header says, with zeros where its end is missing: so SQLite reads the
// tables that are before that, and finds damage where it comes to it.
//
// Any thread, as SourceFile. Must outlive the connections.
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
  // The file's size as its header says, where that is more than there is of it; else what there is.
  int64_t claimed_bytes() const { return claimed_bytes_; }
  // The first failure of the file itself, which SQLite reports only as one of reading.
  const Status& status() const { return status_; }

  // The rest is for SQLite's callbacks.
  int Read(void* out, int size, int64_t offset_bytes) noexcept;

 private:
  const SourceFile& source_;
  const std::string name_;
  int64_t claimed_bytes_;
  Status status_;
  sqlite3_vfs vfs_{};
};

// Without it SQLite would look for a journal, and lock.
inline constexpr const char* kSourceUri = "file:source?immutable=1";

}  // namespace kprof
