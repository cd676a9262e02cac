#include "daemon/ingest/nccl/inspector_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {
namespace {

constexpr size_t kInspectorReadBytes = 1 << 20;  // at once
constexpr int kMostInspectorNesting = 16;
constexpr size_t kMostObjectBytes = 4 << 20;  // a channel takes 150 bytes
constexpr size_t kMostCommunicators = 1 << 16;
constexpr size_t kMostInspectorTextBytes = 256;
constexpr int64_t kMostInspectorRank = 1 << 24;
constexpr int64_t kMostMicros = 4'102'444'800'000'000;  // 2100
constexpr const char* kReadAsInspector = "read it as a log of NCCL Inspector";
constexpr std::string_view kHeaderKey = "header";

std::optional<int64_t> IntegerOf(std::string_view value) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? std::optional(number) : std::nullopt;
}

std::optional<double> RealOf(std::string_view value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_number = error == std::errc() && end == value.data() + value.size() && std::isfinite(number);
  return is_number ? std::optional(number) : std::nullopt;
}

std::string QuotedText(std::string_view value) {
  if (value.size() < 2 || value.front() != '"') return {};
  return UnescapeJson(value.substr(1, value.size() - 2)).substr(0, kMostInspectorTextBytes);
}

// Calls `see` with the members of an object that stands in the text.
template <typename See>
bool ForMembersOf(std::string_view object, const See& see) {
  return ForEachMember(
      object.data(), object.data() + object.size(),
      [&](std::string_view key, std::string_view value) {
        see(key, value);
        return true;
      },
      kMostInspectorNesting);
}

// A line as it is read.
struct Operation {
  std::string id;  // of the communicator
  std::string comm_name;
  std::optional<int64_t> rank;
  std::optional<int64_t> ranks;
  std::optional<int64_t> nodes;
  std::optional<int64_t> pid;
  std::optional<int64_t> dumped_us;
  std::string version;
  bool is_p2p = false;
  std::string name;
  std::optional<int64_t> sequence;
  std::optional<int64_t> peer;
  std::optional<int64_t> bytes;
  std::optional<int64_t> took_us;
  std::string timing_source;
  std::optional<double> algorithm_gb_per_s;
  std::optional<double> bus_gb_per_s;
  std::optional<int64_t> first_kernel_us;
  std::optional<int64_t> called_us;
  std::optional<int64_t> channels;
};

// A time in Unix us that can be.
std::optional<int64_t> MicrosOf(std::string_view value) {
  const std::optional<int64_t> us = IntegerOf(value);
  return us && *us > 0 && *us < kMostMicros ? us : std::nullopt;
}

void ReadEventTimes(std::string_view object, Operation& operation) {
  ForMembersOf(object, [&](std::string_view key, std::string_view value) {
    if (key == "coll_start_ts" || key == "p2p_start_ts") operation.called_us = MicrosOf(value);
    if (key != "kernel_events" || !value.starts_with('[')) return;
    const char* const end = value.data() + value.size();
    const char* at = SkipSpace(value.data() + 1);
    int64_t channels = 0;
    while (at < end && *at == '{') {
      const char* const event_end = FindValueEnd(at, end);
      if (event_end == nullptr) break;
      ++channels;
      ForMembersOf({at, static_cast<size_t>(event_end - at)}, [&](std::string_view of, std::string_view time) {
        if (of != "kernel_start_ts") return;
        const std::optional<int64_t> us = MicrosOf(time);
        if (us && (!operation.first_kernel_us || *us < *operation.first_kernel_us)) operation.first_kernel_us = us;
      });
      at = SkipSpace(event_end);
      if (at >= end || *at != ',') break;
      at = SkipSpace(at + 1);
    }
    operation.channels = channels;
  });
}

