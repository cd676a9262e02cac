// The one door to the file system for everything that must last: logs, artifacts, the launch spool, run folders.
// (SQLite has its own door, the VFS; tests put the same fault plan behind both, see tests/fakes/storage/fault_plan.h.)
// Knows no layout; that is layout.h. Paths are used as given; whoever builds one from outside input checks it.
//
// Any thread; the object is stateless. Calls block. Failures carry the path and, from errno, a code: a full disk is
// kStorageFull, a broken one kStorageBroken, a missing file kNotFound.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// A name that nobody else has, made without asking anybody: for temporary files, and for requests that may be sent
// twice. 32 hexadecimal digits, of 128 random bits. Any thread.
std::string RandomName();

// An open file. One thread at a time.
class File {
 public:
  virtual ~File() = default;
  // Writes all of it behind the bytes written so far, or fails; the file's end is undefined after a failed write.
  virtual Status Append(std::span<const char> bytes) = 0;
  // Writes all of it at `offset`.
  virtual Status WriteAt(int64_t offset_bytes, std::span<const char> bytes) = 0;
  // Reads up to `out.size()` bytes; 0 is the end of the file.
  virtual Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) = 0;
  virtual Result<int64_t> ReadSize() = 0;
  virtual Status Truncate(int64_t size_bytes) = 0;
  // Content and size are on the disk when it returns; the name is not until Files::SyncFolder.
  virtual Status Sync() = 0;
  virtual int fd() const = 0;
};

struct FolderEntry {
  std::string name;
  bool is_folder = false;
};

class Files {
 public:
  virtual ~Files() = default;
  // All three follow no symbolic link at the last step of the path. kBadInput for anything but a regular file.
  virtual Result<std::unique_ptr<File>> Create(const std::string& path) = 0;  // fails if it exists; mode 0600
  virtual Result<std::unique_ptr<File>> OpenForWrite(const std::string& path) = 0;
  virtual Result<std::unique_ptr<File>> OpenForRead(const std::string& path) = 0;
  virtual Status CreateFolder(const std::string& path) = 0;  // mode 0700; one that is there already is fine
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& path) = 0;      // a file; one that is not there is fine
  virtual Status RemoveTree(const std::string& path) = 0;  // a folder and all below, following no links
  virtual Status SyncFolder(const std::string& path) = 0;  // names in it are on the disk when it returns
  virtual Result<std::vector<FolderEntry>> List(const std::string& path) = 0;
  virtual Result<int64_t> ReadFreeBytes(const std::string& path) = 0;
};

// The real file system.
std::unique_ptr<Files> MakePosixFiles();

// The folder that holds the last step of a path: "." for a bare name, "/" at the top.
std::string FolderOf(const std::string& path);

// Creates the folder and those above it.
Status CreateFolders(Files& files, const std::string& path);

// Reads the whole of a small file. Fails with kUsage above `limit_bytes`.
Result<std::string> ReadWholeFile(Files& files, const std::string& path, int64_t limit_bytes);

}  // namespace kprof
