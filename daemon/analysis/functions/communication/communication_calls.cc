#include "daemon/analysis/functions/communication/communication_calls.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "daemon/analysis/functions/slice_args.h"
#include "daemon/analysis/operators/correlated_slices.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/slice_columns.h"

namespace kprof {

uint32_t TextNumbers::NumberOf(std::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  const auto added = numbers_.emplace(std::string(text), static_cast<uint32_t>(texts_.size())).first;
  texts_.push_back(&added->first);
  return added->second;
}

namespace {

// The arguments that tell of a collective, by their places in the list below.
struct Tells {
  enum Key : size_t {
    kName,
    kInElements,
    kOutElements,
    kType,
    kGroup,
    kGroupRanks,
    kGroupSize,
    kSequence,
    kDims,
    kTypes,
    kCommunicator,
    kBytes,
    kNodes
  };
};
const std::vector<std::string_view> kCollectiveKeys = {
    "Collective name", "In msg nelems", "Out msg nelems", "dtype",      "Process Group Name", "Process Group Ranks",
    "Group size",      "Seq",           "Input Dims",     "Input type", "communicator",       "msg_size_bytes",
    "nodes",
};

// As NCCL Inspector counts it: what the call was given.
void SetBytes(int64_t bytes, CommunicationCall& call) {
  (call.kind == CollectiveKind::kReduceScatter ? call.out_bytes : call.in_bytes) = bytes;
}

constexpr int64_t kMostElements = int64_t{1} << 48;  // a bound on nonsense

std::optional<int64_t> CountOf(std::optional<double> number) {
  if (!number || *number < 0 || *number > static_cast<double>(kMostElements)) return std::nullopt;
  return static_cast<int64_t>(*number);
}

// The product of the first list of numbers: 12 of "[[3,4],[]]". Nothing where that is empty or no list.
std::optional<int64_t> ElementsOf(std::string_view dims) {
  if (!dims.starts_with("[[")) return std::nullopt;
  dims.remove_prefix(2);
  int64_t elements = 1;
  bool has_one = false;
  while (!dims.empty() && dims.front() != ']') {
    int64_t dim = 0;
    const auto [end, error] = std::from_chars(dims.data(), dims.data() + dims.size(), dim);
    if (error != std::errc() || dim < 0 || dim > kMostElements) return std::nullopt;
    if (dim != 0 && elements > kMostElements / dim) return std::nullopt;
    elements *= dim;
    has_one = true;
    dims.remove_prefix(static_cast<size_t>(end - dims.data()));
    if (dims.starts_with(",")) dims.remove_prefix(1);
  }
  return has_one ? std::optional(elements) : std::nullopt;
}

// The first of a list of texts: float of ["float",""].
std::string_view FirstText(std::string_view list) {
  if (!list.starts_with("[\"")) return "";
  list.remove_prefix(2);
  return list.substr(0, std::min(list.find('"'), list.size()));
}

// A collective as a slice's arguments tell it.
struct Told {
  CommunicationCall call;  // without times
  bool has_sizes = false;
};

class CollectiveArguments {
 public:
  CollectiveArguments(SliceArgs args, TextNumbers& texts) : args_(std::move(args)), texts_(texts) {}

  Status Select(const Segment& segment, const RowSelection& selection) {
    return args_.Read(segment, selection, values_);
  }

