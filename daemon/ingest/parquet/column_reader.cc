#include "daemon/ingest/parquet/column_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "daemon/ingest/parquet/page_codecs.h"
#include "daemon/ingest/parquet/thrift_compact.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/trace/format/side_table.h"

namespace kprof {
namespace {

constexpr size_t kUsualHeaderBytes = 4 << 10;
constexpr size_t kMostHeaderBytes = 4 << 20;  // statistics in it have texts
constexpr size_t kValuesAtOnce = 4096;
constexpr size_t kMostListBytes = 1 << 20;
constexpr int64_t kNotNumbered = kNoValue + 1;  // an entry of a dictionary whose text nobody asked for

// The numbers of the format.
enum ParquetEncoding : int64_t {
  kPlainEncoding = 0,
  kPlainDictionary = 2,
  kRle = 3,
  kDeltaBinaryPacked = 5,
  kDeltaLengthByteArray = 6,
  kDeltaByteArray = 7,
  kRleDictionary = 8,
  kByteStreamSplit = 9,
};
enum ParquetPage : int64_t { kDataPage = 0, kDictionaryPage = 2, kDataPageV2 = 3 };

std::optional<int64_t> IntegerOfReal(double real) {
  if (!(std::abs(real) < 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(std::floor(real));
}

}  // namespace

struct ColumnReader::PageHeader {
  int64_t type = -1;
  int64_t unpacked_bytes = 0;
  int64_t packed_bytes = 0;
  int64_t values = 0;
  int64_t encoding = kPlainEncoding;
  int64_t definition_encoding = kRle;
  int64_t repetition_encoding = kRle;
  int64_t definition_bytes = 0;  // of version 2, as those below
  int64_t repetition_bytes = 0;
  bool is_packed = true;
};

ColumnReader::ColumnReader(const SourceFile& file, const ParquetFile& of, size_t column, As as, NumberText number_text)
    : file_(file),
      of_(of),
      number_(column),
      column_(of.columns[column]),
      as_(as),
      number_text_(std::move(number_text)) {}

int64_t ColumnReader::Nothing() const {
  return as_ == As::kReal ? kNoReal : kNoValue;
}

Status ColumnReader::Damaged(std::string why) const {
  return Fail(ErrorCode::kBadInput, "read the column " + column_.name, std::move(why),
              "have the profiler write it again");
}

size_t ColumnReader::width() const {
  switch (column_.type) {
    case ParquetType::kInt32:
    case ParquetType::kFloat:
      return 4;
    case ParquetType::kInt64:
    case ParquetType::kDouble:
      return 8;
    case ParquetType::kFixed:
      return column_.fixed_bytes;
    default:
      return 0;
  }
}

Status ColumnReader::Read(size_t rows, std::vector<int64_t>& values) {
  values.reserve(values.size() + rows);
  if (column_.most_repetition == 0) return ReadFlat(rows, values);
  for (size_t i = 0; i < rows; ++i) RETURN_IF_ERROR(ReadListRow(values));
  return OkStatus();
}

Status ColumnReader::ReadFlat(size_t rows, std::vector<int64_t>& values) {
  while (rows > 0) {
    if (page_left_ == 0) RETURN_IF_ERROR(LoadPage());
    const size_t count = std::min({rows, page_left_, kValuesAtOnce});
    if (column_.most_definition == 0) {
      RETURN_IF_ERROR(TakeValues(count, values));
    } else {
      levels_.resize(count);
      if (!definition_.Read(levels_)) return Damaged("the levels of a page are damaged");
      const auto present = static_cast<size_t>(std::count(levels_.begin(), levels_.end(), column_.most_definition));
      const size_t first = values.size();
      RETURN_IF_ERROR(TakeValues(present, values));
      values.resize(first + count, Nothing());
      // From the last one on: a value moves to its row, over those that moved already.
      size_t from = present;
      for (size_t i = count; i-- > 0 && from < i + 1;) {
        values[first + i] = levels_[i] == column_.most_definition ? values[first + --from] : Nothing();
      }
    }
    rows -= count;
    page_left_ -= count;
  }
  return OkStatus();
}

void ColumnReader::ForgetTexts() {
  if (is_text()) std::fill(dictionary_.begin(), dictionary_.end(), kNotNumbered);
}

// A row of a list: entries up to the next one that begins a row.
Status ColumnReader::ReadListRow(std::vector<int64_t>& values) {
  std::string text = "[";
  bool is_null = true;
  bool is_first = true;
  std::vector<std::string> one;
  while (true) {
    if (page_left_ == 0) {
      if (!is_first && chunk_left_ == 0) break;  // rows end with their chunk
      RETURN_IF_ERROR(LoadPage());
      next_repetition_.reset();
    }
    if (!next_repetition_) {
      uint32_t level = 0;
      if (!repetition_.Read(std::span(&level, 1))) return Damaged("the levels of a page are damaged");
      next_repetition_ = level;
    }
    if (!is_first && *next_repetition_ == 0) break;
    if (is_first && *next_repetition_ != 0) return Damaged("a list begins within another");
    next_repetition_.reset();
    is_first = false;
    --page_left_;
    uint32_t definition = 0;
    if (!definition_.Read(std::span(&definition, 1))) return Damaged("the levels of a page are damaged");
    if (definition + 1 >= column_.list_definition) is_null = false;  // an empty list is one
    if (definition < column_.list_definition) continue;
    if (text.size() > kMostListBytes) return Damaged("a list in it has more than 1 MiB");
    if (text.size() > 1) text += ',';
    if (definition < column_.most_definition) {
      text += "null";
      continue;
    }
    one.clear();
    RETURN_IF_ERROR(TakeTexts(1, one));
    if (is_text()) {
      AppendJsonString(text, one[0]);
    } else {
      text += one[0];
    }
  }
  const bool is_empty = is_null || text.size() == 1;
  values.push_back(is_empty || as_ != As::kText ? Nothing() : number_text_(text + "]"));
  return OkStatus();
}

Result<ColumnReader::PageHeader> ColumnReader::ReadHeader() {
  for (size_t most = kUsualHeaderBytes;; most *= 16) {
    std::vector<char> bytes(static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(most), end_bytes_ - at_bytes_)));
    ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(at_bytes_, bytes));
    if (got < bytes.size()) return file_.WhyShorter(at_bytes_ + static_cast<int64_t>(got));
    ThriftReader in(bytes);
    PageHeader header;
    const auto read_v1 = [&] {
      ForEachThriftField(in, [&](const ThriftReader::Field& field) {
        int64_t* const to = field.id == 1   ? &header.values
                            : field.id == 2 ? &header.encoding
                            : field.id == 3 ? &header.definition_encoding
                            : field.id == 4 ? &header.repetition_encoding
                                            : nullptr;
        if (to != nullptr) *to = in.Integer();
        return to != nullptr;
      });
    };
    const auto read_v2 = [&] {
      ForEachThriftField(in, [&](const ThriftReader::Field& field) {
        if (field.id == 7) {
          header.is_packed = ThriftReader::Boolean(field.type);
          return true;
        }
        int64_t* const to = field.id == 1   ? &header.values
                            : field.id == 4 ? &header.encoding
                            : field.id == 5 ? &header.definition_bytes
                            : field.id == 6 ? &header.repetition_bytes
                                            : nullptr;
        if (to != nullptr) *to = in.Integer();
        return to != nullptr;
      });
    };
    ForEachThriftField(in, [&](const ThriftReader::Field& field) {
      if (field.id == 1) {
        header.type = in.Integer();
      } else if (field.id == 2) {
        header.unpacked_bytes = in.Integer();
      } else if (field.id == 3) {
        header.packed_bytes = in.Integer();
      } else if (field.id == 5 && field.type == ThriftReader::kStruct) {
        read_v1();
      } else if (field.id == 7 && field.type == ThriftReader::kStruct) {
        ForEachThriftField(in, [&](const ThriftReader::Field& of) {
          if (of.id != 1 && of.id != 2) return false;
          (of.id == 1 ? header.values : header.encoding) = in.Integer();
          return true;
        });
      } else if (field.id == 8 && field.type == ThriftReader::kStruct) {
        read_v2();
      } else {
        return false;
      }
      return true;
    });
    if (in.ok()) {
      at_bytes_ += static_cast<int64_t>(in.offset());
      return header;
    }
    if (bytes.size() < most || most >= kMostHeaderBytes) return Damaged("the header of a page is damaged");
  }
}