// Keys of coll_perf begin with coll_, those of p2p_perf with p2p_.
void ReadPerformance(std::string_view object, std::string_view prefix, Operation& operation) {
  operation.is_p2p = prefix == "p2p";
  ForMembersOf(object, [&](std::string_view key, std::string_view value) {
    if (key == "event_trace_ts") return ReadEventTimes(value, operation);
    if (!key.starts_with(prefix)) return;
    key.remove_prefix(prefix.size());
    if (key.empty()) operation.name = QuotedText(value);
    if (key == "_sn") operation.sequence = IntegerOf(value);
    if (key == "_peer") operation.peer = IntegerOf(value);
    if (key == "_msg_size_bytes") operation.bytes = IntegerOf(value);
    if (key == "_exec_time_us") operation.took_us = IntegerOf(value);
    if (key == "_timing_source") operation.timing_source = QuotedText(value);
    if (key == "_algobw_gbs") operation.algorithm_gb_per_s = RealOf(value);
    if (key == "_busbw_gbs") operation.bus_gb_per_s = RealOf(value);
  });
}

// Nothing: it is no operation.
std::optional<Operation> ReadOperation(std::string_view object) {
  Operation operation;
  const bool is_whole = ForMembersOf(object, [&](std::string_view key, std::string_view value) {
    if (key == kHeaderKey) {
      ForMembersOf(value, [&](std::string_view of, std::string_view told) {
        if (of == "id") operation.id = QuotedText(told);
        if (of == "comm_name") operation.comm_name = QuotedText(told);
        if (of == "rank") operation.rank = IntegerOf(told);
        if (of == "n_ranks") operation.ranks = IntegerOf(told);
        if (of == "nnodes") operation.nodes = IntegerOf(told);
      });
    } else if (key == "metadata") {
      ForMembersOf(value, [&](std::string_view of, std::string_view told) {
        if (of == "inspector_output_format_version") operation.version = QuotedText(told);
        if (of == "dump_timestamp_us") operation.dumped_us = MicrosOf(told);
        if (of == "pid") operation.pid = IntegerOf(told);
      });
    } else if (key == "coll_perf") {
      ReadPerformance(value, "coll", operation);
    } else if (key == "p2p_perf") {
      ReadPerformance(value, "p2p", operation);
    }
  });
  const bool is_timed = operation.took_us && *operation.took_us >= 0 && *operation.took_us < kMostMicros;
  if (!is_whole || operation.id.empty() || operation.name.empty() || !is_timed) return std::nullopt;
  if (operation.comm_name == "unknown") operation.comm_name.clear();
  return operation;
}

// The objects of a text, one behind the other, whatever stands between them.
class ObjectStream {
 public:
  ObjectStream(TextSource& text, size_t most_bytes) : text_(text), most_bytes_(most_bytes) {}

  // Nothing: the text ends. Valid until the next call; zeros stand behind the last one.
  Result<std::optional<std::string_view>> Next() {
    while (true) {
      const size_t begin = buffer_.find('{', at_);
      if (begin == buffer_.npos || begin >= size_) {
        at_ = size_;
        if (at_end_) return std::optional<std::string_view>();
        RETURN_IF_ERROR(Fill());
        continue;
      }
      at_ = begin;
      const char* const from = buffer_.data() + begin;
      const char* const end = FindNestEnd(from, buffer_.data() + size_, kMostInspectorNesting);
      if (end != nullptr) {
        const std::string_view object(from, static_cast<size_t>(end - from));
        // A line that is torn off swallows the next one.
        const size_t next = object.find("\n{\"header\"");
        if (next != object.npos) {
          ++broken_;
          at_ = begin + next + 1;
          continue;
        }
        at_ = static_cast<size_t>(end - buffer_.data());
        return std::optional(object);
      }
      if (!at_end_ && size_ - begin < most_bytes_) {
        RETURN_IF_ERROR(Fill());
        continue;
      }
      ++broken_;
      const size_t next = buffer_.find("\n{", begin);
      at_ = next == buffer_.npos || next >= size_ ? size_ : next + 1;
    }
  }

  // Places where an object begins and does not end, or is larger than any.
  int64_t broken() const { return broken_; }
  int64_t offset_bytes() const { return begin_ + static_cast<int64_t>(at_); }