  Result<Told> Of(size_t row) {
    Told told;
    ASSIGN_OR_RETURN(const std::string name, args_.TextOf(values_[Tells::kName][row]));
    if (!name.empty()) told.call.kind = KindOfCollective(name);
    ASSIGN_OR_RETURN(const std::string group, TextOrDigits(values_[Tells::kGroup][row]));
    told.call.group = texts_.NumberOf(group);
    ASSIGN_OR_RETURN(const std::string ranks, args_.TextOf(values_[Tells::kGroupRanks][row]));
    told.call.group_ranks = texts_.NumberOf(ranks);
    ASSIGN_OR_RETURN(told.call.group_size, NumberAt(Tells::kGroupSize, row));
    if (told.call.group_size == 0) told.call.group_size.reset();
    ASSIGN_OR_RETURN(told.call.sequence, NumberAt(Tells::kSequence, row));
    ASSIGN_OR_RETURN(std::string type, args_.TextOf(values_[Tells::kType][row]));
    ASSIGN_OR_RETURN(std::optional<int64_t> in, NumberAt(Tells::kInElements, row));
    ASSIGN_OR_RETURN(const std::optional<int64_t> out, NumberAt(Tells::kOutElements, row));
    if (!in && !out) {
      ASSIGN_OR_RETURN(const std::string dims, args_.TextOf(values_[Tells::kDims][row]));
      ASSIGN_OR_RETURN(const std::string types, args_.TextOf(values_[Tells::kTypes][row]));
      in = ElementsOf(dims);
      if (in) type = std::string(FirstText(types));
    }
    told.call.type = texts_.NumberOf(type);
    const std::optional<int64_t> bytes = BytesOfElement(type);
    if (bytes && in) told.call.in_bytes = *in * *bytes;
    if (bytes && out) told.call.out_bytes = *out * *bytes;
    RETURN_IF_ERROR(SetOfLog(row, told.call));
    told.has_sizes = told.call.in_bytes || told.call.out_bytes;
    return told;
  }

 private:
  // In a log of NCCL Inspector the communicator has a name of its own, whatever the group is called.
  Status SetOfLog(size_t row, CommunicationCall& call) {
    ASSIGN_OR_RETURN(const std::string communicator, args_.TextOf(values_[Tells::kCommunicator][row]));
    if (communicator.empty()) return OkStatus();
    call.group_ranks = texts_.NumberOf(communicator);
    if (call.group == 0) call.group = call.group_ranks;
    ASSIGN_OR_RETURN(const std::optional<int64_t> nodes, NumberAt(Tells::kNodes, row));
    if (nodes && *nodes > 0) call.between_nodes = *nodes > 1;
    ASSIGN_OR_RETURN(const std::optional<int64_t> bytes, NumberAt(Tells::kBytes, row));
    if (bytes) SetBytes(*bytes, call);
    return OkStatus();
  }

  Result<std::optional<int64_t>> NumberAt(Tells::Key key, size_t row) {
    ASSIGN_OR_RETURN(const std::optional<double> number, args_.NumberOf(values_[key][row]));
    return CountOf(number);
  }

  // A group's name is a text; older traces have a number.
  Result<std::string> TextOrDigits(const SliceArg& arg) {
    if (arg.type == ArgType::kInteger) return std::to_string(arg.value);
    return args_.TextOf(arg);
  }

