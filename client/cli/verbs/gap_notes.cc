#include "client/cli/verbs/gap_notes.h"

#include <utility>

#include "client/cli/text/sizes.h"

namespace kprof::cli {
namespace {

constexpr std::chrono::seconds kBetweenNotes(1);

}  // namespace

std::optional<std::string> LogGapNotes::OnPiece(int64_t dropped_bytes, TimePoint now) {
  total_bytes_ += dropped_bytes;
  unsaid_bytes_ += dropped_bytes;
  if (unsaid_bytes_ == 0 || (notes_ > 0 && now - last_note_ < kBetweenNotes)) return std::nullopt;
  ++notes_;
  last_note_ = now;
  return FormatBytes(std::exchange(unsaid_bytes_, 0)) + " in between were not kept";
}

std::optional<std::string> LogGapNotes::AtEnd() const {
  if (notes_ == 0 || (notes_ == 1 && unsaid_bytes_ == 0)) return std::nullopt;
  return FormatBytes(total_bytes_) + " in all were not kept";
}

}  // namespace kprof::cli
