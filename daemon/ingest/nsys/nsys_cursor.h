// Reads the tables of one Nsight Systems export: NsysSource is shared by all of its tables' readers, NsysCursor goes
// through the rows of one table.
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

// The call chains of an Nsight Systems export. A chain is found by its number: its functions from the innermost
// outwards, as a JSON list of "function (module)".
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
  // Nothing: there is no such chain.
  std::optional<Chain> Find(int64_t id);
  // The number of chains that could not be read because the file is damaged.
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

// The things that the readers of all tables of one Nsight Systems export share: the file, its strings, its tracks, and
// the batch that takes the events.
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

  // The call chains in one of the ..._CALLCHAINS tables.
  NsysCallchains& CallchainsOf(const std::string& table) {
    std::unique_ptr<NsysCallchains>& chains = callchains[table];
    if (chains == nullptr) chains = std::make_unique<NsysCallchains>(database, table, strings);
    return *chains;
  }

  // Call it now and then. Reports how much of the file is done, judged by the rows.
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
  int64_t bytes_done = 0;  // the last report
};

// Goes through the rows of a table, whatever columns it has. A reader asks for some columns by name; all others become
// arguments under their own names. A number that refers to another table becomes the text there. NULLs are left out,
// and so are columns named like an environment, a user, a host or a command line.
//
//   NsysCursor row(source, table);
//   const int start = row.Take("start");
//   while (row.Next()) source.batch.AddInstant({row.Time(start), ..., row.Args()});
//   return row.Finish();
//
// One thread.
class NsysCursor {
 public:
  // Both are borrowed.
  NsysCursor(NsysSource& source, const NsysTable& table);

  // The number of a column; -1, which is always NULL, if there is none of that name. A column that is taken is no
  // argument: the event has its value in a column of its own.
  int Find(std::string_view column) const { return table_.Find(column); }
  int Take(std::string_view column);

  // Goes to the next row. False at the end, where the table is damaged, and once the sink takes no more.
  bool Next();
  // The failure of the sink; OK when the table just ended.
  const Status& status() const { return status_; }
  // Call after the last row. Warns of rows that could not be read, and returns the failure of the sink, if any.
  Status Finish();

  bool IsNull(int column) const { return column < 0 || query_.IsNull(column); }
  int64_t Integer(int column) const { return column < 0 ? 0 : query_.Integer(column); }
  int64_t IntegerOr(int column, int64_t other) const { return IsNull(column) ? other : query_.Integer(column); }
  std::string_view Text(int column) const { return column < 0 ? std::string_view() : query_.Text(column); }
  // A number, however it is stored; nothing: it is none.
  std::optional<double> Number(int column) const;
  // The same as a sample of a counter, which also knows how the file wrote it.
  std::optional<CounterSample> Sample(int column) const;
  // A time in ns, rounded to the nearest. Nothing: it is no number, or so large that two could not be subtracted.
  std::optional<int64_t> Time(int column) const;
  // Counts the row as one without a time: it is no event.
  void SkipUntimed() { ++untimed_; }
  // Counts the row as one without a value.
  void SkipValueless() { ++valueless_; }
  // The time from `start_ns` to the time in that column; kNoValue: not known.
  int64_t Duration(int64_t start_ns, int column) const;

  // The text that a column's number refers to: one of StringIds, or a label. Nothing: there is none.
  std::optional<std::string> Resolved(int column);
  // The same as the number of a string of the batch; 0: there is none.
  uint32_t ResolvedNumber(int column);

  // The arguments of this row: all columns that were not taken and are not NULL. The caller may add to them, until the
  // next row. `correlation` is the event's; an argument correlationId of the same value needs no column of its own.
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
