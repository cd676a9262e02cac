#include "daemon/ingest/ncu/csv_records.h"

#include <algorithm>

namespace kprof {
namespace {

constexpr size_t kCsvReadBytes = 1 << 20;  // at once

size_t QuotesIn(std::string_view text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '"'));
}

}  // namespace

CsvRecords::CsvRecords(TextSource& text, size_t most_record_bytes, bool keeps)
    : text_(text), most_record_bytes_(most_record_bytes), keeps_(keeps) {}

Result<bool> CsvRecords::Fill() {
  if (at_end_) return false;
  const size_t had = buffer_.size();
  buffer_.resize(had + kCsvReadBytes);
  const std::span<char> room(buffer_.data() + had, kCsvReadBytes);
  Result<size_t> got = text_.ReadAt(buffer_offset_ + static_cast<int64_t>(had), room);
  if (!got.ok()) return got.status();
  buffer_.resize(had + *got);
  at_end_ = *got < kCsvReadBytes;
  if (!keeps_) text_.Release(buffer_offset_ + static_cast<int64_t>(buffer_.size()));
  return *got > 0;
}

Result<size_t> CsvRecords::FindBreak(size_t from) {
  size_t seen = from;
  while (true) {
    const size_t at = buffer_.find('\n', seen);
    if (at != buffer_.npos) return at;
    seen = buffer_.size();
    if (seen - begin_ > most_record_bytes_) {
      return Fail(ErrorCode::kBadInput, "read a line",
                  "the one at byte " + std::to_string(buffer_offset_ + static_cast<int64_t>(begin_)) +
                      " has more than " + std::to_string(most_record_bytes_) + " bytes");
    }
    ASSIGN_OR_RETURN(const bool has_more, Fill());
    if (!has_more) return buffer_.size();
  }
}

Result<bool> CsvRecords::NextLine() {
  if (next_ > kCsvReadBytes) {
    buffer_.erase(0, next_);
    buffer_offset_ += static_cast<int64_t>(next_);
    next_ = 0;
  }
  begin_ = next_;
  end_ = next_;
  if (begin_ == buffer_.size()) {
    ASSIGN_OR_RETURN(const bool has_more, Fill());
    if (!has_more) return false;
  }
  ASSIGN_OR_RETURN(end_, FindBreak(begin_));
  next_ = std::min(end_ + 1, buffer_.size());
  if (end_ > begin_ && buffer_[end_ - 1] == '\r') --end_;
  return true;
}

Result<bool> CsvRecords::CloseQuotes(BeginsRow row_begin) {
  const size_t first_end = end_;
  const size_t first_next = next_;
  size_t quotes = QuotesIn(line());
  while (quotes % 2 != 0) {
    const size_t from = next_;
    const bool is_long = from - begin_ > most_record_bytes_;
    if (from == buffer_.size() && !is_long) {
      ASSIGN_OR_RETURN(const bool has_more, Fill());
      if (has_more) continue;
    }
    const bool is_end = from == buffer_.size() || is_long;
    size_t to = from;
    if (!is_end) {
      ASSIGN_OR_RETURN(to, FindBreak(from));
    }
    const std::string_view added(buffer_.data() + from, to - from);
    if (is_end || row_begin(added)) {
      end_ = first_end;
      next_ = first_next;
      return false;
    }
    quotes += QuotesIn(added);
    end_ = to;
    next_ = std::min(to + 1, buffer_.size());
    if (quotes % 2 == 0 && end_ > begin_ && buffer_[end_ - 1] == '\r') --end_;
  }
  return true;
}

void SplitRecord(std::string_view record, char delimiter, std::vector<std::string_view>& fields,
                 std::deque<std::string>& unescaped) {
  fields.clear();
  unescaped.clear();
  size_t at = 0;
  while (true) {
    if (at < record.size() && record[at] == '"') {
      size_t close = record.find('"', at + 1);
      bool is_doubled = false;
      while (close != record.npos && close + 1 < record.size() && record[close + 1] == '"') {
        is_doubled = true;
        close = record.find('"', close + 2);
      }
      const size_t end = std::min(close, record.size());
      std::string_view field = record.substr(at + 1, end - at - 1);
      if (is_doubled) {
        std::string& text = unescaped.emplace_back();
        for (size_t i = 0; i < field.size(); ++i) {
          text += field[i];
          if (field[i] == '"') ++i;
        }
        field = text;
      }
      fields.push_back(field);
      at = record.find(delimiter, end);  // what stands between is not of CSV
    } else {
      const size_t end = std::min(record.find(delimiter, at), record.size());
      fields.push_back(record.substr(at, end - at));
      at = end;
    }
    if (at >= record.size()) return;
    ++at;
    if (at == record.size()) {
      fields.emplace_back();
      return;
    }
  }
}

}  // namespace kprof
