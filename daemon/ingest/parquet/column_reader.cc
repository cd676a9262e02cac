#include "daemon/ingest/parquet/column_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "daemon/ingest/parquet/page_codecs.h"

namespace kprof {
namespace {

constexpr size_t kValuesAtOnce = 4096;
constexpr size_t kMostListBytes = 1 << 20;

}  // namespace

ColumnReader::ColumnReader(const SourceFile& file, const ParquetFile& of, size_t column, As as, NumberText number_text)
    : file_(file),
      of_(of),
      number_(column),
      column_(of.columns[column]),
      form_(column_, as, std::move(number_text)),
      stream_(column_, form_) {}

Status ColumnReader::Damaged(std::string why) const {
  return Fail(ErrorCode::kBadInput, "read the column " + column_.name, std::move(why),
              "have the profiler write it again");
}

Status ColumnReader::Check(PageFault fault) const {
  return fault ? Damaged(std::move(*fault)) : OkStatus();
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
      RETURN_IF_ERROR(Check(stream_.Take(count, values)));
    } else {
      levels_.resize(count);
      if (!definition_.Read(levels_)) return Damaged("the levels of a page are damaged");
      const auto present = static_cast<size_t>(std::count(levels_.begin(), levels_.end(), column_.most_definition));
      const size_t first = values.size();
      RETURN_IF_ERROR(Check(stream_.Take(present, values)));
      values.resize(first + count, form_.Nothing());
      // From the last one on: a value moves to its row, over those that moved already.
      size_t from = present;
      for (size_t i = count; i-- > 0 && from < i + 1;) {
        values[first + i] = levels_[i] == column_.most_definition ? values[first + --from] : form_.Nothing();
      }
    }
    rows -= count;
    page_left_ -= count;
  }
  return OkStatus();
}

void ColumnReader::ForgetTexts() {
  stream_.ForgetTexts();
}

// A row of a list: entries up to the next one that begins a row.
Status ColumnReader::ReadListRow(std::vector<int64_t>& values) {
  std::string text = "[";
  bool is_null = true;
  bool is_first = true;
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
    RETURN_IF_ERROR(Check(stream_.TakeInto(text)));
  }
  const bool is_empty = is_null || text.size() == 1;
  values.push_back(is_empty || form_.as() != As::kText ? form_.Nothing() : form_.NumberOf(text + "]"));
  return OkStatus();
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
      stream_.ForgetDictionary();
    }
    if (at_bytes_ >= end_bytes_) return Damaged("it has fewer values than its row group has rows");
    ASSIGN_OR_RETURN(const std::optional<ParquetPageHeader> read, ReadPageHeader(file_, at_bytes_, end_bytes_));
    if (!read) return Damaged("the header of a page is damaged");
    const ParquetPageHeader& header = *read;
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

Status ColumnReader::LoadDictionary(const ParquetPageHeader& header) {
  dictionary_bytes_.resize(static_cast<size_t>(header.unpacked_bytes));
  const Status unpacked = UnpackPage(codec_, packed_, dictionary_bytes_);
  if (!unpacked.ok()) return Damaged(unpacked.why());
  if (header.values < 0 || header.values > static_cast<int64_t>(dictionary_bytes_.size())) {
    return Damaged("its dictionary has fewer entries than it says");
  }
  return Check(stream_.StartDictionary(dictionary_bytes_, static_cast<size_t>(header.values)));
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

Status ColumnReader::LoadData(const ParquetPageHeader& header) {
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
  return Check(stream_.StartPage(bytes, header.encoding, page_left_));
}

}  // namespace kprof