  SliceArgs args_;
  TextNumbers& texts_;
  std::vector<std::vector<SliceArg>> values_;
};

// A slice of the host that tells of the collectives launched in it.
struct CollectiveSlice {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  Told told;
};

constexpr std::string_view kParameterSlices = "record_param_comms";
constexpr std::string_view kNcclPrefix = "nccl:";

// By track, in the order of their begins.
Result<std::map<uint32_t, std::vector<CollectiveSlice>>> FindCollectiveSlices(const TracePart& part,
                                                                              const StopSignal& stop,
                                                                              TextNumbers& texts,
                                                                              MemoryCharge& charge) {
  PartReader& reader = *part.reader;
  std::map<uint32_t, std::vector<CollectiveSlice>> found;
  EventFilter filter;
  filter.accepts_name = [](std::string_view name) { return name == kParameterSlices || name.starts_with(kNcclPrefix); };
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  if (bound.never()) return found;
  ASSIGN_OR_RETURN(SliceArgs args, SliceArgs::Find(reader, kCollectiveKeys));
  CollectiveArguments arguments(std::move(args), texts);
  SliceColumns slices(reader);
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(slices.Read(segment, selection));
    RETURN_IF_ERROR(arguments.Select(segment, selection));
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(slices.size() * sizeof(CollectiveSlice))));
    for (size_t i = 0; i < slices.size(); ++i) {
      if (reader.tracks()[slices.track(i)].kind == "gpu_stream") continue;
      CollectiveSlice slice{.begin_ns = slices.begin_ns(i), .end_ns = slices.end_ns(i), .told = {}};
      ASSIGN_OR_RETURN(slice.told, arguments.Of(i));
      ASSIGN_OR_RETURN(const std::string name, reader.ReadString(slices.name(i)));
      if (slice.told.call.kind == CollectiveKind::kOther && name != kParameterSlices) {
        slice.told.call.kind = KindOfCollective(std::string_view(name).substr(kNcclPrefix.size()));
      }
      found[slices.track(i)].push_back(slice);
    }
    return OkStatus();
  }));
  for (auto& [track, of_track] : found) {
    std::stable_sort(of_track.begin(), of_track.end(), [](const CollectiveSlice& a, const CollectiveSlice& b) {
      return std::pair(a.begin_ns, -a.end_ns) < std::pair(b.begin_ns, -b.end_ns);
    });
  }
  return found;
}

// Takes over what `call` does not have.
void Complete(const Told& told, CommunicationCall& call, bool& has_kind) {
  if (!has_kind && told.call.kind != CollectiveKind::kOther) {
    call.kind = told.call.kind;
    has_kind = true;
  }
  if (call.group == 0) call.group = told.call.group;
  if (call.group_ranks == 0) call.group_ranks = told.call.group_ranks;
  if (!call.group_size) call.group_size = told.call.group_size;
  if (!call.sequence) call.sequence = told.call.sequence;
  if (!call.in_bytes && !call.out_bytes && told.has_sizes) {
    call.in_bytes = told.call.in_bytes;
    call.out_bytes = told.call.out_bytes;
    call.type = told.call.type;
  }
}

// The slices around a launch lie within each other, and few: record_param_comms around nccl:all_reduce.
constexpr size_t kMostAround = 4;

Status CompleteFromHost(const AnalysisTraces& traces, size_t part, const EventFilter& work, const StopSignal& stop,
                        const std::unordered_map<int64_t, size_t>& by_row, TextNumbers& texts, MemoryCharge& charge,
                        std::vector<CommunicationCall>& calls, std::vector<bool>& has_kind) {
  const TracePart& of = traces.parts()[part];
  ASSIGN_OR_RETURN(const auto host, FindCollectiveSlices(of, stop, texts, charge));
  if (host.empty()) return OkStatus();
  std::vector<uint8_t> host_tracks(of.reader->tracks().size(), 0);
  for (const auto& [track, slices] : host) host_tracks[track] = 1;
  TracePart from = of;
  from.tracks = &host_tracks;
  CorrelationRequest request{.from = {}, .to = work, .take_memory = traces.take_memory()};
  ASSIGN_OR_RETURN(const auto pairs, CorrelatedSlices::Make(from, of, request));
  constexpr size_t kWindowOfPairs = 4096;
  std::vector<CorrelatedPair> window;
  do {
    RETURN_IF_ERROR(pairs->Next(kWindowOfPairs, stop, window));
    for (const CorrelatedPair& pair : window) {
      const auto call = by_row.find(pair.to.row);
      const auto slices = host.find(pair.from.track);
      if (call == by_row.end() || slices == host.end()) continue;
      const int64_t launch_ns = SafeTime(pair.from.time_ns);
      auto next = std::upper_bound(slices->second.begin(), slices->second.end(), launch_ns,
                                   [](int64_t time, const CollectiveSlice& slice) { return time < slice.begin_ns; });
      bool is_told = has_kind[call->second];
      for (size_t looked = 0; next != slices->second.begin() && looked < kMostAround; ++looked) {
        --next;
        if (next->end_ns >= launch_ns) Complete(next->told, calls[call->second], is_told);
      }
      has_kind[call->second] = is_told;
    }
  } while (!window.empty());
  return OkStatus();
}

