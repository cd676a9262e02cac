// Files that live in memory, for fuzzers: tens of thousands of files a second, and a cut after any change. Keeps
// content and names, no folders (each is there), no times, no permissions; a rename takes content along, as it does on
// a disk. fd() is -1. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/files.h"

namespace kprof {

class MemoryFiles final : public Files {
 public:
  // Another disk with the same on it.
  MemoryFiles Copy() const;

  Result<std::unique_ptr<File>> Create(const std::string& path) override;
  Result<std::unique_ptr<File>> OpenForWrite(const std::string& path) override;
  Result<std::unique_ptr<File>> OpenForRead(const std::string& path) override;
  Status CreateFolder(const std::string&) override { return OkStatus(); }
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status RemoveTree(const std::string& path) override;
  Status SyncFolder(const std::string&) override { return OkStatus(); }
  Result<std::vector<FolderEntry>> List(const std::string& path) override;
  Result<int64_t> ReadFreeBytes(const std::string&) override { return int64_t{1} << 40; }

  void Put(const std::string& path, std::string content);
  // The content itself, for looking and for changing under those who have it open; null when there is none.
  std::string* Find(const std::string& path);

  // The `at`-th change from now on (1 is the next) and all after it fail, and change nothing; 0: none does.
  void CutAt(int64_t at) { cut_at_ = at == 0 ? 0 : changes_ + at; }
  // Limits what all files together hold: a write that would need more fails with kStorageFull, and changes nothing.
  void SetRoom(int64_t bytes) { room_bytes_ = bytes; }
  // How many there were.
  int64_t changes() const { return changes_; }

  // Called before each read with its number, from 1: somebody else changes the files meanwhile.
  std::function<void(int64_t)> before_read;

 private:
  friend class MemoryFile;
  using Content = std::shared_ptr<std::string>;  // shared: open files outlast their name
  Status NoteChange(const std::string& what);
  void NoteRead();

  std::map<std::string, Content> files_;
  Status CheckRoom(const std::string& file, size_t size_bytes) const;
  int64_t room_bytes_ = INT64_MAX;
  int64_t changes_ = 0;
  int64_t cut_at_ = 0;
  int64_t reads_ = 0;
};

}  // namespace kprof
