// Goes through the rows of a table of an Nsight Systems export, whatever columns it has: those that a reader asks for
// by name, and all others as arguments under their own names. What refers to another table becomes its text; NULLs are
// left out, and so are columns named as an environment, a user, a host or a command line.
//
//   NsysCursor row(source, table);
//   const int start = row.Take("start");
//   while (row.Next()) source.batch.AddInstant({row.Time(start), ..., row.Args()});
//   return row.Finish();
//
// One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/nsys/nsys_database.h"
#include "daemon/ingest/nsys/nsys_strings.h"
#include "daemon/ingest/nsys/nsys_tracks.h"

namespace kprof {

// The call chains of an Nsight Systems export: of a number, the functions from the innermost outwards, as a JSON list
// of "function (module)".
//
// One thread.
class NsysCallchains {
 public:
  // `table` is one of ..._CALLCHAINS; the others are borrowed.
  NsysCallchains(NsysDatabase& database, const std::string& table, NsysStrings& strings);

  struct Chain {
    std::string json;
    int64_t innermost = 0;  // the function's number in StringIds
  };
  // Nothing where there is no such chain.
  std::optional<Chain> Find(int64_t id);
  // How many could not be read as the file is damaged.
  int64_t failed() const { return failed_; }

 private:
  struct Frame {
    int64_t depth = 0;
    int64_t symbol = 0;
    int64_t module = 0;
    bool operator<(const Frame& other) const { return depth < other.depth; }
  };
  std::vector<Frame> Frames(int64_t id);
  const std::string& FrameJson(const Frame& frame);

  NsysStrings& strings_;
  NsysIdLookup lookup_;
  std::map<std::pair<int64_t, int64_t>, std::string> frames_;  // by symbol and module
  int64_t failed_ = 0;
};

// What the readers of the tables of one Nsight Systems export share: the file, its strings, and where events go.
//
// One thread.
struct NsysSource {
  // Both are borrowed. `size_bytes` is the file's.
  NsysSource(NsysDatabase& file, BatchSink& sink, int64_t file_bytes)
      : database(file),
        batch(sink),
        strings(file, batch),
        enums(file),
        processes(file, strings),
        tracks(file, batch, processes),
        size_bytes(file_bytes) {}
  NsysSource(const NsysSource&) = delete;
  NsysSource& operator=(const NsysSource&) = delete;

  // Of one of the ..._CALLCHAINS tables.
  NsysCallchains& CallchainsOf(const std::string& table) {
    std::unique_ptr<NsysCallchains>& chains = callchains[table];
    if (chains == nullptr) chains = std::make_unique<NsysCallchains>(database, table, strings);
    return *chains;
  }

  // To be called now and then: how much of the file is done, going by rows.
  Status TellProgress() {
    const double share =
        std::min(1.0, static_cast<double>(rows_done) / static_cast<double>(std::max<int64_t>(rows, 1)));
    // Some tables are gone through twice.
    bytes_done = std::max(bytes_done, static_cast<int64_t>(share * static_cast<double>(size_bytes)));
    return batch.sink().Progress(bytes_done, batch.events());
  }

  NsysDatabase& database;
  BatchBuilder batch;
  NsysStrings strings;
  NsysEnums enums;
  NsysProcesses processes;
  NsysTracks tracks;
  std::map<std::string, std::unique_ptr<NsysCallchains>> callchains;
  const int64_t size_bytes;
  int64_t rows = 0;  // of all tables that will be read, about
  int64_t rows_done = 0;
  int64_t bytes_done = 0;  // as was told
};

class NsysCursor {
 public:
  // Both are borrowed.
  NsysCursor(NsysSource& source, const NsysTable& table);

  // A column's number; -1, which is always NULL, where there is none of that name. One that is taken is no argument:
  // the event has it in a column of its own.
  int Find(std::string_view column) const { return table_.Find(column); }
  int Take(std::string_view column);

  // The next row. False at the end, where the table is damaged, and once the sink takes no more.
  bool Next();
  // What the sink said; ok where the table just ended.
  const Status& status() const { return status_; }
  // After the last one: warns of what could not be read, by its table. What the sink said, if that was no.
  Status Finish();

  bool IsNull(int column) const { return column < 0 || query_.IsNull(column); }
  int64_t Integer(int column) const { return column < 0 ? 0 : query_.Integer(column); }
  int64_t IntegerOr(int column, int64_t other) const { return IsNull(column) ? other : query_.Integer(column); }
  std::string_view Text(int column) const { return column < 0 ? std::string_view() : query_.Text(column); }
  // Whatever it is stored as; nothing where it is none.
  std::optional<double> Number(int column) const;
  // The same as one is kept, of numbers that are stored as such and of others.
  std::optional<CounterSample> Sample(int column) const;
  // In ns, the nearest; nothing where it is no number, or so far off that no two could be subtracted.
  std::optional<int64_t> Time(int column) const;
  // Counts the row as one that has no time, and so is no event.
  void SkipUntimed() { ++untimed_; }
  // Or no value.
  void SkipValueless() { ++valueless_; }
  // How long from `start_ns` to the time in that column; kNoValue where that is not known.
  int64_t Duration(int64_t start_ns, int column) const;

  // The text of an id's column: StringIds' or a label. Empty where it has none.
  std::optional<std::string> Resolved(int column);
  // The same as the number of a string of the batch; 0 where it has none.
  uint32_t ResolvedNumber(int column);

  // Of this row: all columns that were not taken and are not NULL. The caller may add to them, until the next row.
  // `correlation` is the event's; an argument correlationId of the same value needs no column of its own.
  std::vector<EventArg>& Args(int64_t correlation = kNoValue);
  // Adds a column that was taken.
  void AddArg(int column);
  void AddTextArg(std::string_view key, std::string_view text);
  void AddIntegerArg(std::string_view key, int64_t value);

 private:
  enum class Target : uint8_t { kNothing, kString, kLabel, kCallchain };
  struct Column {
    uint32_t key = 0;
    bool taken = false;
    bool is_correlation = false;
    Target target = Target::kNothing;
    const NsysEnums::Labels* labels = nullptr;
    NsysCallchains* callchains = nullptr;
    // Often the next row has the same.
    bool has_last = false;
    int64_t last = 0;
    EventArg last_arg;
  };
  EventArg ArgOf(int column, int type);  // SQLite's
  std::optional<int64_t> Id(int column, int type) const;
  EventArg ArgOfInteger(Column& column, int64_t value);

  NsysSource& source_;
  const NsysTable& table_;
  NsysQuery query_;
  std::vector<Column> columns_;
  std::vector<EventArg> args_;
  int64_t rows_ = 0;
  int64_t untimed_ = 0;
  int64_t valueless_ = 0;
  Status status_;
};

}  // namespace kprof
