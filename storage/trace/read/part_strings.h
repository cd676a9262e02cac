// The strings of an open part, by their numbers and by their bytes. What it gives was found to be what was written: a
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
  // Its number, where it is one of the part's. Looks at all of them.
  Result<std::optional<int64_t>> Find(std::string_view text);
  // All of them, until `see` returns false.
  Status ForEach(const std::function<bool(int64_t id, std::string_view text)>& see);
  // Frees what it holds for who asks again soon, where it is much.
  void Forget();

 private:
  Status CheckBlock(size_t block);
  Status CheckAll();

  Db& db_;
  const std::string path_;
  int64_t end_ = 0;
  std::vector<uint64_t> checksums_;  // of blocks
  std::vector<bool> right_;          // blocks that were checked
  bool all_right_ = false;
  // What was asked for; forgotten when it is much. Texts have no index: finding one goes through all of them.
  std::unordered_map<int64_t, std::string> texts_;
  std::unordered_map<std::string, std::optional<int64_t>> found_;
  size_t bytes_ = 0;
};

}  // namespace kprof
