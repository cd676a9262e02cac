// Instructions of a NeuronCore: the time of each opcode and line of source, the slowest ones, and those of a place in
// source. Docs: docs/analyses/instructions.md.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/neuron/device_profile.h"
#include "daemon/analysis/functions/neuron/profile_answer.h"
#include "daemon/analysis/functions/neuron/source_lines.h"

namespace kprof {
namespace {

enum InstructionTable : size_t { kOpcodeRows, kLineRows, kSlowestRows };

constexpr int64_t kUsualSlowest = 20;
constexpr int64_t kMostSlowest = 10'000;
constexpr size_t kMostInstructionLines = 100'000;

constexpr AnalysisOption kInstructionChoice[] = {
    {"source", AnalysisType::kText, "", "",
     "Only instructions from this place: a text of file:line, or a regular expression between slashes; /./ is all "
     "that have one"},
    {"engine", AnalysisType::kText, "", "", "Only this engine: tensor, vector, scalar, gpsimd, sync"},
    {"opcode", AnalysisType::kText, "", "", "Only this opcode, as the profile calls it"},
    {"slowest", AnalysisType::kInteger, "20", "", "So many of the longest instructions", "", 0, false, kMostSlowest},
};

// The sums of some instructions.
struct InstructionTotal {
  int64_t count = 0;
  int64_t sum_ns = 0;
  int64_t longest_ns = 0;
  int64_t wait_ns = 0;
  std::optional<int64_t> flops;
  std::optional<int64_t> hbm_bytes;
  BusyUnion busy;

  void Add(int64_t begin, int64_t end, int64_t wait, int64_t of_flops, int64_t read, int64_t written) {
    ++count;
    sum_ns = SaturatingSum(sum_ns, end - begin);
    longest_ns = std::max(longest_ns, end - begin);
    if (wait > 0) wait_ns = SaturatingSum(wait_ns, wait);
    if (of_flops > 0) flops = SaturatingSum(flops.value_or(0), of_flops);
    for (const int64_t bytes : {read, written}) {
      if (bytes != kNoValue) hbm_bytes = SaturatingSum(hbm_bytes.value_or(0), std::max<int64_t>(bytes, 0));
    }
    busy.Add(begin, end);
  }
};

struct SlowInstruction {
  int64_t duration_ns = 0;
  int64_t start_ns = 0;
  int64_t wait_ns = kNoValue;
  int64_t id = kNoValue;
  int64_t core = 0;
  PartReader* reader = nullptr;
  int64_t engine = kNoValue;  // these are numbers of texts
  int64_t opcode = kNoValue;
  int64_t operands = kNoValue;
  int64_t layer = kNoValue;
  int64_t hlo = kNoValue;
  int64_t kind = kNoValue;
  size_t line = 0;

  // The one that is to go first: shorter, or as long and later.
  bool operator<(const SlowInstruction& other) const {
    return std::tuple(-duration_ns, start_ns, id) < std::tuple(-other.duration_ns, other.start_ns, other.id);
  }
};

class InstructionsMaker {
 public:
  InstructionsMaker(const AnalysisTraces& traces, const DeviceProfile& profile, const AnalysisOptions& options,
                    const ProfileWindow& window, const StopSignal& stop, AnalysisAnswer& answer)
      : traces_(traces),
        profile_(profile),
        options_(options),
        window_(window),
        stop_(stop),
        answer_(answer),
        most_slowest_(static_cast<size_t>(options.integer("slowest").value_or(kUsualSlowest))) {}

  Status Make() {
    if (!options_.text("source").empty()) {
      ASSIGN_OR_RETURN(pattern_, SourcePattern::Read(options_.text("source")));
    }
    engine_ = options_.text("engine").empty() ? "" : EngineNameOf(options_.text("engine"));
    ASSIGN_OR_RETURN(lines_, SourceLines::Read(traces_, profile_, stop_));
    RETURN_IF_ERROR(ReadRows());
    RETURN_IF_ERROR(AddOpcodes());
    RETURN_IF_ERROR(AddLines());
    return AddSlowest();
  }
  int64_t seen() const { return seen_; }
  int64_t taken() const { return taken_; }
  int64_t with_source() const { return with_source_; }
  int64_t work_ns() const { return work_ns_; }

