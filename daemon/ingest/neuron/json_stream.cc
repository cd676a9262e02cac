#include "daemon/ingest/neuron/json_stream.h"

#include <algorithm>
#include <span>

#include "daemon/ingest/text/json_scan.h"

namespace kprof {
namespace {

constexpr size_t kStreamReadBytes = 1 << 20;

bool IsNested(char c) {
  return c == '{' || c == '[';
}

}  // namespace

Status JsonStream::Fill() {
  buffer_.erase(0, at_);
  begin_ += static_cast<int64_t>(at_);
  size_ -= at_;
  at_ = 0;
  // A large value is read in larger and larger pieces, as it is looked through from its begin each time.
  const size_t room_bytes = std::max(kStreamReadBytes, size_);
  buffer_.resize(size_ + room_bytes + kScanSlackBytes);
  ASSIGN_OR_RETURN(const size_t got, text_.ReadAt(begin_ + static_cast<int64_t>(size_),
                                                  std::span<char>(buffer_.data() + size_, room_bytes)));
  size_ += got;
  at_end_ = got < room_bytes;
  text_.Release(begin_ + static_cast<int64_t>(size_));
  std::fill(buffer_.begin() + static_cast<ptrdiff_t>(size_), buffer_.end(), '\0');
  return OkStatus();
}

Result<char> JsonStream::Peek() {
  while (true) {
    while (at_ < size_) {
      const char c = buffer_[at_];
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return c;
      ++at_;
    }
    if (at_end_) return '\0';
    RETURN_IF_ERROR(Fill());
  }
}

Result<std::optional<std::string_view>> JsonStream::Value() {
  while (true) {
    const char* const from = buffer_.data() + at_;
    const char* const limit = buffer_.data() + size_;
    const char* const end = FindValueEnd(from, limit);
    // A number or a word that ends with what was read may go on behind it.
    const bool is_closed = IsNested(*from) || *from == '"' || end < limit || at_end_;
    if (end != nullptr && end <= limit && is_closed) {
      at_ += static_cast<size_t>(end - from);
      return std::optional(std::string_view(from, static_cast<size_t>(end - from)));
    }
    if (at_end_) break;
    if (size_ - at_ >= most_value_bytes_) {
      ++too_large_;
      ASSIGN_OR_RETURN(const bool is_whole, Skip());
      if (!is_whole) broken_ = true;
      return std::optional<std::string_view>();
    }
    RETURN_IF_ERROR(Fill());
  }
  broken_ = true;
  return std::optional<std::string_view>();
}

Result<bool> JsonStream::Skip() {
  if (at_ >= size_ || !(IsNested(buffer_[at_]) || buffer_[at_] == '"')) {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> value, Value());
    return value.has_value();
  }
  int64_t depth = 0;
  bool in_string = false;
  bool is_escaped = false;
  while (true) {
    while (at_ < size_) {
      const char c = buffer_[at_++];
      if (in_string) {
        if (is_escaped) {
          is_escaped = false;
        } else if (c == '\\') {
          is_escaped = true;
        } else if (c == '"') {
          in_string = false;
          if (depth == 0) return true;
        } else {
          // Most text stands in strings: to their end, or to what is escaped, at once.
          const char* const from = buffer_.data() + at_;
          const char* const limit = buffer_.data() + size_;
          const char* at = from;
          while (at < limit && *at != '"' && *at != '\\') ++at;
          at_ += static_cast<size_t>(at - from);
        }
      } else if (c == '"') {
        in_string = true;
      } else if (IsNested(c)) {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        return true;
      }
    }
    if (at_end_) {
      broken_ = true;
      return false;
    }
    RETURN_IF_ERROR(Fill());
  }
}

}  // namespace kprof