 private:
  Status Fill() {
    buffer_.erase(0, at_);
    begin_ += static_cast<int64_t>(at_);
    size_ -= at_;
    at_ = 0;
    buffer_.resize(size_ + kInspectorReadBytes + kScanSlackBytes);
    const std::span<char> room(buffer_.data() + size_, kInspectorReadBytes);
    ASSIGN_OR_RETURN(const size_t got, text_.ReadAt(begin_ + static_cast<int64_t>(size_), room));
    size_ += got;
    at_end_ = got < room.size();
    text_.Release(begin_ + static_cast<int64_t>(size_));
    buffer_.resize(size_);
    buffer_.resize(size_ + kScanSlackBytes, '\0');
    return OkStatus();
  }

  TextSource& text_;
  const size_t most_bytes_;
  std::string buffer_;  // with zeros behind it
  size_t size_ = 0;
  size_t at_ = 0;
  int64_t begin_ = 0;  // of the buffer, in the text
  bool at_end_ = false;
  int64_t broken_ = 0;
};

class InspectorReading {
 public:
  InspectorReading(TextSource& text, BatchSink& sink, size_t most_bytes)
      : text_(text), batch_(sink), objects_(text, most_bytes) {}

  Status Read() {
    constexpr int64_t kObjectsPerLook = 4096;
    for (int64_t objects = 0;; ++objects) {
      ASSIGN_OR_RETURN(const std::optional<std::string_view> object, objects_.Next());
      if (!object) break;
      const std::optional<Operation> operation = ReadOperation(*object);
      if (operation) {
        Add(*operation);
      } else {
        ++odd_;
      }
      RETURN_IF_ERROR(batch_.GiveFull());
      if (objects % kObjectsPerLook == kObjectsPerLook - 1) RETURN_IF_ERROR(TellProgress());
    }
    return Finish();
  }

 private:
  struct Communicator {
    uint32_t track = 0;
    uint32_t id = 0;
    uint32_t name = 0;
    std::optional<int64_t> rank;
    int64_t ranks = 0;
    int64_t free_ns = 0;  // where the next slice begins, without times
    int64_t first_sequence = 0;
    int64_t last_sequence = 0;
    int64_t collectives = 0;
  };

  Status TellProgress() {
    return batch_.sink().Progress(text_.SourceBytesAt(objects_.offset_bytes()), batch_.events());
  }

  Communicator* CommunicatorOf(const Operation& operation) {
    const std::pair<std::string, int64_t> key(operation.id, operation.rank.value_or(-1));
    const auto found = communicators_.find(key);
    if (found != communicators_.end()) return &found->second;
    if (communicators_.size() >= kMostCommunicators) return nullptr;
    Communicator& of = communicators_[key];
    of.id = batch_.Text(operation.id);
    of.name = operation.comm_name.empty() ? 0 : batch_.Text(operation.comm_name);
    of.rank = operation.rank;
    of.ranks = operation.ranks.value_or(0);
    TrackRow row{.kind = "other"};
    row.name = "NCCL " + (operation.comm_name.empty() ? operation.id : operation.comm_name + " " + operation.id);
    if (operation.rank) row.name += " rank " + std::to_string(*operation.rank);
    if (operation.pid) row.pid = std::to_string(*operation.pid);
    const TrackKey of_track{TrackKey::Family::kAsync, batch_.Text(row.pid.value_or("")), 0, batch_.Text(row.name), 0};
    of.track = batch_.AddTrack(of_track, std::move(row));
    return &of;
  }

