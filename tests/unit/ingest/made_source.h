// Sources for tests of readers: bytes as a file without a name, and SQLite databases made of SQL.
#pragma once

#include <sqlite3.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/ingest/source/source_file.h"
#include "storage/base/descriptors.h"

namespace kprof {

class MadeSource {
 public:
  explicit MadeSource(std::string_view bytes)
      : fd_(::memfd_create("source", MFD_CLOEXEC)), file_(Fill(fd_.get(), bytes)) {}

  const SourceFile& file() const { return file_; }
  int fd() const { return fd_.get(); }

 private:
  static SourceFile Fill(int fd, std::string_view bytes) {
    KPROF_CHECK(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    Result<SourceFile> file = SourceFile::Open(fd, "made.sqlite");
    KPROF_CHECK(file.ok());
    return *std::move(file);
  }

  UniqueFd fd_;
  SourceFile file_;
};

// The bytes of a database in which this SQL was run.
inline std::string DatabaseOf(const std::string& sql) {
  sqlite3* db = nullptr;
  KPROF_CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
  char* error = nullptr;
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error) != SQLITE_OK) {
    std::fprintf(stderr, "%s\n", error);
    KPROF_CHECK(false);
  }
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(db, "main", &size, 0);
  std::string database(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(db);
  return database;
}

}  // namespace kprof