 private:
  Status ReadRows() {
    using enum NeuronInstructionColumn;
    return ForEachProfileRow<NeuronInstructionColumn>(
        traces_, profile_, NeuronInstructionSideTable(),
        {kId, kEngine, kCore, kOpcode, kStart, kDuration, kWait, kOperands, kLayer, kHlo, kFile, kLine, kFrames,
         kKernelInstruction, kKind, kFlops, kHbmRead, kHbmWrite},
        stop_, [&](const ReportRow<NeuronInstructionColumn>& row, ProfileTexts& texts) -> Status {
          ++seen_;
          const int64_t core = row[kCore] == kNoValue ? 0 : row[kCore];
          if (options_.integer("core") && *options_.integer("core") != core) return OkStatus();
          if (row[kStart] == kNoValue) return OkStatus();
          int64_t begin = SafeTime(row[kStart]);
          int64_t end = SafeEndOf(begin, row[kDuration]);
          if (begin == end ? begin < window_.from_ns || begin >= window_.to_ns : !window_.Clip(begin, end)) {
            return OkStatus();
          }
          ASSIGN_OR_RETURN(const size_t line,
                           lines_.Find(texts, row[kFile], row[kLine], row[kFrames], row[kKernelInstruction]));
          if (pattern_ && !FitsPattern(line)) return OkStatus();
          ASSIGN_OR_RETURN(Group* const group, GroupOf(texts, row[kEngine], row[kOpcode], core));
          if (group == nullptr) return OkStatus();
          ++taken_;
          if (line != 0) ++with_source_;
          group->total.Add(begin, end, row[kWait], row[kFlops], row[kHbmRead], row[kHbmWrite]);
          if (group->is_wait) return OkStatus();
          work_ns_ = SaturatingSum(work_ns_, end - begin);
          if (line != 0 && (line < by_line_.size() || line <= kMostInstructionLines)) {
            if (by_line_.size() <= line) by_line_.resize(line + 1);
            by_line_[line].total.Add(begin, end, row[kWait], row[kFlops], row[kHbmRead], row[kHbmWrite]);
            by_line_[line].of_engines[group->engine] += end - begin;
          }
          Keep({end - begin, begin, row[kWait], row[kId], core, const_cast<PartReader*>(texts.reader()), row[kEngine],
                row[kOpcode], row[kOperands], row[kLayer], row[kHlo], row[kKind], line});
          return OkStatus();
        });
  }

  struct Group {
    std::string engine;
    std::string opcode;
    int64_t core = 0;
    bool is_wait = false;
    InstructionTotal total;
  };
  struct LineTotal {
    InstructionTotal total;
    std::map<std::string, int64_t> of_engines;  // ns
  };

  // Null: it is not asked for.
  Result<Group*> GroupOf(ProfileTexts& texts, int64_t engine, int64_t opcode, int64_t core) {
    const auto [known, is_new] = known_.try_emplace({texts.reader(), engine, opcode, core}, nullptr);
    if (!is_new) return known->second;
    ASSIGN_OR_RETURN(const std::string* const engine_text, texts.Find(engine));
    ASSIGN_OR_RETURN(const std::string* const opcode_text, texts.Find(opcode));
    const std::string name = EngineNameOf(*engine_text);
    if ((!engine_.empty() && engine_ != name) ||
        (!options_.text("opcode").empty() && options_.text("opcode") != *opcode_text)) {
      return known->second;
    }
    Group& group = groups_[{core, name, *opcode_text}];
    group.engine = name;
    group.opcode = *opcode_text;
    group.core = core;
    group.is_wait = *opcode_text == kSemaphoreOpcode;
    return known->second = &group;
  }

  bool FitsPattern(size_t line) {
    if (line == 0) return false;
    if (fits_.size() <= line) fits_.resize(line + 1, kNotAsked);
    if (fits_[line] == kNotAsked) {
      const SourceLine& place = lines_.line(line);
      fits_[line] = pattern_->Fits(place.file + ":" + std::to_string(place.line)) ? kFits : kFitsNot;
    }
    return fits_[line] == kFits;
  }

  void Keep(const SlowInstruction& one) {
    if (most_slowest_ == 0) return;
    if (slowest_.size() < most_slowest_) {
      slowest_.push(one);
    } else if (one < slowest_.top()) {
      slowest_.pop();
      slowest_.push(one);
    }
  }

  Status Add(size_t table, std::vector<AnalysisValue> values) {
    return AddProfileRow(profile_, table, std::move(values), answer_);
  }
  static double MeanOf(const InstructionTotal& total) {
    return static_cast<double>(total.sum_ns) / static_cast<double>(std::max<int64_t>(total.count, 1));
  }