Status ColumnReader::LoadPage() {
  while (page_left_ == 0) {
    while (chunk_left_ == 0) {
      if (group_ >= of_.groups.size()) return Damaged("it has fewer values than the file has rows");
      const ParquetRowGroup& group = of_.groups[group_++];
      const ParquetChunk& chunk = group.chunks[number_];
      if (column_.most_repetition == 0 && chunk.values != group.rows) {
        return Damaged("it has another number of values than its row group has rows");
      }
      codec_ = chunk.codec;
      at_bytes_ = chunk.begin_bytes;
      end_bytes_ = chunk.begin_bytes + chunk.size_bytes;
      chunk_left_ = chunk.values;
      has_dictionary_ = false;
    }
    if (at_bytes_ >= end_bytes_) return Damaged("it has fewer values than its row group has rows");
    ASSIGN_OR_RETURN(const PageHeader header, ReadHeader());
    if (header.packed_bytes < 0 || header.packed_bytes > end_bytes_ - at_bytes_) {
      return Damaged("a page stands outside of its column");
    }
    if (header.unpacked_bytes < 0 || header.unpacked_bytes > static_cast<int64_t>(kMostPageBytes) ||
        header.packed_bytes > static_cast<int64_t>(kMostPageBytes)) {
      return Damaged("a page has more than 64 MiB");
    }
    packed_.resize(static_cast<size_t>(header.packed_bytes));
    ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(at_bytes_, packed_));
    if (got < packed_.size()) return file_.WhyShorter(at_bytes_ + static_cast<int64_t>(got));
    at_bytes_ += header.packed_bytes;
    if (header.type == kDictionaryPage) {
      RETURN_IF_ERROR(LoadDictionary(header));
    } else if (header.type == kDataPage || header.type == kDataPageV2) {
      RETURN_IF_ERROR(LoadData(header));
    }
  }
  return OkStatus();
}

