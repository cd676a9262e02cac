#include "daemon/ingest/chrome/chrome_piece.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

constexpr int kMostNesting = 128;  // else one that begins in another is looked through as often

bool HasPhase(const char* at, const char* end) {
  bool has_phase = false;
  const auto see = [&](std::string_view key, std::string_view) {
    has_phase = key == "ph";
    return !has_phase;
  };
  ForEachMember(at, end, see, kMostNesting);
  return has_phase;
}

bool FollowsEvent(const char* at, const char* begin) {
  while (at > begin && (at[-1] == ' ' || at[-1] == '\n' || at[-1] == '\r' || at[-1] == '\t')) --at;
  return at > begin && (at[-1] == ',' || at[-1] == '[');
}

}  // namespace

const char* FindEventStart(const char* begin, const char* at, const char* limit, const char* end) {
  while (at < limit) {
    at = static_cast<const char*>(std::memchr(at, '{', static_cast<size_t>(limit - at)));
    if (at == nullptr) return nullptr;
    const char* inside = SkipSpace(at + 1);
    if (inside < end && *inside == '"' && FollowsEvent(at, at - std::min(at - begin, kBeforeEventBytes)) &&
        HasPhase(at, at + std::min(end - at, kEventStartBytes))) {
      return at;
    }
    ++at;
  }
  return nullptr;
}

std::string SkippedPlace::Sentence() const {
  const std::string at = "byte " + std::to_string(begin_bytes);
  switch (why) {
    case Why::kTooLarge:
      return "the event at " + at + " is larger than one may be";
    case Why::kTooManyMembers:
      return "the event at " + at + " has more members than one may have";
    default:
      return "what stands at " + at + " is no event";
  }
}

void AddSkippedPlace(std::vector<SkippedPlace>& places, const SkippedPlace& place) {
  if (!places.empty() && places.back().events_before == place.events_before) {
    places.back().end_bytes = place.end_bytes;
    places.back().stretches += place.stretches;
  } else {
    places.push_back(place);
  }
}

void SkippedText::Add(const SkippedPlace& place) {
  if (last_ && last_->events_before == place.events_before) {
    last_->stretches += place.stretches;
    return GoOnTo(place.end_bytes);
  }
  if (last_ && told_.size() < kMostTold) {
    told_.push_back(*last_);
  } else if (last_) {
    ++others_;
    others_bytes_ += last_->end_bytes - last_->begin_bytes;
  }
  last_ = place;
}

void SkippedText::Warn(BatchSink& sink, bool with_last) const {
  auto tell = [&](const SkippedPlace& place) {
    sink.Warn("bytes " + std::to_string(place.begin_bytes) + " to " + std::to_string(place.end_bytes) + " are skipped" +
              (place.stretches > 1 ? ", in " + std::to_string(place.stretches) + " stretches" : "") + ": " +
              place.Sentence());
  };
  for (const SkippedPlace& place : told_) tell(place);
  if (with_last && last_) tell(*last_);
  if (others_ > 0) {
    sink.Warn("in " + std::to_string(others_) + " more places " + std::to_string(others_bytes_) +
              " bytes are skipped for such reasons");
  }
}

namespace {

constexpr int64_t kTailBytes = kEventStartBytes;  // of the last event, which ends behind the piece
constexpr ptrdiff_t kOddValueBytes = 4 << 10;     // that are looked through for the end of what is no event

bool MayBeInWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
         c == '-' || c == '+';
}

// Behind a value that is no event, if it is not long and the list goes on or ends behind it, and no event seems to
// begin in it. What it says is the same wherever the text is cut into pieces.
const char* FindOddValueEnd(const char* begin, const char* at, const char* end) {
  const char* most = at + std::min(end - at, kOddValueBytes);
  const char* value_end = FindValueEnd(at, most);
  if (value_end == nullptr) value_end = std::find_if_not(at, most, MayBeInWord);
  if (value_end == at || value_end >= most) return nullptr;
  const char* next = SkipSpace(value_end);
  if (next >= most || (*next != ',' && *next != ']')) return nullptr;
  return FindEventStart(begin, at + 1, value_end, end) == nullptr ? value_end : nullptr;
}

}  // namespace