  Status AddOpcodes() {
    std::vector<Group*> order;
    for (auto& [key, group] : groups_) order.push_back(&group);
    std::stable_sort(order.begin(), order.end(), [](const Group* one, const Group* other) {
      return std::pair(one->is_wait, -one->total.sum_ns) < std::pair(other->is_wait, -other->total.sum_ns);
    });
    for (Group* const group : order) {
      InstructionTotal& total = group->total;
      RETURN_IF_ERROR(
          Add(kOpcodeRows, {group->engine, group->opcode, total.count, total.sum_ns,
                            group->is_wait ? AnalysisValue() : PercentOf(total.sum_ns, work_ns_), total.busy.LengthNs(),
                            MeanOf(total), total.longest_ns, total.wait_ns, int64_t{group->is_wait},
                            ValueOf(total.flops), ValueOf(total.hbm_bytes), group->core}));
    }
    return OkStatus();
  }

  Status AddLines() {
    std::vector<size_t> order;
    for (size_t i = 1; i < by_line_.size(); ++i) {
      if (by_line_[i].total.count > 0) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t one, size_t other) {
      return by_line_[one].total.sum_ns > by_line_[other].total.sum_ns;
    });
    for (const size_t i : order) {
      LineTotal& of = by_line_[i];
      std::string engines = "{";
      for (const auto& [name, ns] : of.of_engines) {
        engines += (engines.size() == 1 ? "\"" : ",\"") + name + "\":" + std::to_string(ns);
      }
      RETURN_IF_ERROR(Add(kLineRows, {lines_.line(i).file, lines_.line(i).line, of.total.count, of.total.sum_ns,
                                      PercentOf(of.total.sum_ns, work_ns_), of.total.busy.LengthNs(), MeanOf(of.total),
                                      of.total.longest_ns, of.total.wait_ns, engines + "}", ValueOf(of.total.flops),
                                      ValueOf(of.total.hbm_bytes)}));
    }
    return OkStatus();
  }

  Status AddSlowest() {
    std::vector<SlowInstruction> order;
    for (; !slowest_.empty(); slowest_.pop()) order.push_back(slowest_.top());
    std::reverse(order.begin(), order.end());
    for (const SlowInstruction& one : order) {
      ASSIGN_OR_RETURN(const std::string engine, ReadTableText(*one.reader, one.engine));
      ASSIGN_OR_RETURN(const std::string opcode, ReadTableText(*one.reader, one.opcode));
      ASSIGN_OR_RETURN(const std::string operands, ReadTableText(*one.reader, one.operands));
      ASSIGN_OR_RETURN(const std::string layer, ReadTableText(*one.reader, one.layer));
      ASSIGN_OR_RETURN(const std::string hlo, ReadTableText(*one.reader, one.hlo));
      ASSIGN_OR_RETURN(const std::string kind, ReadTableText(*one.reader, one.kind));
      const SourceLine& line = lines_.line(one.line);
      RETURN_IF_ERROR(Add(
          kSlowestRows,
          {EngineNameOf(engine), WordOrNull(opcode), one.duration_ns, one.start_ns,
           one.wait_ns == kNoValue ? AnalysisValue() : AnalysisValue(one.wait_ns), WordOrNull(line.file),
           line.line == 0 ? AnalysisValue() : AnalysisValue(line.line), WordOrNull(operands), WordOrNull(layer),
           WordOrNull(hlo), WordOrNull(kind), one.id == kNoValue ? AnalysisValue() : AnalysisValue(one.id), one.core}));
    }
    return OkStatus();
  }

  enum Fitting : uint8_t { kNotAsked, kFits, kFitsNot };

