#include "daemon/ingest/parquet/page_stream.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "daemon/ingest/parquet/page_header.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/trace/format/side_table.h"

namespace kprof {
namespace {

constexpr int64_t kNotNumbered = kNoValue + 1;  // an entry of a dictionary whose text nobody asked for

}  // namespace

PageFault PageStream::StartDictionary(std::span<const char> bytes, size_t count) {
  dictionary_.clear();
  dictionary_texts_.clear();
  for (size_t i = 0; i < count; ++i) {
    int64_t raw = 0;
    std::string_view text;
    if (!TakePlain(bytes, raw, text)) return "its dictionary is damaged";
    if (form_.is_text()) {
      dictionary_texts_.push_back(text);
      dictionary_.push_back(kNotNumbered);
    } else {
      dictionary_.push_back(column_.most_repetition == 0 ? form_.FromNumber(raw) : raw);
    }
  }
  has_dictionary_ = true;
  return std::nullopt;
}

void PageStream::ForgetTexts() {
  if (form_.is_text()) std::fill(dictionary_.begin(), dictionary_.end(), kNotNumbered);
}

PageFault PageStream::StartPage(std::span<const char> bytes, int64_t encoding, size_t most) {
  plain_ = bytes;
  bit_at_ = 0;
  decoded_at_ = 0;
  most = std::min(most, kMostDeltaValues);
  const bool is_integer = column_.type == ParquetType::kInt32 || column_.type == ParquetType::kInt64;
  PageFault damaged = "the values of a page are damaged";
  switch (encoding) {
    case kPlainEncoding:
      source_ = column_.type == ParquetType::kBoolean ? Source::kBits : Source::kPlain;
      return std::nullopt;
    case kPlainDictionary:
    case kRleDictionary: {
      source_ = Source::kDictionary;
      if (bytes.empty()) {
        runs_ = RunDecoder();
        return std::nullopt;  // all of them are null
      }
      if (!has_dictionary_) return "a page needs a dictionary, and there is none";
      const int bits = static_cast<uint8_t>(bytes[0]);
      if (bits > 32) return damaged;
      runs_ = RunDecoder(bytes.subspan(1), bits);
      return std::nullopt;
    }
    case kRle: {
      if (column_.type != ParquetType::kBoolean || bytes.size() < 4) return damaged;
      source_ = Source::kRuns;
      runs_ = RunDecoder(bytes.subspan(4), 1);
      return std::nullopt;
    }
    case kDeltaBinaryPacked: {
      size_t taken = 0;
      source_ = Source::kDecoded;
      if (!is_integer || !ReadDeltas(bytes, column_.type == ParquetType::kInt32, most, decoded_, taken)) return damaged;
      return std::nullopt;
    }
    case kDeltaLengthByteArray:
    case kDeltaByteArray: {
      // The number of values that are no nulls stands before them.
      source_ = Source::kDecoded;
      size_t taken = 0;
      std::vector<int64_t> lengths;
      if (!form_.is_text() || !ReadDeltas(bytes, true, most, lengths, taken)) return damaged;
      const bool is_read = encoding == kDeltaLengthByteArray
                               ? ReadDeltaLengthTexts(bytes, lengths.size(), decoded_texts_)
                               : ReadDeltaTexts(bytes, lengths.size(), kMostTextBytes, joined_, decoded_texts_);
      return is_read ? std::nullopt : damaged;
    }
    case kByteStreamSplit: {
      const size_t of_value = form_.width();
      if (of_value == 0 || !JoinSplitBytes(bytes, of_value, bytes.size() / of_value, joined_)) return damaged;
      source_ = Source::kPlain;
      plain_ = joined_;
      return std::nullopt;
    }
    default:
      return "a page has an encoding that is not read (" + std::to_string(encoding) + ")";
  }
}

bool PageStream::TakePlain(std::span<const char>& bytes, int64_t& raw, std::string_view& text) const {
  if (column_.type == ParquetType::kByteArray) {
    uint32_t size = 0;
    if (bytes.size() < sizeof(size)) return false;
    std::memcpy(&size, bytes.data(), sizeof(size));
    bytes = bytes.subspan(sizeof(size));
    if (size > bytes.size()) return false;
    text = {bytes.data(), size};
    bytes = bytes.subspan(size);
    return true;
  }
  const size_t size = form_.width();
  if (size == 0 || bytes.size() < size) return false;
  if (column_.type == ParquetType::kFixed) {
    text = {bytes.data(), size};
  } else if (column_.type == ParquetType::kInt32) {
    int32_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    raw = column_.is_unsigned ? static_cast<int64_t>(static_cast<uint32_t>(value)) : value;
  } else if (column_.type == ParquetType::kFloat) {
    float value = 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    raw = std::bit_cast<int64_t>(static_cast<double>(value));
  } else {
    std::memcpy(&raw, bytes.data(), sizeof(raw));
  }
  bytes = bytes.subspan(size);
  return true;
}

PageFault PageStream::TakePlainValues(size_t count, std::vector<int64_t>& values) {
  constexpr const char* kFewer = "a page has fewer values than it says";
  // Most columns are integers of 8 bytes, and wanted as such.
  if (column_.type == ParquetType::kInt64 && form_.is_raw()) {
    if (plain_.size() / sizeof(int64_t) < count) return kFewer;
    const size_t first = values.size();
    values.resize(first + count);
    std::memcpy(values.data() + first, plain_.data(), count * sizeof(int64_t));
    plain_ = plain_.subspan(count * sizeof(int64_t));
    return std::nullopt;
  }
  for (size_t i = 0; i < count; ++i) {
    int64_t raw = 0;
    std::string_view text;
    if (!TakePlain(plain_, raw, text)) return kFewer;
    values.push_back(form_.is_text() ? form_.FromText(text) : form_.FromNumber(raw));
  }
  return std::nullopt;
}

PageFault PageStream::Take(size_t count, std::vector<int64_t>& values) {
  switch (source_) {
    case Source::kPlain:
      return TakePlainValues(count, values);
    case Source::kBits:
      if (bit_at_ + count > plain_.size() * 8) return "a page has fewer values than it says";
      for (size_t i = 0; i < count; ++i, ++bit_at_) {
        values.push_back(form_.FromNumber(static_cast<uint8_t>(plain_[bit_at_ / 8]) >> (bit_at_ % 8) & 1));
      }
      return std::nullopt;
    case Source::kRuns:
    case Source::kDictionary:
      indexes_.resize(count);
      if (!runs_.Read(indexes_)) return "a page has fewer values than it says";
      for (const uint32_t index : indexes_) {
        if (source_ == Source::kRuns) {
          values.push_back(form_.FromNumber(index & 1));
          continue;
        }
        if (index >= dictionary_.size()) return "a value is not in the dictionary";
        int64_t& known = dictionary_[index];
        if (known == kNotNumbered && form_.is_text()) known = form_.FromText(dictionary_texts_[index]);
        values.push_back(known);
      }
      return std::nullopt;
    case Source::kDecoded:
      if (count > (form_.is_text() ? decoded_texts_.size() : decoded_.size()) - decoded_at_) {
        return "a page has fewer values than it says";
      }
      for (size_t i = 0; i < count; ++i, ++decoded_at_) {
        values.push_back(form_.is_text() ? form_.FromText(decoded_texts_[decoded_at_])
                                         : form_.FromNumber(decoded_[decoded_at_]));
      }
      return std::nullopt;
  }
  return std::nullopt;
}

bool PageStream::TakeOne(int64_t& raw, std::string_view& text) {
  bool is_there = true;
  switch (source_) {
    case Source::kPlain:
      is_there = TakePlain(plain_, raw, text);
      break;
    case Source::kBits:
      is_there = bit_at_ < plain_.size() * 8;
      if (is_there) raw = static_cast<uint8_t>(plain_[bit_at_ / 8]) >> (bit_at_ % 8) & 1;
      ++bit_at_;
      break;
    case Source::kRuns:
    case Source::kDictionary: {
      uint32_t index = 0;
      is_there = runs_.Read(std::span(&index, 1)) && (source_ == Source::kRuns || index < dictionary_.size());
      if (is_there && source_ == Source::kRuns) raw = index & 1;
      if (is_there && source_ == Source::kDictionary && form_.is_text()) text = dictionary_texts_[index];
      if (is_there && source_ == Source::kDictionary && !form_.is_text()) raw = dictionary_[index];
      break;
    }
    case Source::kDecoded:
      is_there = decoded_at_ < (form_.is_text() ? decoded_texts_.size() : decoded_.size());
      if (is_there && form_.is_text()) text = decoded_texts_[decoded_at_];
      if (is_there && !form_.is_text()) raw = decoded_[decoded_at_];
      ++decoded_at_;
      break;
  }
  return is_there;
}

PageFault PageStream::TakeInto(std::string& list) {
  int64_t raw = 0;
  std::string_view text;
  if (!TakeOne(raw, text)) return "a page has fewer values than it says";
  if (form_.is_text()) {
    AppendJsonString(list, text);
  } else {
    list += form_.TextOfNumber(raw);
  }
  return std::nullopt;
}

}  // namespace kprof