ChromePieceReader::ChromePieceReader(TextSource& text, uint32_t source, int64_t piece_bytes, int64_t most_event_bytes,
                                     size_t sample_text_bytes)
    : text_(text), most_event_bytes_(most_event_bytes), events_(source, sample_text_bytes) {
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

// Of lists one behind the other a piece is read again from where each of them begins.
bool ChromePieceReader::Holds(int64_t begin_bytes, int64_t size_bytes) const {
  const int64_t held_end = offset_bytes_ + static_cast<int64_t>(size_);
  return size_ > 0 && begin_bytes >= offset_bytes_ && begin_bytes <= held_end &&
         (at_end_ || begin_bytes + size_bytes <= held_end);
}

Result<ChromePiece> ChromePieceReader::Read(int64_t first_bytes, int64_t limit_bytes, bool is_begin) {
  const int64_t from = std::max<int64_t>(0, first_bytes - kBackBytes);
  int64_t size = limit_bytes - from + kTailBytes;
  if (!Holds(from, size)) RETURN_IF_ERROR(Fill(from, size));
  const auto place = [&](int64_t offset) {
    return begin() + std::clamp<int64_t>(offset - offset_bytes_, 0, static_cast<int64_t>(size_));
  };
  const auto offset_of = [&](const char* at) { return offset_bytes_ + (at - begin()); };

  ChromePiece piece;
  const int64_t events_before = events_.events();
  const int64_t untimed_before = events_.untimed();
  const int64_t with_left_out_before = events_.with_left_out();
  const int64_t rounded_before = events_.rounded();
  piece.first_launch = events_.counted_launches();
  piece.has_text_end = at_end_ && offset_of(end()) <= limit_bytes;
  const int64_t last_bytes = piece.has_text_end ? offset_of(end()) : limit_bytes;
  const char* at = place(first_bytes);
  if (!is_begin) at = FindEventStart(begin(), at, place(limit_bytes), end());
  if (at == nullptr) {
    piece.end = ChromePiece::End::kSkipping;
    piece.end_bytes = last_bytes;
    return piece;
  }
  piece.has_begin = true;
  piece.begin_bytes = offset_of(at);
  while (true) {
    using Stopped = ChromeEvents::Stopped;
    const ChromeEvents::Stop stop = events_.Add(at, place(limit_bytes), end());
    piece.end_bytes = offset_of(stop.at);
    if (stop.why == Stopped::kAtBracket) {
      piece.end = ChromePiece::End::kBracket;
      break;
    }
    if (stop.why == Stopped::kAtLimit) {
      piece.end = at_end_ && stop.at >= end() ? ChromePiece::End::kCut : ChromePiece::End::kNext;
      break;
    }
    auto why = SkippedPlace::Why::kNoEvent;
    const char* next = nullptr;
    if (stop.why == Stopped::kAtNoEvent) {
      next = FindOddValueEnd(begin(), stop.at, end());
    } else if (stop.why == Stopped::kAtTooMany) {
      why = SkippedPlace::Why::kTooManyMembers;
      next = FindNestEnd(stop.at, end());
    }
    if (next == nullptr && stop.why != Stopped::kAtNoEvent) {  // it goes on behind what is here
      if (at_end_) {
        piece.end = ChromePiece::End::kCut;
        break;
      }
      if (size <= most_event_bytes_) {
        const int64_t begin_bytes = piece.end_bytes;
        size = std::max(2 * size, limit_bytes - begin_bytes + kTailBytes);
        RETURN_IF_ERROR(Fill(begin_bytes, size));
        at = place(begin_bytes);
        continue;
      }
      why = SkippedPlace::Why::kTooLarge;
    }
    if (next == nullptr) next = FindEventStart(begin(), stop.at + 1, place(limit_bytes), end());
    const int64_t next_bytes = next == nullptr ? last_bytes : offset_of(next);
    AddSkippedPlace(piece.skipped, {piece.end_bytes, next_bytes, why, events_.events() - events_before});
    if (next == nullptr) {
      piece.end = ChromePiece::End::kSkipping;
      piece.end_bytes = last_bytes;
      break;
    }
    at = next;
  }
  piece.events = events_.events() - events_before;
  piece.untimed = events_.untimed() - untimed_before;
  piece.with_left_out = events_.with_left_out() - with_left_out_before;
  piece.rounded = events_.rounded() - rounded_before;
  piece.counted_launches = events_.counted_launches() - piece.first_launch;
  piece.first_time_ns = events_.TakeFirstTime();
  piece.batch = events_.TakeBatch();
  return piece;
}

}  // namespace kprof