Status ColumnReader::LoadDictionary(const PageHeader& header) {
  dictionary_bytes_.resize(static_cast<size_t>(header.unpacked_bytes));
  const Status unpacked = UnpackPage(codec_, packed_, dictionary_bytes_);
  if (!unpacked.ok()) return Damaged(unpacked.why());
  if (header.values < 0 || header.values > static_cast<int64_t>(dictionary_bytes_.size())) {
    return Damaged("its dictionary has fewer entries than it says");
  }
  const auto count = static_cast<size_t>(header.values);
  std::span<const char> bytes(dictionary_bytes_);
  dictionary_.clear();
  dictionary_texts_.clear();
  for (size_t i = 0; i < count; ++i) {
    int64_t raw = 0;
    std::string_view text;
    if (!TakePlain(bytes, raw, text)) return Damaged("its dictionary is damaged");
    if (is_text()) {
      dictionary_texts_.push_back(text);
      dictionary_.push_back(kNotNumbered);
    } else {
      dictionary_.push_back(column_.most_repetition == 0 ? FromNumber(raw) : raw);
    }
  }
  has_dictionary_ = true;
  return OkStatus();
}

Status ColumnReader::ReadLevels(std::span<const char>& bytes, uint8_t most, bool has_length, size_t length,
                                RunDecoder& levels) {
  if (most == 0) return OkStatus();
  if (has_length) {
    uint32_t size = 0;
    if (bytes.size() < sizeof(size)) return Damaged("a page is cut off");
    std::memcpy(&size, bytes.data(), sizeof(size));
    bytes = bytes.subspan(sizeof(size));
    length = size;
  }
  if (length > bytes.size()) return Damaged("the levels of a page are larger than the page");
  levels = RunDecoder(bytes.first(length), BitsFor(most));
  bytes = bytes.subspan(length);
  return OkStatus();
}

