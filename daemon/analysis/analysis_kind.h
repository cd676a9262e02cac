// An analysis: a question to the traces of runs, and its answer, which is tables. A kind of analysis is one .cc in
// daemon/analysis/kinds (its name, its options, its columns, and the function that answers) and a row of kinds.inc
// there. The RPC (analyses_service.h), `kprofctl analyze`, SQL's analyze_<kind> (analysis_functions.h) and the index of
// docs/analyses are made from that; its page is docs/analyses/<name>.md.
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
#include "storage/catalog/device_records.h"
#include "storage/catalog/known_runs.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// The types of options, columns and facts.
enum class AnalysisType : uint8_t { kInteger, kReal, kText, kBoolean, kJson };

// An option of an analysis. The sets below are shared by many kinds.
struct AnalysisOption {
  const char* name = "";  // in words with dashes: --name
  AnalysisType type = AnalysisType::kInteger;
  const char* by_default = "";  // empty: nothing
  const char* unit = "";        // "ns"; empty: none
  const char* meaning = "";     // one line
  const char* choices = "";     // of a text: "trace|hta"; empty: any
  int64_t least = std::numeric_limits<int64_t>::min();
  // A text that names runs, with commas between, as a client may call them (@last). The service asks their traces, too,
  // and puts their ids in their place.
  bool names_runs = false;
  int64_t most = std::numeric_limits<int64_t>::max();
};

// These choose a part of the traces: by rank, device and time.
inline constexpr AnalysisOption kTraceScope[] = {
    {"rank", AnalysisType::kInteger, "", "", "Only this rank", "", 0},
    {"device", AnalysisType::kInteger, "", "", "Only this device", "", 0},
    {"from", AnalysisType::kInteger, "", "ns", "Only from this time on, counted from the trace's base"},
    {"to", AnalysisType::kInteger, "", "ns", "Only before this time"},
    {"step", AnalysisType::kInteger, "", "", "Only this step of the profiler (ProfilerStep#N)", "", 0},
    {"limit", AnalysisType::kInteger, "", "", "At most so many rows of each table", "", 1},
};
// This chooses the time that counts as the whole.
inline constexpr AnalysisOption kWindow[] = {
    {"window", AnalysisType::kText, "trace", "",
     "What counts as the whole: all of the trace, exact; or what HolisticTraceAnalysis takes, as it rounds it",
     "trace|hta"},
};

// The sets of options that a kind has, in their order: {kTraceScope, kWindow}.
using AnalysisOptionSets = std::vector<std::span<const AnalysisOption>>;

std::vector<AnalysisOption> AllOptions(const AnalysisOptionSets& sets);

// The values of options, as a caller gave them.
class AnalysisOptions {
 public:
  // `given` by name, as text: digits, true or false (also 1 or 0), words. `act` begins the message. Fails with kUsage
  // for an unknown name and for a value that its option cannot have; the remedy names the possible ones.
  static Result<AnalysisOptions> Read(const std::string& act, const AnalysisOptionSets& sets,
                                      const std::map<std::string, std::string>& given);

  // Nothing: it was not given and has no default. REQUIRES: the option has that type, or the kind has no such option.
  std::optional<int64_t> integer(std::string_view name) const;
  std::optional<double> real(std::string_view name) const;
  bool boolean(std::string_view name) const { return text(name) == "true"; }
  // Empty: it was not given and has no default.
  const std::string& text(std::string_view name) const;
  // The same with another value of one option. REQUIRES: `value` is one that the option can have.
  AnalysisOptions With(std::string_view name, std::string value) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;  // checked; those with a default are there
};

// A column of a table, or a fact. A boolean's values are the integers 0 and 1, those of kJson texts that are JSON.
struct AnalysisColumn {
  const char* name = "";  // in snake_case, its unit at the end
  AnalysisType type = AnalysisType::kInteger;
  const char* unit = "";     // "ns", "percent"; empty: none
  const char* meaning = "";  // one line
  // True for the run of a row: shown only where rows of several runs stand in one table. (SQL always shows it.)
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
// Nothing when `whole` is 0.
AnalysisValue PercentOf(int64_t part, int64_t whole);

// The traces that are asked: the parts of all runs, and the run of each. Run by run as they come, each in the order of
// its ranks; parts without a rank stand behind those with one.
class AnalysisTraces {
 public:
  // `runs`: the run's id for each part. `take_memory`: asked for the memory of the answer; null: there is no limit.
  // `ceilings`: those that are recorded on this node, as of the moment of the question.
  AnalysisTraces(const std::vector<TracePart>& parts, const std::vector<std::string>& runs,
                 TakeMemory take_memory = nullptr, KnownCeilings ceilings = {});

  // The same with these parts alone.
  AnalysisTraces Of(const std::vector<TracePart>& parts, const std::vector<std::string>& runs) const;

  TraceParts parts() const { return parts_; }
  const std::string& run(size_t part) const { return runs_[part]; }
  const TakeMemory& take_memory() const { return take_memory_; }
  const KnownCeilings& ceilings() const { return ceilings_; }
  // Nothing is known of a run without an entry.
  void Keep(KnownRuns known_runs) { known_runs_ = std::move(known_runs); }
  KnownRun KnownOf(const std::string& run) const {
    const auto known = known_runs_.find(run);
    return known == known_runs_.end() ? KnownRun() : known->second;
  }
  // "rank 3", or "the part of run 01j..." when its rank is not known.
  std::string NameOf(size_t part) const;

 private:
  std::vector<TracePart> parts_;
  std::vector<std::string> runs_;
  TakeMemory take_memory_;
  KnownCeilings ceilings_;
  KnownRuns known_runs_;
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
  // A note for the reader of the answer: why a table is empty, or what was left out.
  void AddNote(std::string note) { notes_.push_back(std::move(note)); }
  void AddTrust(TrustReason reason) { trust_.push_back(std::move(reason)); }

  // In the order in which they were added; empty: none was.
  std::span<const Row> rows(size_t table) const {
    return table < tables_.size() ? std::span<const Row>(tables_[table]) : std::span<const Row>();
  }
  const Row& facts() const { return facts_; }
  const std::vector<std::string>& notes() const { return notes_; }
  // The reasons of the answer itself; those of its runs come on top.
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
  int version = 1;            // of its columns: removing one, or changing its meaning, raises it
  const char* question = "";  // the one that it answers, with its question mark
  AnalysisOptionSets options;
  std::vector<AnalysisColumn> facts;  // often none
  std::vector<AnalysisTable> tables;  // the first is the primary one
  Result<AnalysisAnswer> (*answer)(const AnalysisTraces& traces, const AnalysisOptions& options,
                                   const StopSignal& stop) = nullptr;
};

// Keeps the parts of the rank that option `rank` asks for; without it, all parts. A part without a rank is of none.
// Fails with kUsage when no part is left.
Result<AnalysisTraces> ChooseRank(AnalysisTraces traces, const AnalysisOptions& options);

// Answers a question; the RPC, SQL and the tests call this. Rows beyond option `limit` are left out of each table, with
// a note. Fails with kUsage for options that fit none of the traces, and as reading parts does.
Result<AnalysisAnswer> Analyze(const AnalysisKind& kind, AnalysisTraces traces, const AnalysisOptions& options,
                               const StopSignal& stop);

}  // namespace kprof
