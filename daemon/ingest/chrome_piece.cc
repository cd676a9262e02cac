#include "daemon/ingest/chrome_piece.h"

#include <algorithm>
#include <utility>

#include "daemon/ingest/event_start.h"
#include "daemon/ingest/json_scan.h"

namespace kprof {
namespace {

constexpr int64_t kTailBytes = 64 << 10;  // of the last event, which ends behind the piece

}  // namespace

ChromePieceReader::ChromePieceReader(TextSource& text, uint32_t source, int64_t piece_bytes, int64_t most_event_bytes)
    : text_(text), most_event_bytes_(most_event_bytes), events_(source) {
  bytes_.reserve(static_cast<size_t>(kBackBytes + piece_bytes + kTailBytes) + kScanSlackBytes);
}

// From begin_bytes on; in two reads, so that the first of whole blocks is one of whole blocks.
Status ChromePieceReader::Fill(int64_t begin_bytes, int64_t size_bytes) {
  bytes_.resize(static_cast<size_t>(size_bytes) + kScanSlackBytes);
  size_t done = 0;
  const auto wanted = static_cast<size_t>(size_bytes);
  const auto back = static_cast<size_t>(std::min<int64_t>(kBackBytes, size_bytes));
  for (const size_t until : {back, wanted}) {
    ASSIGN_OR_RETURN(const size_t got, text_.ReadAt(begin_bytes + static_cast<int64_t>(done),
                                                    std::span(bytes_.data() + done, until - done)));
    done += got;
    if (done < until) break;
  }
  offset_bytes_ = begin_bytes;
  size_ = done;
  at_end_ = done < wanted;
  std::fill_n(bytes_.begin() + static_cast<ptrdiff_t>(size_), kScanSlackBytes, '\0');
  return OkStatus();
}

Result<ChromePiece> ChromePieceReader::Read(int64_t first_bytes, int64_t limit_bytes, bool is_begin) {
  const int64_t from = std::max<int64_t>(0, first_bytes - kBackBytes);
  int64_t size = limit_bytes - from + kTailBytes;
  RETURN_IF_ERROR(Fill(from, size));
  const auto place = [&](int64_t offset) {
    return begin() + std::clamp<int64_t>(offset - offset_bytes_, 0, static_cast<int64_t>(size_));
  };
  const auto offset_of = [&](const char* at) { return offset_bytes_ + (at - begin()); };

  ChromePiece piece;
  const int64_t events_before = events_.events();
  const int64_t untimed_before = events_.untimed();
  const char* at = place(first_bytes);
  if (!is_begin) at = FindEventStart(begin(), at, end());
  if (at == nullptr || (!is_begin && offset_of(at) >= limit_bytes)) return piece;
  piece.has_begin = true;
  piece.begin_bytes = offset_of(at);
  while (true) {
    const ChromeEvents::Stop stop = events_.Add(at, place(limit_bytes), end());
    piece.end_bytes = offset_of(stop.at);
    if (stop.why == ChromeEvents::Stopped::kAtBracket) {
      piece.end = ChromePiece::End::kBracket;
    } else if (stop.why == ChromeEvents::Stopped::kAtLimit) {
      piece.end = at_end_ && stop.at >= end() ? ChromePiece::End::kCut : ChromePiece::End::kNext;
    } else if (stop.why == ChromeEvents::Stopped::kAtTooMany) {
      piece.end = ChromePiece::End::kTooLarge;
    } else if (*stop.at != '{' || FindNestEnd(stop.at, end()) != nullptr) {
      piece.end = ChromePiece::End::kBroken;
    } else if (at_end_) {
      piece.end = ChromePiece::End::kCut;
    } else if (size > most_event_bytes_) {
      piece.end = ChromePiece::End::kTooLarge;
    } else {  // its last event needs more
      const int64_t begin_bytes = piece.end_bytes;
      size = std::max(2 * size, limit_bytes - begin_bytes + kTailBytes);
      RETURN_IF_ERROR(Fill(begin_bytes, size));
      at = place(begin_bytes);
      continue;
    }
    break;
  }
  piece.events = events_.events() - events_before;
  piece.untimed = events_.untimed() - untimed_before;
  piece.batch = events_.TakeBatch();
  return piece;
}

}  // namespace kprof
