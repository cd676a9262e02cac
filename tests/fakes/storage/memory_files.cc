#include "tests/fakes/storage/memory_files.h"

#include <algorithm>
#include <cerrno>

namespace kprof {

class MemoryFile final : public File {
 public:
  MemoryFile(MemoryFiles& files, MemoryFiles::Content content)
      : files_(files), content_(std::move(content)), end_bytes_(static_cast<int64_t>(content_->size())) {}

  Status Append(std::span<const char> bytes) override {
    RETURN_IF_ERROR(WriteAt(end_bytes_, bytes));
    end_bytes_ += static_cast<int64_t>(bytes.size());
    return OkStatus();
  }

  Status WriteAt(int64_t offset_bytes, std::span<const char> bytes) override {
    KPROF_CHECK(offset_bytes >= 0);
    RETURN_IF_ERROR(files_.NoteChange("write"));
    const size_t begin = static_cast<size_t>(offset_bytes);
    RETURN_IF_ERROR(files_.CheckRoom(*content_, begin + bytes.size()));
    if (content_->size() < begin + bytes.size()) content_->resize(begin + bytes.size());
    std::copy(bytes.begin(), bytes.end(), content_->begin() + offset_bytes);
    return OkStatus();
  }

  Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) override {
    files_.NoteRead();
    if (offset_bytes < 0) return FailErrno(EINVAL, "read");
    const size_t begin = std::min(static_cast<size_t>(offset_bytes), content_->size());
    const size_t count = std::min(out.size(), content_->size() - begin);
    std::copy_n(content_->begin() + static_cast<int64_t>(begin), count, out.begin());
    return count;
  }

  Result<int64_t> ReadSize() override { return static_cast<int64_t>(content_->size()); }

  Status Truncate(int64_t size_bytes) override {
    RETURN_IF_ERROR(files_.NoteChange("truncate"));
    content_->resize(static_cast<size_t>(size_bytes));
    end_bytes_ = size_bytes;
    return OkStatus();
  }

  Status Sync() override { return OkStatus(); }
  int fd() const override { return -1; }

 private:
  MemoryFiles& files_;
  const MemoryFiles::Content content_;
  int64_t end_bytes_;
};

Status MemoryFiles::NoteChange(const std::string& what) {
  ++changes_;
  return cut_at_ != 0 && changes_ >= cut_at_ ? FailErrno(EIO, what) : OkStatus();
}

Status MemoryFiles::CheckRoom(const std::string& file, size_t size_bytes) const {
  if (size_bytes <= file.size()) return OkStatus();
  auto needed_bytes = static_cast<int64_t>(size_bytes - file.size());
  for (const auto& [path, content] : files_) needed_bytes += static_cast<int64_t>(content->size());
  return needed_bytes > room_bytes_ ? FailErrno(ENOSPC, "write") : OkStatus();
}

void MemoryFiles::NoteRead() {
  ++reads_;
  if (before_read) before_read(reads_);
}

Result<std::unique_ptr<File>> MemoryFiles::Create(const std::string& path) {
  if (files_.contains(path)) return FailErrno(EEXIST, "create " + path);
  RETURN_IF_ERROR(NoteChange("create " + path));
  Content content = files_[path] = std::make_shared<std::string>();
  return std::unique_ptr<File>(std::make_unique<MemoryFile>(*this, std::move(content)));
}

Result<std::unique_ptr<File>> MemoryFiles::OpenForWrite(const std::string& path) {
  auto found = files_.find(path);
  if (found == files_.end()) return FailErrno(ENOENT, "open " + path);
  return std::unique_ptr<File>(std::make_unique<MemoryFile>(*this, found->second));
}

Result<std::unique_ptr<File>> MemoryFiles::OpenForRead(const std::string& path) {
  return OpenForWrite(path);
}

Status MemoryFiles::Rename(const std::string& from, const std::string& to) {
  auto found = files_.find(from);
  if (found == files_.end()) return FailErrno(ENOENT, "rename " + from);
  RETURN_IF_ERROR(NoteChange("rename " + from));
  Content content = found->second;
  files_.erase(found);
  files_[to] = std::move(content);
  return OkStatus();
}

Status MemoryFiles::Remove(const std::string& path) {
  if (!files_.contains(path)) return OkStatus();
  RETURN_IF_ERROR(NoteChange("remove " + path));
  files_.erase(path);
  return OkStatus();
}

Status MemoryFiles::RemoveTree(const std::string& path) {
  RETURN_IF_ERROR(NoteChange("remove " + path));
  std::erase_if(files_, [&](const auto& file) { return file.first.starts_with(path + "/"); });
  return OkStatus();
}

Result<std::vector<FolderEntry>> MemoryFiles::List(const std::string& path) {
  std::vector<FolderEntry> entries;
  for (const auto& [name, content] : files_) {
    if (name.starts_with(path + "/")) entries.push_back({name.substr(path.size() + 1), false});
  }
  return entries;
}

MemoryFiles MemoryFiles::Copy() const {
  MemoryFiles copy;
  for (const auto& [path, content] : files_) copy.Put(path, *content);
  return copy;
}

void MemoryFiles::Put(const std::string& path, std::string content) {
  files_[path] = std::make_shared<std::string>(std::move(content));
}

std::string* MemoryFiles::Find(const std::string& path) {
  auto found = files_.find(path);
  return found == files_.end() ? nullptr : found->second.get();
}

}  // namespace kprof
