#include "daemon/ingest/parquet/page_header.h"

#include <algorithm>
#include <vector>

#include "daemon/ingest/parquet/thrift_compact.h"

namespace kprof {
namespace {

constexpr size_t kUsualHeaderBytes = 4 << 10;
constexpr size_t kMostHeaderBytes = 4 << 20;  // statistics in it have texts

}  // namespace

Result<std::optional<ParquetPageHeader>> ReadPageHeader(const SourceFile& file, int64_t& at_bytes, int64_t end_bytes) {
  for (size_t most = kUsualHeaderBytes;; most *= 16) {
    std::vector<char> bytes(static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(most), end_bytes - at_bytes)));
    ASSIGN_OR_RETURN(const size_t got, file.ReadAt(at_bytes, bytes));
    if (got < bytes.size()) return file.WhyShorter(at_bytes + static_cast<int64_t>(got));
    ThriftReader in(bytes);
    ParquetPageHeader header;
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
      at_bytes += static_cast<int64_t>(in.offset());
      return std::optional(header);
    }
    if (bytes.size() < most || most >= kMostHeaderBytes) return std::optional<ParquetPageHeader>();
  }
}

}  // namespace kprof