  // The first operation decides whether the log has times: some kinds of operations lack them.
  void Add(const Operation& operation) {
    const std::optional<int64_t> began_us = operation.first_kernel_us ? operation.first_kernel_us : operation.called_us;
    if (!has_times_) has_times_ = began_us.has_value();
    if (*has_times_ && !began_us) {
      ++untimed_;
      return;
    }
    Communicator* const of = CommunicatorOf(operation);
    if (of == nullptr) {
      ++too_many_;
      return;
    }
    if (version_.empty()) version_ = operation.version;
    const int64_t took_ns = *operation.took_us * 1000;
    int64_t begin_ns = of->free_ns;
    if (*has_times_) begin_ns = *began_us * 1000;
    constexpr int64_t kMostInspectorNs = kMostMicros * 1000;
    of->free_ns = std::min(of->free_ns + took_ns, kMostInspectorNs);
    if (!operation.is_p2p && operation.sequence) {
      of->first_sequence =
          of->collectives == 0 ? *operation.sequence : std::min(of->first_sequence, *operation.sequence);
      of->last_sequence = of->collectives == 0 ? *operation.sequence : std::max(of->last_sequence, *operation.sequence);
      ++of->collectives;
    }
    args_.clear();
    PutText("communicator", of->id);
    if (!operation.is_p2p) PutText("Collective name", batch_.Text(operation.name));
    if (of->name != 0) PutText("Process Group Name", of->name);
    Put("communicator_rank", operation.rank);
    Put("Group size", operation.ranks);
    Put("nodes", operation.nodes);
    Put(operation.is_p2p ? "p2p_sn" : "Seq", operation.sequence);
    Put("peer", operation.peer);
    Put("msg_size_bytes", operation.bytes);
    if (!operation.timing_source.empty()) PutText("timing_source", batch_.Text(operation.timing_source));
    PutReal("algbw_gb_per_s", operation.algorithm_gb_per_s);
    PutReal("busbw_gb_per_s", operation.bus_gb_per_s);
    Put("channels", operation.channels);
    Put("called_unix_us", operation.called_us);
    Put("dumped_unix_us", operation.dumped_us);
    const BatchBuilder::Event event{begin_ns, of->track, batch_.Text("nccl:" + operation.name),
                                    batch_.Text(operation.is_p2p ? "nccl_p2p" : "nccl_collective"), args_};
    batch_.AddSlice(event, took_ns, kNoValue);
  }

  void Put(std::string_view key, std::optional<int64_t> value) {
    if (value && *value != kNoValue) args_.push_back({batch_.Text(key), ArgType::kInteger, *value});
  }
  void PutText(std::string_view key, uint32_t text) {
    args_.push_back({batch_.Text(key), ArgType::kString, int64_t{text}});
  }
  void PutReal(std::string_view key, std::optional<double> value) {
    if (!value) return;
    const std::string text = ShortestNumber(*value);
    const std::string padded = text + std::string(sizeof(uint64_t), '\0');
    const std::optional<JsonNumber> number = ParseJsonNumber(std::string_view(padded).substr(0, text.size()));
    const std::optional<int64_t> decimal =
        number ? PackDecimal({number->digits, number->places}) : std::optional<int64_t>();
    if (decimal) return args_.push_back({batch_.Text(key), ArgType::kDecimal, *decimal});
    args_.push_back({batch_.Text(key), ArgType::kNumber, int64_t{batch_.Text(text)}});
  }

  Status Finish() {
    if (const std::optional<Status> cut = text_.WhyCut()) {
      if (batch_.events() == 0) return cut->In(kReadAsInspector);
      batch_.sink().Warn("it cannot be read to its end: " + cut->why() + "; what is whole before was kept");
    }
    if (batch_.events() == 0) {
      return Fail(ErrorCode::kBadInput, kReadAsInspector, "it has no operation that can be read",
                  "have the job write it again: NCCL_INSPECTOR_ENABLE=1, and let it end by itself");
    }
    RETURN_IF_ERROR(batch_.Give());
    RETURN_IF_ERROR(SetFacts());
    Warn();
    return TellProgress();
  }