  const AnalysisTraces& traces_;
  const DeviceProfile& profile_;
  const AnalysisOptions& options_;
  const ProfileWindow& window_;
  const StopSignal& stop_;
  AnalysisAnswer& answer_;
  const size_t most_slowest_;
  std::optional<SourcePattern> pattern_;
  std::string engine_;
  SourceLines lines_;
  std::map<std::tuple<const PartReader*, int64_t, int64_t, int64_t>, Group*> known_;
  std::map<std::tuple<int64_t, std::string, std::string>, Group> groups_;
  std::vector<LineTotal> by_line_;
  std::vector<Fitting> fits_;
  std::priority_queue<SlowInstruction> slowest_;  // the shortest of them on top
  int64_t seen_ = 0;
  int64_t taken_ = 0;
  int64_t with_source_ = 0;
  int64_t work_ns_ = 0;
};

Result<AnalysisAnswer> AnswerInstructions(const AnalysisTraces& traces, const AnalysisOptions& options,
                                          const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const AskedProfiles asked, FindAskedProfiles(traces, options, answer, stop));
  int64_t seen = 0;
  int64_t taken = 0;
  int64_t with_source = 0;
  int64_t work_ns = 0;
  for (const DeviceProfile& profile : asked.profiles) {
    InstructionsMaker maker(traces, profile, options, asked.window, stop, answer);
    RETURN_IF_ERROR(maker.Make());
    seen += maker.seen();
    taken += maker.taken();
    with_source += maker.with_source();
    work_ns = SaturatingSum(work_ns, maker.work_ns());
  }
  if (!asked.profiles.empty() && seen == 0) {
    answer.AddNote("the profile has no instructions: it is a summary alone; view it with --output-format parquet");
  } else if (taken > 0 && with_source == 0) {
    answer.AddNote(
        "no instruction has a place in source: compile with NEURON_FRAMEWORK_DEBUG=1 and NKI_DEBUG_INFO=True");
  } else if (seen > 0 && taken == 0) {
    answer.AddNote("no instruction is what was asked for");
  }
  answer.SetFacts({taken, with_source, work_ns});
  return answer;
}

}  // namespace

AnalysisKind Instructions() {
  using enum AnalysisType;
  return {
      .name = "instructions",
      .version = 1,
      .question = "Which instructions of the NeuronCore took the time, and which lines of source do they come from?",
      .options = {kProfileScope, kInstructionChoice},
      .facts = {{"instructions", kInteger, "", "That were asked for"},
                {"with_source", kInteger, "", "Of these, with a place in source"},
                {"work_ns", kInteger, "ns", "Of these together, without EVENT_SEMAPHORE: the whole of percent"}},
      .tables = {{"opcodes",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank; null where nobody knows it"},
                   {"engine", kText, "", "tensor, vector, scalar, gpsimd, sync"},
                   {"opcode", kText, "", "As the profile calls it"},
                   {"count", kInteger, "", "Instructions"},
                   {"sum_ns", kInteger, "ns", "Of these together, as far as they are in the window"},
                   {"percent", kReal, "percent", "sum_ns of work_ns; null: they only wait"},
                   {"active_ns", kInteger, "ns", "The union of them"},
                   {"mean_ns", kReal, "ns", "Of one"},
                   {"max_ns", kInteger, "ns", "Of the longest one"},
                   {"wait_ns", kInteger, "ns", "For events before them"},
                   {"is_wait", kBoolean, "", "EVENT_SEMAPHORE: no work"},
                   {"flops", kInteger, "", "FLOP; null: the profile does not say"},
                   {"hbm_bytes", kInteger, "bytes", "Read and written; null, the same"},
                   {"core", kInteger, "", "The physical core within the logical one"},
                   kExecutionColumn}},
                 {"lines",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"file", kText, "", "Of the source"},
                   {"line", kInteger, "", "Of the file, from 1"},
                   {"count", kInteger, "", "Instructions that come from it, without EVENT_SEMAPHORE"},
                   {"sum_ns", kInteger, "ns", "Of these together"},
                   {"percent", kReal, "percent", "sum_ns of work_ns"},
                   {"active_ns", kInteger, "ns", "The union of them, over all engines"},
                   {"mean_ns", kReal, "ns", "Of one"},
                   {"max_ns", kInteger, "ns", "Of the longest one"},
                   {"wait_ns", kInteger, "ns", "For events before them"},
                   {"engines", kJson, "", "The ns of each engine"},
                   {"flops", kInteger, "", "FLOP; null: the profile does not say"},
                   {"hbm_bytes", kInteger, "bytes", "Read and written; null, the same"},
                   kExecutionColumn}},
                 {"slowest",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"engine", kText, "", "That ran it"},
                   {"opcode", kText, "", "As the profile calls it"},
                   {"duration_ns", kInteger, "ns", "As far as it is in the window; EVENT_SEMAPHORE is left out"},
                   {"start_ns", kInteger, "ns", "From the start of the execution"},
                   {"wait_ns", kInteger, "ns", "For events before it"},
                   {"file", kText, "", "Of the source; null: not known"},
                   {"line", kInteger, "", "The same"},
                   {"operands", kText, "", "As the profile has them"},
                   {"layer", kText, "", "The layer of the model"},
                   {"hlo", kText, "", "The operation of the graph"},
                   {"kind", kText, "", "REGULAR, TRANSPOSE"},
                   {"id", kInteger, "", "Of the row"},
                   {"core", kInteger, "", "The physical core"},
                   kExecutionColumn}}},
      .answer = &AnswerInstructions};
}

}  // namespace kprof