constexpr const char* kBeginTimes = "begin_times";  // a fact of such a log

// The slices of a log.
EventFilter LoggedCollectives(const DeviceScope& scope, size_t part) {
  EventFilter filter;
  filter.categories = {"nccl_collective"};
  filter.from_ns = scope.from_ns(part);
  filter.to_ns = scope.to_ns(part);
  return filter;
}

}  // namespace

bool IsCollectiveLog(const PartReader& reader) {
  return reader.TextFact(kBeginTimes).has_value();
}

Result<std::vector<CommunicationCall>> FindCommunicationCalls(const AnalysisTraces& traces, size_t part,
                                                              const DeviceScope& scope, const StopSignal& stop,
                                                              TextNumbers& texts, MemoryCharge& charge) {
  const TracePart& of = traces.parts()[part];
  PartReader& reader = *of.reader;
  std::vector<CommunicationCall> calls;
  std::vector<bool> has_kind;  // from arguments: the kernel's name says SendRecv for an all-to-all
  const bool is_log = IsCollectiveLog(reader);
  if (is_log && scope.device()) return calls;
  const bool has_times = !is_log || reader.TextFact(kBeginTimes) == "known";
  EventFilter work = is_log ? LoggedCollectives(scope, part) : scope.WorkOf(part, KernelType::kCommunication);
  const int64_t from = std::exchange(work.from_ns, std::nullopt).value_or(kFirstTimeNs);
  const int64_t to = std::exchange(work.to_ns, std::nullopt).value_or(kLastTimeNs);
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(work, of, EventKind::kSlice));
  if (bound.never()) return calls;
  ASSIGN_OR_RETURN(SliceArgs args, SliceArgs::Find(reader, kCollectiveKeys));
  CollectiveArguments arguments(std::move(args), texts);
  std::unordered_map<int64_t, size_t> untold;  // by their rows
  std::unordered_map<int64_t, std::pair<uint32_t, CollectiveKind>> of_names;
  SliceColumns slices(reader);
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(slices.Read(segment, selection));
    RETURN_IF_ERROR(arguments.Select(segment, selection));
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(slices.size() * sizeof(CommunicationCall))));
    for (size_t i = 0; i < slices.size(); ++i) {
      const auto [name, is_new] = of_names.try_emplace(slices.name(i));
      if (is_new) {
        ASSIGN_OR_RETURN(const std::string text, reader.ReadString(slices.name(i)));
        name->second = {texts.NumberOf(text), KindOfCollective(text)};
      }
      ASSIGN_OR_RETURN(const Told told, arguments.Of(i));
      CommunicationCall call = told.call;
      call.begin_ns = slices.begin_ns(i);
      call.end_ns = slices.end_ns(i);
      call.is_asked = call.begin_ns < to && std::max(call.end_ns, call.begin_ns + 1) > from;
      call.track = slices.track(i);
      call.kernel = name->second.first;
      call.has_times = has_times;
      has_kind.push_back(call.kind != CollectiveKind::kOther);
      if (!has_kind.back()) call.kind = name->second.second;
      if (!told.has_sizes) untold.emplace(segment.first_row + selection.RowAt(i), calls.size());
      calls.push_back(call);
    }
    return OkStatus();
  }));
  if (!untold.empty() && !is_log) {
    RETURN_IF_ERROR(CompleteFromHost(traces, part, work, stop, untold, texts, charge, calls, has_kind));
  }
  std::stable_sort(calls.begin(), calls.end(), [](const CommunicationCall& a, const CommunicationCall& b) {
    return std::tie(a.begin_ns, a.track) < std::tie(b.begin_ns, b.track);
  });
  return calls;
}

}  // namespace kprof