Status ColumnReader::LoadData(const PageHeader& header) {
  if (header.values < 0 || header.values > chunk_left_) return Damaged("a page has more values than its column");
  std::span<const char> bytes;
  if (header.type == kDataPage) {
    const bool has_levels = column_.most_definition > 0;
    if (has_levels &&
        (header.definition_encoding != kRle || (column_.most_repetition > 0 && header.repetition_encoding != kRle))) {
      return Damaged("the levels of a page are packed as old writers did");
    }
    page_.resize(static_cast<size_t>(header.unpacked_bytes));
    const Status unpacked = UnpackPage(codec_, packed_, page_);
    if (!unpacked.ok()) return Damaged(unpacked.why());
    bytes = page_;
    RETURN_IF_ERROR(ReadLevels(bytes, column_.most_repetition, true, 0, repetition_));
    RETURN_IF_ERROR(ReadLevels(bytes, column_.most_definition, true, 0, definition_));
  } else {
    // Levels stand before what is packed.
    if (header.definition_bytes < 0 || header.repetition_bytes < 0 ||
        header.definition_bytes + header.repetition_bytes > std::min(header.packed_bytes, header.unpacked_bytes)) {
      return Damaged("the levels of a page are larger than the page");
    }
    const auto level_bytes = static_cast<size_t>(header.definition_bytes + header.repetition_bytes);
    page_.resize(static_cast<size_t>(header.unpacked_bytes));
    if (level_bytes > 0) std::memcpy(page_.data(), packed_.data(), level_bytes);
    const std::span<const char> packed = std::span<const char>(packed_).subspan(level_bytes);
    const std::span<char> unpacked = std::span(page_).subspan(level_bytes);
    const ParquetCodec codec = header.is_packed && !unpacked.empty() ? codec_ : ParquetCodec::kNone;
    const Status made = UnpackPage(codec, packed.first(unpacked.empty() ? 0 : packed.size()), unpacked);
    if (!made.ok()) return Damaged(made.why());
    bytes = page_;
    RETURN_IF_ERROR(
        ReadLevels(bytes, column_.most_repetition, false, static_cast<size_t>(header.repetition_bytes), repetition_));
    if (column_.most_repetition == 0) bytes = bytes.subspan(static_cast<size_t>(header.repetition_bytes));
    RETURN_IF_ERROR(
        ReadLevels(bytes, column_.most_definition, false, static_cast<size_t>(header.definition_bytes), definition_));
    if (column_.most_definition == 0) bytes = bytes.subspan(static_cast<size_t>(header.definition_bytes));
  }
  page_left_ = static_cast<size_t>(header.values);
  chunk_left_ -= header.values;
  return StartValues(bytes, header.encoding);
}

Status ColumnReader::StartValues(std::span<const char> bytes, int64_t encoding) {
  plain_ = bytes;
  bit_at_ = 0;
  decoded_at_ = 0;
  const size_t most = std::min(page_left_, kMostDeltaValues);
  const bool is_integer = column_.type == ParquetType::kInt32 || column_.type == ParquetType::kInt64;
  Status damaged = Damaged("the values of a page are damaged");
  switch (encoding) {
    case kPlainEncoding:
      source_ = column_.type == ParquetType::kBoolean ? Source::kBits : Source::kPlain;
      return OkStatus();
    case kPlainDictionary:
    case kRleDictionary: {
      source_ = Source::kDictionary;
      if (bytes.empty()) {
        runs_ = RunDecoder();
        return OkStatus();  // all of them are null
      }
      if (!has_dictionary_) return Damaged("a page needs a dictionary, and there is none");
      const int bits = static_cast<uint8_t>(bytes[0]);
      if (bits > 32) return damaged;
      runs_ = RunDecoder(bytes.subspan(1), bits);
      return OkStatus();
    }
    case kRle: {
      if (column_.type != ParquetType::kBoolean || bytes.size() < 4) return damaged;
      source_ = Source::kRuns;
      runs_ = RunDecoder(bytes.subspan(4), 1);
      return OkStatus();
    }
    case kDeltaBinaryPacked: {
      size_t taken = 0;
      source_ = Source::kDecoded;
      if (!is_integer || !ReadDeltas(bytes, column_.type == ParquetType::kInt32, most, decoded_, taken)) return damaged;
      return OkStatus();
    }
    case kDeltaLengthByteArray:
    case kDeltaByteArray: {
      // The number of values that are no nulls stands before them.
      source_ = Source::kDecoded;
      size_t taken = 0;
      std::vector<int64_t> lengths;
      if (!is_text() || !ReadDeltas(bytes, true, most, lengths, taken)) return damaged;
      const bool is_read = encoding == kDeltaLengthByteArray
                               ? ReadDeltaLengthTexts(bytes, lengths.size(), decoded_texts_)
                               : ReadDeltaTexts(bytes, lengths.size(), kMostPageBytes, joined_, decoded_texts_);
      return is_read ? OkStatus() : damaged;
    }
    case kByteStreamSplit: {
      const size_t of_value = width();
      if (of_value == 0 || !JoinSplitBytes(bytes, of_value, bytes.size() / of_value, joined_)) return damaged;
      source_ = Source::kPlain;
      plain_ = joined_;
      return OkStatus();
    }
    default:
      return Damaged("a page has an encoding that is not read (" + std::to_string(encoding) + ")");
  }
}

