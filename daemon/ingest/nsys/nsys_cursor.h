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

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/ingest/assemble/counter_sample.h"
#include "daemon/ingest/nsys/nsys_source.h"

namespace kprof {

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
