// An analysis: a question to the traces of runs, and its answer, which is tables. A kind is one .cc in this folder (its
// name, what it asks for, what it tells, and the function that answers) and a row of kinds.inc. From that come
// the RPC (analyses_service.h), `kprofctl analyze`, SQL's analyze_<kind> (daemon/trace_functions) and the
// index of docs/analyses; its page there is docs/analyses/<name>.md.
//
// Values; any thread. A kind answers on the thread of the readers that it is given.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// What an analysis can be told: options with names, types and defaults, and their values as somebody gave them. The
// sets below are shared by many kinds.
//
// Values; any thread.
enum class AnalysisType : uint8_t { kInteger, kReal, kText, kBoolean, kJson };

struct AnalysisOption {
  const char* name = "";  // in words with dashes: --name
  AnalysisType type = AnalysisType::kInteger;
  const char* by_default = "";  // empty: nothing
  const char* unit = "";        // "ns"; empty: none
  const char* meaning = "";     // one line
  const char* choices = "";     // of a text: "trace|hta"; empty: any
  int64_t least = std::numeric_limits<int64_t>::min();
};

// Which part of the traces: rank, device, time.
inline constexpr AnalysisOption kTraceScope[] = {
    {"rank", AnalysisType::kInteger, "", "", "Only this rank", "", 0},
    {"device", AnalysisType::kInteger, "", "", "Only this device", "", 0},
    {"from", AnalysisType::kInteger, "", "ns", "Only from this time on, counted from the trace's base"},
    {"to", AnalysisType::kInteger, "", "ns", "Only before this time"},
    {"step", AnalysisType::kInteger, "", "", "Only this step of the profiler (ProfilerStep#N)", "", 0},
    {"limit", AnalysisType::kInteger, "", "", "At most so many rows of each table", "", 1},
};
// What counts as the whole.
inline constexpr AnalysisOption kWindow[] = {
    {"window", AnalysisType::kText, "trace", "",
     "What counts as the whole: all of the trace, exact; or what HolisticTraceAnalysis takes, as it rounds it",
     "trace|hta"},
};

// The sets of options that a kind has, in their order: {kTraceScope, kWindow}.
using AnalysisOptionSets = std::vector<std::span<const AnalysisOption>>;

std::vector<AnalysisOption> AllOptions(const AnalysisOptionSets& sets);

class AnalysisOptions {
 public:
  // `given` by name, as text: digits, true or false, words. `act` begins the message. Fails with kUsage for a name that
  // is none and for a value that its option cannot have; the remedy names what there is.
  static Result<AnalysisOptions> Read(const std::string& act, const AnalysisOptionSets& sets,
                                      const std::map<std::string, std::string>& given);

  // Nothing where it was not given and has no default. REQUIRES: it is of that type, or none of the kind's.
  std::optional<int64_t> integer(std::string_view name) const;
  std::optional<double> real(std::string_view name) const;
  bool boolean(std::string_view name) const { return text(name) == "true"; }
  // Empty where it was not given and has no default.
  const std::string& text(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;  // checked; those with a default are there
};

// A column of a table, or a fact. A boolean's values are the integers 0 and 1, those of kJson texts that are JSON.
struct AnalysisColumn {
  const char* name = "";  // in snake_case, its unit at the end
  AnalysisType type = AnalysisType::kInteger;
  const char* unit = "";     // "ns", "percent"; empty: none
  const char* meaning = "";  // one line
  // Shown where rows of several runs stand in one table: the run that a row is of. (SQL always shows it.)
  bool of_several_runs = false;
};

struct AnalysisTable {
  const char* name = "";
  std::vector<AnalysisColumn> columns;
};

// Nothing: not known.
using AnalysisValue = std::variant<std::monostate, int64_t, double, std::string>;
inline AnalysisValue ValueOf(std::optional<int64_t> number) {
  return number ? AnalysisValue(*number) : AnalysisValue();
}
// Of 0 nothing is a part.
AnalysisValue PercentOf(int64_t part, int64_t whole);

// The traces that are asked: the parts of all runs, and whose they are.
class AnalysisTraces {
 public:
  // `runs`: the run's id of each part. `take_memory`: for what is made of them, null: there is no limit.
  AnalysisTraces(std::vector<TracePart> parts, std::vector<std::string> runs, TakeMemory take_memory = nullptr)
      : parts_(std::move(parts)), runs_(std::move(runs)), take_memory_(std::move(take_memory)) {}

  TraceParts parts() const { return parts_; }
  const std::string& run(size_t part) const { return runs_[part]; }
  const TakeMemory& take_memory() const { return take_memory_; }
  // "rank 3", or "the part of run 01j..." where nobody knows its rank.
  std::string NameOf(size_t part) const;

 private:
  std::vector<TracePart> parts_;
  std::vector<std::string> runs_;
  TakeMemory take_memory_;
};

class AnalysisAnswer {
 public:
  using Row = std::vector<AnalysisValue>;

  explicit AnalysisAnswer(const AnalysisTraces& traces)
      : charge_(std::make_unique<MemoryCharge>(traces.take_memory())) {}

  // `table`: its place in the kind's list. REQUIRES: a value for each of its columns. Fails as take_memory does.
  Status AddRow(size_t table, Row row);
  // REQUIRES: a value for each of the kind's facts.
  void SetFacts(Row facts) { facts_ = std::move(facts); }
  // What somebody should know who reads the answer: why a table is empty, what was left out.
  void AddNote(std::string note) { notes_.push_back(std::move(note)); }
  void AddTrust(TrustReason reason) { trust_.push_back(std::move(reason)); }

  // In the order in which they were added. Empty where none was.
  std::span<const Row> rows(size_t table) const {
    return table < tables_.size() ? std::span<const Row>(tables_[table]) : std::span<const Row>();
  }
  const Row& facts() const { return facts_; }
  const std::vector<std::string>& notes() const { return notes_; }
  // Of the answer itself; those of its runs come on top.
  const std::vector<TrustReason>& trust() const { return trust_; }
  int64_t size_bytes() const { return charge_->used_bytes(); }
  // Keeps the first rows of a table.
  void Cut(size_t table, size_t most);

 private:
  std::unique_ptr<MemoryCharge> charge_;
  std::vector<std::vector<Row>> tables_;
  Row facts_;
  std::vector<std::string> notes_;
  std::vector<TrustReason> trust_;
};

struct AnalysisKind {
  const char* name = "";      // in words with dashes
  int version = 1;            // of what it tells: a column that goes, or means something else, raises it
  const char* question = "";  // that it answers, with its mark
  AnalysisOptionSets options;
  std::vector<AnalysisColumn> facts;  // often none
  std::vector<AnalysisTable> tables;  // the first is the primary one
  Result<AnalysisAnswer> (*answer)(const AnalysisTraces& traces, const AnalysisOptions& options,
                                   const StopSignal& stop) = nullptr;
};

// Those of the rank that is asked for (option `rank`) of all parts; a part without a rank is of none. Fails with kUsage
// where there are none.
Result<AnalysisTraces> ChooseRank(AnalysisTraces traces, const AnalysisOptions& options);

// Asks: what the RPC, SQL and the tests call. Rows beyond option `limit` are left out of each table, with a note. Fails
// with kUsage for options that fit no trace asked, and as reading parts does.
Result<AnalysisAnswer> Analyze(const AnalysisKind& kind, AnalysisTraces traces, const AnalysisOptions& options,
                               const StopSignal& stop);

}  // namespace kprof
