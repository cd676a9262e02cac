// correlated('category=cuda_runtime', 'category=kernel'): launches and what they started, pair by pair
// (correlated_slices.h). Rows come in windows, each of one part: however many there are, they take the
// memory of one.
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/correlated_slices.h"
#include "daemon/analysis/operators/trace_part.h"
#include "daemon/analysis/sql/call_arguments.h"
#include "daemon/analysis/sql/keyed_rows.h"
#include "daemon/analysis/sql/slice_choice.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {
namespace {

enum Column {
  kCorrelation,
  kFromSlice,
  kFromTrack,
  kFromTime,
  kFromDuration,
  kFromName,
  kToSlice,
  kToTrack,
  kToTime,
  kToDuration,
  kToName,
  kDelay
};
enum Argument { kOneWords, kOtherWords };

constexpr SliceField kShown[] = {SliceField::kRun, SliceField::kPart, SliceField::kRank};
constexpr FunctionColumn kColumns[] = {
    {.name = "correlation", .type = "INTEGER", .which = kCorrelation},
    {.name = "from_slice", .type = "INTEGER", .which = kFromSlice},
    {.name = "from_track_id", .type = "INTEGER", .which = kFromTrack},
    {.name = "from_ts_ns", .type = "INTEGER", .which = kFromTime},
    {.name = "from_dur_ns", .type = "INTEGER", .which = kFromDuration},
    {.name = "from_name", .type = "TEXT", .which = kFromName},
    {.name = "to_slice", .type = "INTEGER", .which = kToSlice},
    {.name = "to_track_id", .type = "INTEGER", .which = kToTrack},
    {.name = "to_ts_ns", .type = "INTEGER", .which = kToTime},
    {.name = "to_dur_ns", .type = "INTEGER", .which = kToDuration},
    {.name = "to_name", .type = "TEXT", .which = kToName},
    {.name = "delay_ns", .type = "INTEGER", .which = kDelay},
};
constexpr const char* kArguments[] = {"one", "other"};
constexpr const char* kOneByDefault = "track_kind=cpu_thread";
constexpr const char* kOtherByDefault = "track_kind=gpu_stream";
constexpr size_t kWindow = 8'192;
constexpr double kPairsOfSlice = 0.1;

class Pairs final : public FunctionAnswer {
 public:
  Pairs(TraceSet& set, CorrelationRequest request, StopSignal stop)
      : set_(set), request_(std::move(request)), stop_(std::move(stop)), charge_(request_.take_memory) {}

  // What it is handed may be gone when the part's turn comes.
  void Add(OpenPart& part, const TracePart& chosen) {
    parts_.push_back({&part, chosen.tracks != nullptr, {}});
    if (chosen.tracks != nullptr) parts_.back().tracks = *chosen.tracks;
  }
  kprof::Result<bool> NextWindow() override {
    RETURN_IF_ERROR(charge_.Grow(charge_.used_bytes() > 0 ? 0 : 2 * kWindow * sizeof(CorrelatedPair)));
    for (; at_ < parts_.size(); ++at_, joined_.reset()) {
      if (joined_ == nullptr) RETURN_IF_ERROR(BeginPart(parts_[at_]));
      RETURN_IF_ERROR(joined_->Next(kWindow, stop_, next_));
      if (next_.empty()) continue;
      std::swap(pairs_, next_);
      part_ = parts_[at_].part;
      return true;
    }
    return false;
  }

  size_t size() const override { return pairs_.size(); }
  int64_t size_bytes() const override { return 0; }
  bool FieldResult(size_t row, SliceField field, sqlite3_context* out) const override {
    if (field != SliceField::kName) return ResultOfTrack(*part_, pairs_[row].to.track, field, out);
    ResultName(pairs_[row].to, out);
    return true;
  }
  void Result(size_t row, int which, sqlite3_context* out) const override {
    const CorrelatedPair& pair = pairs_[row];
    if (which == kCorrelation) return ResultInteger(out, SqlCorrelation(part_->number(), pair.correlation));
    if (which == kDelay) return ResultInteger(out, SafeTime(pair.to.time_ns) - SafeTime(pair.from.time_ns));
    const bool is_from = which < kToSlice;
    const JoinedSlice& slice = is_from ? pair.from : pair.to;
    switch (is_from ? which : which - kToSlice + kFromSlice) {
      case kFromSlice:
        return ResultInteger(out, part_->IdOf(slice.row));
      case kFromTrack:
        return ResultInteger(out, part_->IdOf(slice.track));
      case kFromTime:
        return ResultInteger(out, slice.time_ns);
      case kFromDuration:
        return ResultInteger(out, slice.duration_ns);
      default:
        return ResultName(slice, out);
    }
  }

 private:
  struct Part {
    OpenPart* part;
    bool has_tracks;
    std::vector<uint8_t> tracks;
  };

  Status BeginPart(const Part& part) {
    TracePart from{&part.part->reader(), part.part->rank(), nullptr};
    TracePart to = from;
    if (part.has_tracks) to.tracks = &part.tracks;
    ASSIGN_OR_RETURN(joined_, CorrelatedSlices::Make(from, to, request_));
    return OkStatus();
  }
  void ResultName(const JoinedSlice& slice, sqlite3_context* out) const {
    const auto name = part_->ReadText(slice.name);
    if (name.ok()) return ResultText(out, *name);
    set_.Keep(name.status());
    sqlite3_result_error(out, name.status().ToString().c_str(), -1);
  }

  TraceSet& set_;
  const CorrelationRequest request_;
  const StopSignal stop_;
  MemoryCharge charge_;
  std::vector<Part> parts_;
  size_t at_ = 0;
  std::unique_ptr<CorrelatedSlices> joined_;  // of that part
  OpenPart* part_ = nullptr;                  // of the window
  std::vector<CorrelatedPair> pairs_;
  std::vector<CorrelatedPair> next_;
};

Result<std::unique_ptr<FunctionAnswer>> Call(const FunctionCall& call) {
  ASSIGN_OR_RETURN(const std::string* one, TextArgument(call, kOneWords, kArguments[kOneWords]));
  ASSIGN_OR_RETURN(const std::string* other, TextArgument(call, kOtherWords, kArguments[kOtherWords]));
  CorrelationRequest request;
  request.take_memory = call.set.terms().take_memory;
  // WHERE is about what was started; of the other side it chooses the parts alone.
  ASSIGN_OR_RETURN(request.from, WithWords(call.function, {}, one != nullptr ? *one : kOneByDefault, call.stop));
  ASSIGN_OR_RETURN(request.to, WithWords(call.function, call.slices.filter(),
                                         other != nullptr ? *other : kOtherByDefault, call.stop));
  auto pairs = std::make_unique<Pairs>(call.set, std::move(request), call.stop);
  const ChosenParts& chosen = call.slices.all();
  for (size_t i = 0; i < chosen.parts.size(); ++i) pairs->Add(*chosen.open[i], chosen.parts[i]);
  RETURN_IF_ERROR(pairs->NextWindow().status());
  return std::unique_ptr<FunctionAnswer>(std::move(pairs));
}

}  // namespace

TraceFunction CorrelatedOf() {
  return {"correlated",
          std::size(kArguments),
          ColumnsOf(kShown, kColumns, kArguments),
          Call,
          [](FunctionArguments, SliceField field) { return field <= SliceField::kName; },
          kPairsOfSlice};
}

}  // namespace kprof
