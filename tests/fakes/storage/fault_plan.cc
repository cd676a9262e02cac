#include "tests/fakes/storage/fault_plan.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "storage/base/status.h"

namespace kprof {
namespace {

namespace fs = std::filesystem;

std::string PlannedFolderOf(const std::string& path) {
  return fs::path(path).parent_path().string();
}

bool IsBelow(const std::string& path, const std::string& folder) {
  return path.starts_with(folder + "/");
}

}  // namespace

void FaultPlan::FailAt(int64_t at, Fault fault, bool lasting) {
  std::lock_guard lock(mu_);
  ops_ = 0;
  fail_at_ = at;
  fault_ = fault;
  lasting_ = lasting || fault == Fault::kPowerCut;
  has_failed_ = false;
}

void FaultPlan::Heal() {
  FailAt(0, Fault::kNoSpace);
}

int64_t FaultPlan::ops() const {
  std::lock_guard lock(mu_);
  return ops_;
}

bool FaultPlan::has_failed() const {
  std::lock_guard lock(mu_);
  return has_failed_;
}

FaultPlan::Op FaultPlan::failed_op() const {
  std::lock_guard lock(mu_);
  return failed_op_;
}

FaultPlan::Verdict FaultPlan::Judge(Op op, size_t size_bytes) {
  std::lock_guard lock(mu_);
  ++ops_;
  if (fail_at_ == 0 || ops_ < fail_at_ || (ops_ > fail_at_ && !lasting_)) return {};
  bool is_first = !has_failed_;
  if (is_first) failed_op_ = op;
  has_failed_ = true;
  Verdict verdict;
  verdict.error = fault_ == Fault::kNoSpace ? ENOSPC : EIO;
  bool tears = fault_ == Fault::kTear || (fault_ == Fault::kPowerCut && is_first);
  if (tears && op == Op::kWrite) verdict.part_bytes = size_bytes / 2;
  return verdict;
}

int FaultPlan::NodeAt(const std::string& path) const {
  std::lock_guard lock(mu_);
  auto found = now_.find(path);
  return found == now_.end() ? -1 : found->second;
}

int FaultPlan::NoteFound(const std::string& path, std::string content) {
  std::lock_guard lock(mu_);
  int node = static_cast<int>(nodes_.size());
  if (!content.empty()) safe_[path] = node;
  nodes_.push_back({std::move(content), {}});
  now_[path] = node;
  return node;
}

int FaultPlan::NoteCreated(const std::string& path) {
  return NoteFound(path, "");
}

void FaultPlan::NoteWrite(int node, int64_t offset_bytes, std::span<const char> bytes) {
  std::lock_guard lock(mu_);
  nodes_[static_cast<size_t>(node)].pending.push_back({false, offset_bytes, std::string(bytes.data(), bytes.size())});
}

void FaultPlan::NoteTruncate(int node, int64_t size_bytes) {
  std::lock_guard lock(mu_);
  nodes_[static_cast<size_t>(node)].pending.push_back({true, size_bytes, ""});
}

void FaultPlan::NoteSync(int node) {
  std::lock_guard lock(mu_);
  Node& file = nodes_[static_cast<size_t>(node)];
  for (const Change& change : file.pending) Apply(change, file.synced);
  file.pending.clear();
}

void FaultPlan::NoteCreatedFolder(const std::string& path) {
  std::lock_guard lock(mu_);
  now_.emplace(path, kFolder);
}

void FaultPlan::NoteRename(const std::string& from, const std::string& to) {
  std::lock_guard lock(mu_);
  if (auto folder = now_.find(from); folder != now_.end() && folder->second == kFolder) {
    MovedFolder& moved_folder = moved_folders_.emplace_back(MovedFolder{from, to, {}});
    for (const auto& [path, node] : safe_) {
      if (IsBelow(path, from)) moved_folder.safe[to + path.substr(from.size())] = node;
    }
  }
  std::map<std::string, int> moved;
  for (auto at = now_.begin(); at != now_.end();) {
    if (at->first == from || IsBelow(at->first, from)) {
      moved[to + at->first.substr(from.size())] = at->second;
      at = now_.erase(at);
    } else {
      ++at;
    }
  }
  for (const auto& [path, node] : moved) now_[path] = node;
}

void FaultPlan::NoteRemove(const std::string& path) {
  std::lock_guard lock(mu_);
  std::erase_if(now_, [&](const auto& name) { return name.first == path || IsBelow(name.first, path); });
}

void FaultPlan::NoteSyncFolder(const std::string& path) {
  std::lock_guard lock(mu_);
  std::erase_if(safe_, [&](const auto& name) { return PlannedFolderOf(name.first) == path; });
  for (const auto& [name, node] : now_) {
    if (PlannedFolderOf(name) == path) safe_[name] = node;
  }
  for (const MovedFolder& folder : moved_folders_) {
    if (PlannedFolderOf(folder.from) == path) {
      std::erase_if(safe_, [&](const auto& name) { return IsBelow(name.first, folder.from); });
    }
    if (PlannedFolderOf(folder.to) == path && now_.contains(folder.to))
      safe_.insert(folder.safe.begin(), folder.safe.end());
  }
}

void FaultPlan::Forget() {
  Heal();
  std::lock_guard lock(mu_);
  nodes_.clear();
  now_.clear();
  safe_.clear();
  moved_folders_.clear();
}

void FaultPlan::RestoreSynced(Survives survives, uint64_t seed) {
  std::unique_lock lock(mu_);
  std::mt19937_64 random(seed);
  const std::map<std::string, int> kept = survives == Survives::kEverything ? now_ : safe_;

  // A name is reached only through folders that are there.
  auto is_reached = [&](const std::string& path) {
    for (std::string folder = PlannedFolderOf(path); folder != "/" && !folder.empty();
         folder = PlannedFolderOf(folder)) {
      if (now_.contains(folder) && !kept.contains(folder)) return false;
    }
    return true;
  };

  for (const auto& [path, node] : now_) {
    std::error_code ignored;
    if (!kept.contains(path) || node != kFolder) fs::remove_all(path, ignored);
    fs::remove(path + "-shm", ignored);
  }
  for (const auto& [path, node] : kept) {  // folders sort before what is in them
    if (!is_reached(path)) continue;
    if (node == kFolder) {
      fs::create_directory(path);
      fs::permissions(path, fs::perms::owner_all);
      continue;
    }
    const Node& file = nodes_[static_cast<size_t>(node)];
    std::string content = file.synced;
    for (Change change : file.pending) {
      uint64_t fate = survives == Survives::kSome ? random() % 3 : (survives == Survives::kEverything ? 2 : 0);
      if (fate == 0) continue;
      if (fate == 1) change.bytes.resize(change.bytes.size() / 2);
      Apply(change, content);
    }
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    KPROF_CHECK(out.good());
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  }
  lock.unlock();
  Forget();
}

void FaultPlan::Apply(const Change& change, std::string& content) {
  if (change.is_truncate) {
    content.resize(static_cast<size_t>(change.offset_bytes));
    return;
  }
  size_t offset = static_cast<size_t>(change.offset_bytes);
  if (content.size() < offset + change.bytes.size()) content.resize(offset + change.bytes.size());
  content.replace(offset, change.bytes.size(), change.bytes);
}

}  // namespace kprof
