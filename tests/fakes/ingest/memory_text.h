// A text that is in memory. Refuses to be read where it was released.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "daemon/ingest/source/text_source.h"

namespace kprof {

class MemoryText : public TextSource {
 public:
  explicit MemoryText(std::string text) : text_(std::move(text)) {}

  Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) override {
    KPROF_CHECK(offset_bytes >= 0);
    if (offset_bytes < released_) read_released = true;
    if (offset_bytes >= fail_from) return Fail(ErrorCode::kBadInput, "read it", "it became shorter");
    const auto size = static_cast<int64_t>(text_.size());
    const int64_t begin = std::min(offset_bytes, size);
    const auto count = static_cast<size_t>(std::min(size - begin, static_cast<int64_t>(out.size())));
    std::memcpy(out.data(), text_.data() + begin, count);
    return count;
  }
  bool HasComeTo(int64_t) override { return true; }
  void Release(int64_t offset_bytes) override { released_ = std::max<int64_t>(released_, offset_bytes); }
  int64_t SourceBytesAt(int64_t offset_bytes) override {
    return std::min(offset_bytes, static_cast<int64_t>(text_.size()));
  }
  std::optional<Status> WhyCut() override { return cut; }
  Result<std::string> FinishHash(const std::stop_token&) override { return std::string("hash"); }

  int64_t released() const { return released_; }

  std::optional<Status> cut;
  int64_t fail_from = INT64_MAX;
  std::atomic<bool> read_released = false;

 private:
  const std::string text_;
  std::atomic<int64_t> released_ = 0;
};

}  // namespace kprof
