#include "daemon/ingest/neuron/text_cursor.h"

#include <algorithm>
#include <cstring>

#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

constexpr size_t kCursorReadBytes = 1 << 20;  // at once
constexpr int kMostCursorNesting = 64;
constexpr size_t kUnquotedBytes = 1 << 20;  // made at once
constexpr size_t kEscapeBytes = 12;         // of the longest escape: two halves of a pair

}  // namespace

TextCursor::TextCursor(TextSource& text, size_t most_value_bytes) : text_(text), most_value_bytes_(most_value_bytes) {
  buffer_.resize(kScanSlackBytes, '\0');
}

Result<bool> TextCursor::More() {
  if (has_text_end_ || size_ - at_ >= most_value_bytes_) return false;
  const size_t rest_bytes = size_ - at_;
  // Large values grow by half, so that they are not moved over and over.
  const size_t room_bytes = std::max(kCursorReadBytes, rest_bytes / 2);
  const size_t needed_bytes = rest_bytes + room_bytes + kScanSlackBytes;
  if (keeper_ != nullptr) {
    std::optional<std::string> fresh = keeper_->Fresh();
    if (!fresh) return Fail(ErrorCode::kCancelled, "read it", "nobody wants the rest");
    if (fresh->size() < needed_bytes) fresh->resize(needed_bytes);
    std::memcpy(fresh->data(), buffer_.data() + at_, rest_bytes);
    buffer_.swap(*fresh);
    keeper_->Keep(*std::move(fresh));
  } else {
    std::memmove(buffer_.data(), buffer_.data() + at_, rest_bytes);
    if (buffer_.size() < needed_bytes) buffer_.resize(needed_bytes);
  }
  begin_bytes_ += static_cast<int64_t>(at_);
  size_ = rest_bytes;
  at_ = 0;
  const std::span<char> room(buffer_.data() + size_, room_bytes);
  ASSIGN_OR_RETURN(const size_t got, text_.ReadAt(begin_bytes_ + static_cast<int64_t>(size_), room));
  size_ += got;
  has_text_end_ = got < room.size();
  text_.Release(begin_bytes_ + static_cast<int64_t>(size_));
  std::memset(buffer_.data() + size_, 0, kScanSlackBytes);
  return got > 0;
}

Result<char> TextCursor::Next() {
  while (true) {
    const char* place = std::min(SkipSpace(at()), end());
    MoveTo(place);
    if (place < end()) return *place;
    ASSIGN_OR_RETURN(const bool has_more, More());
    if (!has_more) return '\0';
  }
}

Result<std::optional<std::string_view>> TextCursor::Value() {
  while (true) {
    const char* const behind = FindValueEnd(at(), end(), kMostCursorNesting);
    // A number may go on behind the text that is there.
    const bool is_whole = behind != nullptr && (behind < end() || has_text_end_);
    if (is_whole && behind <= end()) {
      const std::string_view value(at(), static_cast<size_t>(behind - at()));
      MoveTo(behind);
      return std::optional(value);
    }
    ASSIGN_OR_RETURN(const bool has_more, More());
    if (!has_more && (!has_text_end_ || behind == nullptr)) return std::optional<std::string_view>();
  }
}

Result<bool> TextCursor::SkipValue() {
  int64_t depth = 0;
  bool in_text = false;
  bool has_begun = false;
  while (true) {
    const char* place = at();
    for (; place < end(); ++place) {
      const char c = *place;
      if (in_text) {
        if (c == '\\') {
          if (place + 1 == end()) break;  // what is escaped has not come yet
          ++place;
        } else if (c == '"') {
          in_text = false;
          if (depth == 0) return MoveTo(place + 1), true;
        }
        continue;
      }
      if (c == '"') {
        in_text = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        if (depth == 0) return MoveTo(place), true;  // behind a number or a word
        if (--depth == 0) return MoveTo(place + 1), true;
      } else if (depth == 0 && has_begun && (c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t')) {
        return MoveTo(place), true;
      }
      has_begun = true;
    }
    const bool is_stuck = place + 1 == end();
    MoveTo(place);
    ASSIGN_OR_RETURN(const bool has_more, More());
    if (!has_more) {
      if (is_stuck) MoveTo(end());
      return depth == 0 && !in_text && has_begun;
    }
  }
}

Result<bool> TextCursor::Find(std::string_view what) {
  if (at_ < size_) ++at_;
  while (true) {
    const std::string_view text(at(), static_cast<size_t>(end() - at()));
    const size_t found = text.find(what);
    if (found != text.npos) {
      at_ += found;
      return true;
    }
    at_ += text.size() - std::min(text.size(), what.size() - 1);
    ASSIGN_OR_RETURN(const bool has_more, More());
    if (!has_more) return MoveTo(end()), false;
  }
}

Status QuotedText::Make() {
  made_.erase(0, taken_);
  taken_ = 0;
  while (!is_closed_ && !is_cut_ && made_.size() < kUnquotedBytes) {
    const char* place = outer_.at();
    const char* const end = outer_.end();
    while (place < end && *place != '"') {
      if (*place != '\\') {
        const char* run = place + 1;
        while (run < end && *run != '\\' && *run != '"') ++run;
        made_.append(place, static_cast<size_t>(run - place));
        place = run;
        continue;
      }
      const auto there = static_cast<size_t>(end - place);
      if (there < kEscapeBytes && !outer_.has_text_end()) break;
      size_t length = 2;
      constexpr size_t kHexBytes = 6;
      if (there > 1 && place[1] == 'u') {
        length = kHexBytes;
        const bool is_half = there >= kEscapeBytes && (place[2] == 'd' || place[2] == 'D') &&
                             place[kHexBytes] == '\\' && place[kHexBytes + 1] == 'u';
        if (is_half) length = kEscapeBytes;
      }
      length = std::min(length, there);
      const char escaped = length > 1 ? place[1] : '\\';
      if (escaped == '"' || escaped == '\\' || escaped == '/') {
        made_ += escaped;
      } else {
        made_ += UnescapeJson({place, length});
      }
      place += length;
    }
    const bool is_end = place < end && *place == '"';
    outer_.MoveTo(is_end ? place + 1 : place);
    outer_bytes_ = outer_.offset_bytes();
    is_closed_ = is_end;
    if (is_end) break;
    ASSIGN_OR_RETURN(const bool has_more, outer_.More());
    is_cut_ = !has_more;
  }
  return OkStatus();
}

Result<size_t> QuotedText::ReadAt(int64_t offset_bytes, std::span<char> out) {
  KPROF_CHECK(offset_bytes == read_bytes_);
  size_t filled = 0;
  while (filled < out.size()) {
    if (taken_ == made_.size()) {
      RETURN_IF_ERROR(Make());
      if (made_.empty()) break;
    }
    const size_t count = std::min(out.size() - filled, made_.size() - taken_);
    std::memcpy(out.data() + filled, made_.data() + taken_, count);
    filled += count;
    taken_ += count;
  }
  read_bytes_ += static_cast<int64_t>(filled);
  return filled;
}

Result<bool> QuotedText::Close() {
  while (!is_closed_ && !is_cut_) {
    taken_ = made_.size();
    RETURN_IF_ERROR(Make());
  }
  return is_closed_;
}

}  // namespace kprof
