#include "storage/trace/read/part_strings.h"

#include <algorithm>
#include <utility>

#include "storage/db/statement.h"
#include "storage/trace/format/part_checksums.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {
namespace {

constexpr size_t kKeptBytes = 16 << 20;
constexpr size_t kBytesAtRest = 2 << 20;
constexpr size_t kKeptFound = 4'096;
constexpr int64_t kMostStrings = int64_t{1} << 32;

constexpr const char* kEnd = "SELECT coalesce(max(id) + 1, 0) FROM string";
constexpr const char* kBlocks = "SELECT id, checksum FROM string_block ORDER BY id";
constexpr const char* kBlock = "SELECT id, value FROM string WHERE id BETWEEN ?1 AND ?2";
constexpr const char* kText = "SELECT value FROM string WHERE id = ?1";
constexpr const char* kFind = "SELECT id FROM string WHERE value = ?1";
constexpr const char* kAll = "SELECT id, value FROM string";

}  // namespace

PartStrings::PartStrings(Db& db, std::string path) : db_(db), path_(std::move(path)) {}

Status PartStrings::Load() {
  ASSIGN_OR_RETURN(end_, db_.QueryInteger(kEnd));
  if (end_ < 0 || end_ > kMostStrings) return BrokenPart(path_, "its strings are not numbered from 0");
  Statement select(db_, kBlocks);
  while (select.Next()) {
    if (select.Integer(0) != static_cast<int64_t>(checksums_.size())) {
      return BrokenPart(path_, "its blocks of strings are not numbered from 0");
    }
    checksums_.push_back(static_cast<uint64_t>(select.Integer(1)));
  }
  RETURN_IF_ERROR(select.status());
  if (static_cast<int64_t>(checksums_.size()) != (end_ + kBlockStrings - 1) / kBlockStrings) {
    return BrokenPart(path_, "it has " + std::to_string(end_) + " strings, and " + std::to_string(checksums_.size()) +
                                 " blocks of them");
  }
  right_.resize(checksums_.size());
  return OkStatus();
}

Result<std::string> PartStrings::Read(int64_t id) {
  if (!ends_.empty() && id >= 0 && id < end_) return std::string(KeptText(id));
  const auto found = texts_.find(id);
  if (found != texts_.end()) return found->second;
  if (id < 0 || id >= end_) return BrokenPart(path_, "it has no string " + std::to_string(id));
  RETURN_IF_ERROR(CheckBlock(static_cast<size_t>(id / kBlockStrings)));
  Statement select(db_, kText);
  select.Bind(1, id);
  if (!select.Next()) {
    if (!select.status().ok()) return OfPart(select.status(), "read trace part " + path_);
    return BrokenPart(path_, "it has no string " + std::to_string(id));
  }
  std::string text(select.Text(0));
  if (bytes_ > kKeptBytes) {
    texts_.clear();
    bytes_ = 0;
  }
  bytes_ += text.size() + sizeof(std::string) * 2;
  texts_.emplace(id, text);
  return text;
}

Result<std::optional<int64_t>> PartStrings::Find(std::string_view text) {
  const auto known = found_.find(std::string(text));
  if (known != found_.end()) return known->second;
  RETURN_IF_ERROR(KeepAll());
  std::optional<int64_t> id;
  if (!ends_.empty()) {
    for (int64_t at = 0; at < end_ && !id; ++at) {
      if (KeptText(at) == text) id = at;
    }
  } else {
    Statement select(db_, kFind);
    select.BindText(1, text);
    if (select.Next()) id = select.Integer(0);
    if (!select.status().ok()) return OfPart(select.status(), "read trace part " + path_);
  }
  if (found_.size() >= kKeptFound) found_.clear();
  found_.emplace(text, id);
  return id;
}

Status PartStrings::ForEach(const std::function<bool(int64_t, std::string_view)>& see) {
  RETURN_IF_ERROR(KeepAll());
  if (!ends_.empty()) {
    for (int64_t id = 0; id < end_; ++id) {
      if (!see(id, KeptText(id))) return OkStatus();
    }
    return OkStatus();
  }
  Statement select(db_, kAll);
  while (select.Next()) {
    if (!see(select.Integer(0), select.Text(1))) return OkStatus();
  }
  return select.status().ok() ? OkStatus() : OfPart(select.status(), "read trace part " + path_);
}

std::string_view PartStrings::KeptText(int64_t id) const {
  const auto at = static_cast<size_t>(id);
  const size_t begin = at == 0 ? 0 : ends_[at - 1];
  return std::string_view(all_texts_).substr(begin, ends_[at] - begin);
}

Status PartStrings::KeepAll() {
  RETURN_IF_ERROR(CheckAll());
  if (!ends_.empty() || all_are_large_ || end_ == 0) return OkStatus();
  Statement select(db_, kAll);
  while (select.Next()) {
    const std::string_view text = select.Text(1);
    const bool has_hole = select.Integer(0) != static_cast<int64_t>(ends_.size());
    if (has_hole || all_texts_.size() + text.size() + ends_.size() * sizeof(ends_[0]) > kKeptBytes) {
      all_are_large_ = true;
      break;
    }
    all_texts_ += text;
    ends_.push_back(static_cast<uint32_t>(all_texts_.size()));
  }
  if (!select.status().ok() || all_are_large_ || static_cast<int64_t>(ends_.size()) != end_) ForgetAll();
  return select.status().ok() ? OkStatus() : OfPart(select.status(), "read trace part " + path_);
}

void PartStrings::ForgetAll() {
  all_texts_ = std::string();
  ends_ = std::vector<uint32_t>();
}

void PartStrings::Forget() {
  if (all_texts_.size() + ends_.size() * sizeof(ends_[0]) > kBytesAtRest) ForgetAll();
  if (bytes_ <= kBytesAtRest) return;
  texts_.clear();
  found_.clear();
  bytes_ = 0;
}

Status PartStrings::CheckBlock(size_t block) {
  if (right_[block]) return OkStatus();
  const int64_t first = static_cast<int64_t>(block) * kBlockStrings;
  Statement select(db_, kBlock);
  select.Bind(1, first).Bind(2, first + kBlockStrings - 1);
  uint64_t checksum = 0;
  while (select.Next()) checksum += StringChecksum(select.Integer(0), select.Text(1));
  if (!select.status().ok()) return OfPart(select.status(), "read trace part " + path_);
  if (checksum != checksums_[block]) {
    return BrokenPart(path_, "its strings from " + std::to_string(first) + " to " +
                                 std::to_string(std::min(first + kBlockStrings, end_) - 1) +
                                 " are not those that were written: their checksum is another");
  }
  right_[block] = true;
  return OkStatus();
}

Status PartStrings::CheckAll() {
  if (all_right_) return OkStatus();
  for (size_t block = 0; block < checksums_.size(); ++block) RETURN_IF_ERROR(CheckBlock(block));
  all_right_ = true;
  return OkStatus();
}

}  // namespace kprof
