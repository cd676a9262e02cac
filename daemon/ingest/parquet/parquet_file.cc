#include "daemon/ingest/parquet/parquet_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "daemon/ingest/parquet/thrift_compact.h"

namespace kprof {
namespace {

constexpr std::string_view kParquetMagic = "PAR1";
constexpr std::string_view kEncryptedMagic = "PARE";
constexpr size_t kTailBytes = 8;  // the footer's size and the magic
constexpr int64_t kMostFooterBytes = 16 << 20;
constexpr size_t kMostParquetColumns = 4096;
constexpr size_t kMostParquetGroups = 65'536;
constexpr int64_t kMostParquetRows = int64_t{1} << 32;
constexpr size_t kMostParquetChunks = 1 << 20;  // of all columns and row groups
constexpr const char* kReadAsParquet = "read it as Parquet";

Status BrokenParquet(std::string why) {
  return Fail(ErrorCode::kBadInput, kReadAsParquet, std::move(why), "have the profiler write it again");
}

// An element of the schema, a list in the order of a walk through the tree.
struct SchemaElement {
  std::string name;
  int64_t type = -1;
  int64_t fixed_bytes = 0;
  int64_t repetition = 0;  // 0 required, 1 optional, 2 repeated
  int64_t children = 0;
  int64_t converted = -1;
};
constexpr int64_t kRepeated = 2;

SchemaElement ReadElement(ThriftReader& in) {
  SchemaElement element;
  ForEachThriftField(in, [&](const ThriftReader::Field& field) {
    switch (field.id) {
      case 1:
        element.type = in.Integer();
        return true;
      case 2:
        element.fixed_bytes = in.Integer();
        return true;
      case 3:
        element.repetition = in.Integer();
        return true;
      case 4:
        element.name = in.Binary();
        return true;
      case 5:
        element.children = in.Integer();
        return true;
      case 6:
        element.converted = in.Integer();
        return true;
      default:
        return false;
    }
  });
  return element;
}

ParquetChunk ReadColumnMetadata(ThriftReader& in) {
  ParquetChunk chunk;
  int64_t data = 0;
  int64_t dictionary = 0;
  ForEachThriftField(in, [&](const ThriftReader::Field& field) {
    switch (field.id) {
      case 4:
        chunk.codec = static_cast<ParquetCodec>(std::clamp<int64_t>(in.Integer(), 0, 255));
        return true;
      case 5:
        chunk.values = in.Integer();
        return true;
      case 7:
        chunk.size_bytes = in.Integer();
        return true;
      case 9:
        data = in.Integer();
        return true;
      case 11:
        dictionary = in.Integer();
        return true;
      default:
        return false;
    }
  });
  // Some writers leave a 0 where there is no dictionary.
  chunk.begin_bytes = dictionary > 0 && dictionary < data ? dictionary : data;
  return chunk;
}

ParquetRowGroup ReadGroup(ThriftReader& in) {
  ParquetRowGroup group;
  ForEachThriftField(in, [&](const ThriftReader::Field& field) {
    if (field.id == 3) {
      group.rows = in.Integer();
      return true;
    }
    if (field.id != 1 || field.type != ThriftReader::kList) return false;
    const ThriftReader::List list = in.ListHead();
    for (uint32_t i = 0; in.ok() && i < list.size && i < kMostParquetColumns; ++i) {
      ParquetChunk chunk;
      ForEachThriftField(in, [&](const ThriftReader::Field& of_chunk) {
        if (of_chunk.id != 3 || of_chunk.type != ThriftReader::kStruct) return false;
        chunk = ReadColumnMetadata(in);
        return true;
      });
      group.chunks.push_back(chunk);
    }
    return true;
  });
  return group;
}

// Makes the columns of a schema: its leaves.
class SchemaWalk {
 public:
  explicit SchemaWalk(const std::vector<SchemaElement>& elements) : elements_(elements) {}

  // False: the tree is none.
  bool Walk(std::vector<ParquetColumn>& columns) {
    if (elements_.empty()) return false;
    const int64_t children = elements_[0].children;
    next_ = 1;
    for (int64_t i = 0; i < children; ++i) {
      if (!Visit({}, columns, 0)) return false;
    }
    return next_ == elements_.size();
  }

 private:
  struct Path {
    std::string name;  // of the first element below the root
    uint8_t definition = 0;
    uint8_t repetition = 0;
    uint8_t list_definition = 0;
    bool is_flat = true;  // no struct but those of a list
  };
  static constexpr int kMostSchemaDepth = 32;

  bool Visit(Path path, std::vector<ParquetColumn>& columns, int depth) {
    if (next_ >= elements_.size() || depth > kMostSchemaDepth) return false;
    const SchemaElement& element = elements_[next_++];
    if (depth == 0) path.name = element.name;
    if (element.repetition != 0) ++path.definition;
    if (element.repetition == kRepeated) {
      ++path.repetition;
      path.list_definition = path.definition;
    }
    if (element.children > 0) {
      // A list is a group with one repeated child, which may be a group of one.
      path.is_flat = path.is_flat && element.children == 1;
      for (int64_t i = 0; i < element.children; ++i) {
        if (!Visit(path, columns, depth + 1)) return false;
      }
      return true;
    }
    if (columns.size() >= kMostParquetColumns || element.type < 0 || element.type > 7) return false;
    ParquetColumn& column = columns.emplace_back();
    column.name = path.name;
    column.type = static_cast<ParquetType>(element.type);
    column.fixed_bytes = static_cast<uint32_t>(std::clamp<int64_t>(element.fixed_bytes, 0, INT32_MAX));
    column.most_definition = path.definition;
    column.most_repetition = path.repetition;
    column.list_definition = path.list_definition;
    column.is_unsigned = element.converted >= 11 && element.converted <= 14;
    const bool is_group_without_list = depth > 0 && path.repetition == 0;
    column.is_readable = path.repetition <= 1 && path.is_flat && !is_group_without_list &&
                         column.type != ParquetType::kInt96 &&
                         (column.type != ParquetType::kFixed || column.fixed_bytes > 0);
    return true;
  }

