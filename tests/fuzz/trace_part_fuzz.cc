// Trace parts: whatever a file holds, opening it as a part and reading all of it ends well, or fails as storage broken.
// And what passes for good holds what it says: each column as many values as its segment has rows.
//
// Input: how (1 byte), then
//   0: the file
//   1: bytes over those of a small good part: place (2), value (1), again and again
//   2: values over those of its tables: which (1), which row (1), what to put there (1), the integer (8), again and
//      again; checksums are put right
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "storage/trace/part_reader.h"
#include "storage/trace/part_writer.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/checksum_function.h"
#include "tests/fakes/trace/read_part.h"
#include "tests/fakes/trace/sample_part.h"
#include "tests/fakes/trace/seal_part.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace kprof {
namespace {

// What holds an integer, text or bytes in a part.
constexpr std::array<std::array<const char*, 2>, 36> kCells = {{
    {"fact", "name"},
    {"fact", "value"},
    {"string", "id"},
    {"string", "value"},
    {"track", "id"},
    {"track", "kind"},
    {"track", "name"},
    {"track", "pid"},
    {"track", "tid"},
    {"track", "process"},
    {"track", "device"},
    {"track", "stream"},
    {"track", "sort_index"},
    {"shape", "id"},
    {"shape", "slot"},
    {"shape", "key"},
    {"shape", "type"},
    {"shape", "beside"},
    {"segment", "id"},
    {"segment", "kind"},
    {"segment", "rows"},
    {"segment", "first_row"},
    {"segment", "min_time_ns"},
    {"segment", "max_time_ns"},
    {"segment", "max_end_ns"},
    {"segment_column", "id"},
    {"segment_column", "rows"},
    {"segment_column", "codec"},
    {"segment_column", "min"},
    {"segment_column", "max"},
    {"segment_column", "data"},
    {"segment_column", "data"},
    {"segment_column", "codec"},
    {"segment", "columns"},
    {"string_block", "id"},
    {"string_block", "checksum"},
}};

class Parts {
 public:
  Parts() {
    const std::unique_ptr<Files> files = MakePosixFiles();
    {
      const std::unique_ptr<PartWriter> writer = *PartWriter::Create(*files, path());
      KPROF_CHECK(FillSample(*writer).ok() && writer->Finish({}).ok());
    }
    std::ifstream file(path(), std::ios::binary);
    good_ = {std::istreambuf_iterator<char>(file), {}};
    KPROF_CHECK(good_.size() > 8192);
  }
  std::string path() const { return folder_ / "fuzzed.trace.db"; }
  const std::string& good() const { return good_; }

  void Put(std::string_view content) const {
    std::ofstream file(path(), std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    KPROF_CHECK(file.flush().good());
  }

  // Over the good one's values, as the input says.
  void Change(FuzzBytes& input) const {
    Put(good_);
    sqlite3* db = nullptr;
    KPROF_CHECK(sqlite3_open(path().c_str(), &db) == SQLITE_OK);
    AddChecksumFunction(db);
    Run(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = ON; BEGIN");
    for (std::string_view change = input.Take(11); change.size() == 11; change = input.Take(11)) {
      FuzzBytes bytes(reinterpret_cast<const uint8_t*>(change.data()), change.size());
      const auto& [table, column] = kCells[bytes.Byte() % kCells.size()];
      const uint8_t row = bytes.Byte();
      const uint8_t what = bytes.Byte();
      const auto number = static_cast<int64_t>(bytes.Number());
      const std::string integer = std::to_string(number);
      const std::string low = std::to_string(number & 255);
      const std::string values[] = {integer,
                                    low,
                                    "-" + low,
                                    "NULL",
                                    "CAST(" + integer + " AS TEXT)",
                                    std::string(column) + " + " + low,
                                    "1 << " + std::to_string(number & 63),
                                    "substr(" + std::string(column) + ", 1, " + low + ")",
                                    std::string(column) + " || x'" + (number & 1 ? "00ff" : "80") + "'",
                                    "zeroblob(" + low + ")"};
      const std::string key = std::string(table) == "fact" ? "name" : std::string(table) == "shape" ? "id, slot" : "id";
      const std::string from = "SELECT " + key + " FROM " + table + " ORDER BY 1 LIMIT 1 OFFSET " +
                               std::to_string(row) + " % max(1, (SELECT count(*) FROM " + table + "))";
      Run(db, "UPDATE OR IGNORE " + std::string(table) + " SET " + column + " = " + values[what % std::size(values)] +
                  " WHERE (" + key + ") IN (" + from + ")");
    }
    Run(db, kSetChecksums);
    Run(db, "COMMIT");
    KPROF_CHECK(sqlite3_close(db) == SQLITE_OK);
    SealPart(path());
  }

 private:
  // Failures are of no matter: some things cannot be put where the input wants them.
  static void Run(sqlite3* db, const std::string& sql) { sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr); }

  TemporaryFolder folder_;
  std::string good_;
};

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  static const Parts parts;
  FuzzBytes input(data, size);
  switch (input.Byte()) {
    case 0:
      parts.Put(input.Rest());
      break;
    case 1: {
      std::string content = parts.good();
      for (std::string_view change = input.Take(3); change.size() == 3; change = input.Take(3)) {
        FuzzBytes bytes(reinterpret_cast<const uint8_t*>(change.data()), change.size());
        const size_t place = bytes.Number(2);
        content[place % content.size()] = static_cast<char>(bytes.Byte());
      }
      parts.Put(content);
      break;
    }
    case 2:
      parts.Change(input);
      break;
    default:
      return 0;
  }
  ColumnCache cache(1 << 20);
  const Result<std::unique_ptr<PartReader>> reader = PartReader::Open(parts.path(), cache);
  const Status status = reader.ok() ? ReadAll(**reader) : reader.status();
  KPROF_CHECK(status.ok() || status.code() == ErrorCode::kStorageBroken);
  return 0;
}