bool ColumnReader::TakePlain(std::span<const char>& bytes, int64_t& raw, std::string_view& text) const {
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
  const size_t size = width();
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

Status ColumnReader::TakeValues(size_t count, std::vector<int64_t>& values) {
  switch (source_) {
    case Source::kPlain:
      for (size_t i = 0; i < count; ++i) {
        int64_t raw = 0;
        std::string_view text;
        if (!TakePlain(plain_, raw, text)) return Damaged("a page has fewer values than it says");
        values.push_back(is_text() ? FromText(text) : FromNumber(raw));
      }
      return OkStatus();
    case Source::kBits:
      if (bit_at_ + count > plain_.size() * 8) return Damaged("a page has fewer values than it says");
      for (size_t i = 0; i < count; ++i, ++bit_at_) {
        values.push_back(FromNumber(static_cast<uint8_t>(plain_[bit_at_ / 8]) >> (bit_at_ % 8) & 1));
      }
      return OkStatus();
    case Source::kRuns:
    case Source::kDictionary:
      indexes_.resize(count);
      if (!runs_.Read(indexes_)) return Damaged("a page has fewer values than it says");
      for (const uint32_t index : indexes_) {
        if (source_ == Source::kRuns) {
          values.push_back(FromNumber(index & 1));
          continue;
        }
        if (index >= dictionary_.size()) return Damaged("a value is not in the dictionary");
        int64_t& known = dictionary_[index];
        if (known == kNotNumbered && is_text()) known = FromText(dictionary_texts_[index]);
        values.push_back(known);
      }
      return OkStatus();
    case Source::kDecoded:
      if (count > (is_text() ? decoded_texts_.size() : decoded_.size()) - decoded_at_) {
        return Damaged("a page has fewer values than it says");
      }
      for (size_t i = 0; i < count; ++i, ++decoded_at_) {
        values.push_back(is_text() ? FromText(decoded_texts_[decoded_at_]) : FromNumber(decoded_[decoded_at_]));
      }
      return OkStatus();
  }
  return OkStatus();
}

// The values of lists, taken one by one.
Status ColumnReader::TakeTexts(size_t count, std::vector<std::string>& texts) {
  for (size_t i = 0; i < count; ++i) {
    int64_t raw = 0;
    std::string_view text;
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
        if (is_there && source_ == Source::kDictionary && is_text()) text = dictionary_texts_[index];
        if (is_there && source_ == Source::kDictionary && !is_text()) raw = dictionary_[index];
        break;
      }
      case Source::kDecoded:
        is_there = decoded_at_ < (is_text() ? decoded_texts_.size() : decoded_.size());
        if (is_there && is_text()) text = decoded_texts_[decoded_at_];
        if (is_there && !is_text()) raw = decoded_[decoded_at_];
        ++decoded_at_;
        break;
    }
    if (!is_there) return Damaged("a page has fewer values than it says");
    texts.push_back(is_text() ? std::string(text) : TextOfNumber(raw));
  }
  return OkStatus();
}

std::string ColumnReader::TextOfNumber(int64_t raw) const {
  if (column_.type == ParquetType::kBoolean) return raw != 0 ? "true" : "false";
  if (!is_real()) return std::to_string(raw);
  const auto real = std::bit_cast<double>(raw);
  return std::isfinite(real) ? ShortestNumber(real) : std::string();
}

int64_t ColumnReader::FromNumber(int64_t raw) const {
  const double real = is_real() ? std::bit_cast<double>(raw) : static_cast<double>(raw);
  switch (as_) {
    case As::kInteger:
      return is_real() ? IntegerOfReal(real).value_or(kNoValue) : raw;
    case As::kReal:
      return std::isnan(real) ? kNoReal : std::bit_cast<int64_t>(real);
    case As::kFlag:
      return real != 0 ? 1 : 0;
    case As::kText: {
      const std::string text = TextOfNumber(raw);
      return text.empty() ? kNoValue : number_text_(text);
    }
  }
  return kNoValue;
}

int64_t ColumnReader::FromText(std::string_view text) const {
  if (as_ == As::kText) return text.empty() ? kNoValue : number_text_(text);
  if (as_ == As::kFlag) {
    if (text == "yes" || text == "true" || text == "1") return 1;
    return text == "no" || text == "false" || text == "0" ? 0 : kNoValue;
  }
  const char* const end = text.data() + text.size();
  int64_t number = 0;
  if (as_ == As::kInteger) {
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && at == end && !text.empty()) return number;
  }
  double real = 0;
  const auto [at, error] = std::from_chars(text.data(), end, real);
  if (error != std::errc() || at != end || text.empty() || !std::isfinite(real)) return Nothing();
  return as_ == As::kReal ? std::bit_cast<int64_t>(real) : IntegerOfReal(real).value_or(kNoValue);
}

}  // namespace kprof