  const std::vector<SchemaElement>& elements_;
  size_t next_ = 0;
};

Result<std::vector<char>> ReadFooter(const SourceFile& file, int64_t& footer_begin) {
  const int64_t size = file.size_bytes();
  std::array<char, kTailBytes> tail{};
  std::array<char, kParquetMagic.size()> head{};
  if (size < static_cast<int64_t>(kTailBytes + kParquetMagic.size())) return BrokenParquet("it is cut off");
  ASSIGN_OR_RETURN(const size_t got_head, file.ReadAt(0, head));
  ASSIGN_OR_RETURN(const size_t got, file.ReadAt(size - static_cast<int64_t>(kTailBytes), tail));
  if (got_head < head.size() || got < tail.size()) return file.WhyShorter(size);
  const std::string_view magic(tail.data() + 4, kParquetMagic.size());
  if (std::string_view(head.data(), head.size()) == kEncryptedMagic || magic == kEncryptedMagic) {
    return Fail(ErrorCode::kBadInput, kReadAsParquet, "it is encrypted", "give it without encryption");
  }
  if (magic != kParquetMagic) return BrokenParquet("it is cut off: its footer is missing");
  uint32_t footer_bytes = 0;
  std::memcpy(&footer_bytes, tail.data(), sizeof(footer_bytes));
  footer_begin = size - static_cast<int64_t>(kTailBytes) - int64_t{footer_bytes};
  if (footer_begin < static_cast<int64_t>(kParquetMagic.size())) {
    return BrokenParquet("its footer is larger than the file");
  }
  if (footer_bytes > kMostFooterBytes) return BrokenParquet("its footer has more than 16 MiB");
  std::vector<char> footer(footer_bytes);
  ASSIGN_OR_RETURN(const size_t got_footer, file.ReadAt(footer_begin, footer));
  if (got_footer < footer.size()) return file.WhyShorter(size);
  return footer;
}

}  // namespace

Result<ParquetFile> ParquetFile::Open(const SourceFile& file) {
  RETURN_IF_ERROR(file.WaitUntilWhole());  // the footer stands at its end
  int64_t footer_begin = 0;
  ASSIGN_OR_RETURN(const std::vector<char> footer, ReadFooter(file, footer_begin));
  ThriftReader in(footer);
  ParquetFile made;
  std::vector<SchemaElement> schema;
  bool has_too_many = false;
  ForEachThriftField(in, [&](const ThriftReader::Field& field) {
    if (field.id == 2 && field.type == ThriftReader::kList) {
      const ThriftReader::List list = in.ListHead();
      for (uint32_t i = 0; in.ok() && i < list.size && i < 4 * kMostParquetColumns; ++i) {
        schema.push_back(ReadElement(in));
      }
      return true;
    }
    if (field.id == 3) {
      made.rows = in.Integer();
      return true;
    }
    if (field.id == 4 && field.type == ThriftReader::kList) {
      const ThriftReader::List list = in.ListHead();
      size_t chunks = 0;
      for (uint32_t i = 0; in.ok() && i < list.size && i < kMostParquetGroups && chunks < kMostParquetChunks; ++i) {
        made.groups.push_back(ReadGroup(in));
        chunks += made.groups.back().chunks.size();
      }
      if (made.groups.size() < list.size) has_too_many = true;
      return true;
    }
    if (field.id == 6) {
      made.made_by = in.Binary();
      return true;
    }
    return false;
  });
  if (!in.ok()) return BrokenParquet("its footer is damaged");
  if (has_too_many) return BrokenParquet("it has too many row groups");
  if (!SchemaWalk(schema).Walk(made.columns)) return BrokenParquet("its schema is no tree of columns");
  int64_t rows = 0;
  for (const ParquetRowGroup& group : made.groups) {
    if (group.chunks.size() != made.columns.size()) return BrokenParquet("a row group lacks columns");
    if (group.rows < 0 || group.rows > kMostParquetRows - rows) return BrokenParquet("its number of rows is none");
    rows += group.rows;
    for (const ParquetChunk& chunk : group.chunks) {
      const bool is_inside = chunk.begin_bytes >= static_cast<int64_t>(kParquetMagic.size()) && chunk.size_bytes >= 0 &&
                             chunk.begin_bytes <= footer_begin && chunk.size_bytes <= footer_begin - chunk.begin_bytes;
      if ((!is_inside && group.rows > 0) || chunk.values < 0) {
        return BrokenParquet("a column stands outside of the file");
      }
    }
  }
  made.rows = rows;
  return made;
}

int ParquetFile::Find(std::string_view name) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

bool LooksLikeParquet(std::span<const char> first) {
  return std::string_view(first.data(), first.size()).starts_with(kParquetMagic);
}

}  // namespace kprof
