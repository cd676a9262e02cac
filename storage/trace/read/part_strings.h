// The strings of an open part, by their numbers and by their bytes. Gives only strings that are as they were written: a
// block of strings is checked before the first of it is given.
//
// All fail with kStorageBroken, naming the part. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

class PartStrings {
 public:
  // `path` is for errors. `db` must outlive it.
  PartStrings(Db& db, std::string path);

  // Once, before all others.
  Status Load();
  // Strings have numbers less than this.
  int64_t end() const { return end_; }
  Result<std::string> Read(int64_t id);
  // The number of a text, if the part has it. Looks at all strings.
  Result<std::optional<int64_t>> Find(std::string_view text);
  // Calls `see` for each string, until it returns false. Keeps all of them for the next time, if they are not large.
  Status ForEach(const std::function<bool(int64_t id, std::string_view text)>& see);
  // Frees texts that are kept for the next question, if they are large.
  void Forget();

 private:
  // The text of a string among those that are kept. REQUIRES: all are kept.
  std::string_view KeptText(int64_t id) const;
  Status KeepAll();
  void ForgetAll();
  Status CheckBlock(size_t block);
  Status CheckAll();

  Db& db_;
  const std::string path_;
  int64_t end_ = 0;
  std::vector<uint64_t> checksums_;  // of blocks
  std::vector<bool> right_;          // blocks that were checked
  bool all_right_ = false;
  // Answers that were given; forgotten when they are large. Texts have no index: finding one goes through all of them.
  std::unordered_map<int64_t, std::string> texts_;
  std::unordered_map<std::string, std::optional<int64_t>> found_;
  size_t bytes_ = 0;
  // All texts one behind the other, and where each ends; empty: they are not kept.
  std::string all_texts_;
  std::vector<uint32_t> ends_;
  bool all_are_large_ = false;
};

}  // namespace kprof
