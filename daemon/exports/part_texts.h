// The strings of a part as an export writes them, each made once as long as there is room (PartTexts), and the
// arguments that no export has (EnvironmentArgs).
//
// One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/exports/segment_rows.h"
#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

class PartTexts {
 public:
  using Make = std::function<std::string(std::string_view text)>;
  // The part must outlive it.
  PartTexts(PartReader& part, Make make) : part_(part), make_(std::move(make)) {}

  // Valid until Trim.
  Result<std::string_view> Text(int64_t id) {
    const bool is_low = id >= 0 && id < kLowIds;
    if (is_low && low_[static_cast<size_t>(id)] != nullptr) return std::string_view(*low_[static_cast<size_t>(id)]);
    const auto found = texts_.find(id);
    if (found != texts_.end()) return std::string_view(found->second);
    ASSIGN_OR_RETURN(const std::string text, part_.ReadString(id));
    const std::string& made = texts_.emplace(id, make_(text)).first->second;
    size_bytes_ += made.size() + kEntryBytes;
    if (is_low) low_[static_cast<size_t>(id)] = &made;
    return std::string_view(made);
  }
  // Call between rows: makes room.
  void Trim() {
    if (size_bytes_ < kMostBytes) return;
    texts_.clear();
    std::fill(low_.begin(), low_.end(), nullptr);
    size_bytes_ = 0;
  }

 private:
  static constexpr size_t kMostBytes = 16 << 20;
  static constexpr size_t kEntryBytes = 80;
  static constexpr int64_t kLowIds = 1 << 15;  // the first strings of a source mostly come often

  PartReader& part_;
  const Make make_;
  std::unordered_map<int64_t, std::string> texts_;
  std::vector<const std::string*> low_ = std::vector<const std::string*>(kLowIds);  // of texts_, by id
  size_t size_bytes_ = 0;
};

// Tells which arguments of events no export has: those of an environment (environment_text.h), also the variables that
// an import keeps.
class EnvironmentArgs {
 public:
  // The part must outlive it.
  explicit EnvironmentArgs(PartReader& part);

  // False: no argument with that key is left out, whatever its value.
  Result<bool> MayBe(uint32_t key);
  Result<bool> Is(const SegmentRows::Arg& arg);
  // Call between rows: makes room.
  void Trim();

 private:
  PartTexts keys_;      // for each key, a letter for the values that are left out
  PartTexts settings_;  // for each text, empty: it has no settings
};

}  // namespace kprof
