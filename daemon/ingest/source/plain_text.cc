#include "daemon/ingest/source/plain_text.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "daemon/ingest/source/source_hash.h"

namespace kprof {
namespace {

class PlainText : public TextSource {
 public:
  explicit PlainText(const SourceFile& file) : file_(file), end_bytes_(file.size_bytes()) {}

  Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) override {
    const int64_t rest = std::max<int64_t>(0, end_bytes_ - offset_bytes);
    if (rest < static_cast<int64_t>(out.size())) out = out.first(static_cast<size_t>(rest));
    ASSIGN_OR_RETURN(const size_t size, file_.ReadAt(offset_bytes, out));
    if (size < out.size()) EndAt(offset_bytes + static_cast<int64_t>(size));
    HashBlock(offset_bytes, out.first(size));
    return size;
  }

  bool HasComeTo(int64_t offset_bytes) override { return file_.HasComeTo(offset_bytes); }
  void Release(int64_t) override {}
  int64_t SourceBytesAt(int64_t offset_bytes) override { return std::min(offset_bytes, file_.size_bytes()); }
  std::optional<Status> WhyCut() override {
    const int64_t end_bytes = end_bytes_;
    return end_bytes < file_.size_bytes() ? std::optional(file_.WhyShorter(end_bytes)) : std::nullopt;
  }

  Result<std::string> FinishHash(const std::stop_token& stop) override {
    RETURN_IF_ERROR(file_.WaitUntilWhole());
    std::vector<char> block;
    for (size_t i = 0; i < SourceHash::BlocksOf(file_.size_bytes()); ++i) {
      if (hash_.Has(i)) continue;
      if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "read " + file_.name(), "it was cancelled");
      block.resize(kHashBlockBytes);
      RETURN_IF_ERROR(ReadAt(static_cast<int64_t>(i * kHashBlockBytes), block).status());
    }
    return end_bytes_ < file_.size_bytes() ? std::string() : hash_.Finish(file_.size_bytes());
  }

 private:
  // It became shorter: the text ends there, also if it grows again.
  void EndAt(int64_t offset_bytes) {
    int64_t before = end_bytes_;
    while (offset_bytes < before && !end_bytes_.compare_exchange_weak(before, offset_bytes)) {
    }
  }
  // Whole blocks are hashed as they come by.
  void HashBlock(int64_t offset_bytes, std::span<const char> bytes) {
    if (offset_bytes % static_cast<int64_t>(kHashBlockBytes) != 0) return;
    const auto size = static_cast<size_t>(
        std::clamp<int64_t>(file_.size_bytes() - offset_bytes, 0, static_cast<int64_t>(kHashBlockBytes)));
    if (size == 0 || bytes.size() < size) return;
    hash_.AddBlock(static_cast<size_t>(offset_bytes) / kHashBlockBytes, bytes.first(size));
  }

  const SourceFile& file_;
  SourceHash hash_;
  std::atomic<int64_t> end_bytes_;  // of the text; more than any has while that is not known
};

}  // namespace

std::unique_ptr<TextSource> OpenPlainText(const SourceFile& file) {
  return std::make_unique<PlainText>(file);
}

}  // namespace kprof