  // The rank is that of the largest communicator: of the whole job, as far as anything tells.
  Status SetFacts() {
    BatchSink& sink = batch_.sink();
    const Communicator* world = nullptr;
    const std::string* world_id = nullptr;
    for (const auto& [key, of] : communicators_) {
      if (world != nullptr && of.ranks <= world->ranks) continue;
      world = &of;
      world_id = &key.first;
    }
    RETURN_IF_ERROR(sink.SetFact("begin_times", *has_times_ ? "known" : "unknown"));
    if (*has_times_) {
      RETURN_IF_ERROR(sink.SetFact("base_unix_ns", 0));
      RETURN_IF_ERROR(sink.SetFact("clock", "unix"));
    } else {
      RETURN_IF_ERROR(sink.SetFact("clock", "unknown"));
    }
    if (!version_.empty()) RETURN_IF_ERROR(sink.SetFact("source.version", version_));
    if (world == nullptr) return OkStatus();
    std::string id;
    AppendJsonString(id, *world_id);
    sink.SeeJob("job_id", id);
    const bool is_rank = world->rank && *world->rank >= 0 && *world->rank <= kMostInspectorRank;
    if (is_rank) RETURN_IF_ERROR(sink.SetFact("rank", *world->rank));
    const bool is_size = world->ranks >= 1 && world->ranks <= kMostInspectorRank;
    return is_size ? sink.SetFact("world_size", world->ranks) : OkStatus();
  }

  void Warn() {
    BatchSink& sink = batch_.sink();
    const auto warn = [&](int64_t count, const char* what) {
      if (count > 0) sink.Warn(std::to_string(count) + what);
    };
    warn(objects_.broken(), " lines are cut off, or no JSON: they were left out");
    warn(odd_, " objects are no operation, or have no duration: they were left out");
    warn(untimed_, " operations do not say when they began, as the others do: they were left out");
    warn(too_many_, " operations are of more communicators than are kept: they were left out");
    if (!*has_times_) {
      sink.Warn(
          "it says how long operations took, and not when they began: they stand one behind the other "
          "(NCCL_INSPECTOR_DUMP_VERBOSE=1 has NCCL Inspector say it)");
    }
    int64_t missing = 0;
    for (const auto& [key, of] : communicators_) {
      if (of.collectives > 0)
        missing += std::max<int64_t>(of.last_sequence - of.first_sequence + 1 - of.collectives, 0);
    }
    warn(missing,
         " collectives are missing between the others, by their numbers: smaller than the least size, not timed by the "
         "GPU, or overwritten before they were written (NCCL_INSPECTOR_DUMP_COLL_RING_SIZE)");
  }

  TextSource& text_;
  BatchBuilder batch_;
  ObjectStream objects_;
  std::map<std::pair<std::string, int64_t>, Communicator> communicators_;
  std::vector<EventArg> args_;
  std::optional<bool> has_times_;  // nothing: no operation was read yet
  std::string version_;
  int64_t odd_ = 0;
  int64_t untimed_ = 0;
  int64_t too_many_ = 0;
};

}  // namespace

Status ReadNcclInspector(TextSource& text, BatchSink& sink, int64_t most_bytes) {
  const auto most = static_cast<size_t>(std::clamp<int64_t>(most_bytes, 0, kMostObjectBytes));
  return InspectorReading(text, sink, most).Read();
}

bool LooksLikeNcclInspector(std::span<const char> first) {
  std::string text(first.data(), first.size());
  text.resize(text.size() + kScanSlackBytes, '\0');
  const char* const end = text.data() + first.size();
  const char* const begin = SkipSpace(text.data());
  if (begin >= end || *begin != '{') return false;
  bool is_it = false;
  // The header is the first member.
  ForEachMember(begin, end, [&](std::string_view key, std::string_view value) {
    if (key != kHeaderKey || !value.starts_with('{')) return false;
    bool has_id = false;
    bool has_ranks = false;
    ForMembersOf(value, [&](std::string_view of, std::string_view told) {
      has_id |= of == "id" && told.starts_with('"');
      has_ranks |= of == "n_ranks";
    });
    is_it = has_id && has_ranks;
    return false;
  });
  return is_it;
}

}  // namespace kprof
