#include "storage/trace_sql/scan/text_order.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "storage/base/memory_charge.h"

namespace kprof {
namespace {

// Of the pieces of texts that are compared at once.
constexpr size_t kPiecesBytes = 8 << 20;
constexpr size_t kFirstPiece = 64;
constexpr size_t kShortestPiece = 32;
constexpr size_t kLongestPiece = 64 << 10;
constexpr size_t kReadPerClockReading = 256;

// Those that are alike in their first bytes.
struct Stretch {
  size_t begin = 0;
  size_t end = 0;
  size_t known = 0;  // bytes
};

class Sorting {
 public:
  explicit Sorting(std::vector<TextPlace>& texts) : texts_(texts), is_same_(texts.size()) {}

  Status Sort() {
    const auto texts =
        std::stable_partition(texts_.begin(), texts_.end(), [](const TextPlace& text) { return text.is_none; });
    const auto none = static_cast<size_t>(texts - texts_.begin());
    for (size_t i = 1; i < none; ++i) is_same_[i] = true;
    left_.push_back({none, texts_.size(), 0});
    while (!left_.empty()) {
      const Stretch stretch = left_.back();
      left_.pop_back();
      if (stretch.end - stretch.begin > 1) RETURN_IF_ERROR(SortByPiece(stretch));
    }
    return OkStatus();
  }
  std::vector<bool> TakeSame() { return std::move(is_same_); }

 private:
  Status SortByPiece(const Stretch& stretch) {
    const size_t count = stretch.end - stretch.begin;
    // Most are told apart by their first bytes; of those that are not, more is looked at each time.
    const size_t most = std::clamp(kPiecesBytes / count, kShortestPiece, kLongestPiece);
    const size_t size = std::min(most, std::max(stretch.known, kFirstPiece));
    MemoryCharge charge(texts_[stretch.begin].part->terms().take_memory);
    RETURN_IF_ERROR(
        charge.Grow(static_cast<int64_t>(count * (size + sizeof(std::string_view) + sizeof(TextPlace) + 8))));
    std::vector<char> bytes(count * size);
    std::vector<std::string_view> pieces(count);
    std::vector<bool> goes_on(count);
    for (size_t i = 0; i < count; ++i) {
      OpenPart& part = *texts_[stretch.begin + i].part;
      if (i % kReadPerClockReading == 0) RETURN_IF_ERROR(part.CheckTime());
      ASSIGN_OR_RETURN(const PartText text, part.ReadText(texts_[stretch.begin + i].number));
      const std::string_view piece = text.view().substr(std::min(stretch.known, text.size), size);
      pieces[i] = {bytes.data() + i * size, piece.copy(bytes.data() + i * size, size)};
      goes_on[i] = text.size > stretch.known + size;
    }
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    // One that is as long as its piece comes before those that go on behind the same.
    const auto key = [&](uint32_t i) { return std::pair(pieces[i], static_cast<bool>(goes_on[i])); };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    const std::vector<TextPlace> before(texts_.begin() + static_cast<ptrdiff_t>(stretch.begin),
                                        texts_.begin() + static_cast<ptrdiff_t>(stretch.end));
    for (size_t i = 0; i < count; ++i) texts_[stretch.begin + i] = before[order[i]];
    for (size_t first = 0; first < count;) {
      size_t end = first + 1;
      while (end < count && key(order[end]) == key(order[first])) ++end;
      if (goes_on[order[first]]) {
        left_.push_back({stretch.begin + first, stretch.begin + end, stretch.known + size});
      } else {
        for (size_t i = first + 1; i < end; ++i) is_same_[stretch.begin + i] = true;
      }
      first = end;
    }
    return OkStatus();
  }

  std::vector<TextPlace>& texts_;
  std::vector<bool> is_same_;
  std::vector<Stretch> left_;
};

}  // namespace

Result<std::vector<bool>> SortTexts(std::vector<TextPlace>& texts) {
  Sorting sorting(texts);
  RETURN_IF_ERROR(sorting.Sort());
  return sorting.TakeSame();
}

}  // namespace kprof
