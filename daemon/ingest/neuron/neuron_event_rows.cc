#include "daemon/ingest/neuron/neuron_event_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "daemon/ingest/neuron/system_event_scan.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/trace/format/neuron_tables.h"

namespace kprof {
namespace {

struct KnownType {
  std::string_view name;
  std::string_view category;
  bool is_of_device = false;
};
constexpr KnownType kKnownTypes[] = {
    {"nc_exec_running", "neuron_execution", true},
    {"cc_running", "neuron_collective", true},
    {"cc_exec_barrier", "neuron_collective", true},
    {"numerical_err", "neuron_device", true},
    {"nc_model_switch", "neuron_device", true},
    {"nrt_model_switch", "neuron_device", true},
    {"timestamp_sync_point", "neuron_device", true},
    {"hw_notify", "neuron_device", true},
    {"nrt_execute", "neuron_api"},
    {"nrta_execute_schedule", "neuron_api"},
    {"nrt_model_submit", "neuron_runtime"},
    {"nrt_load", "neuron_runtime"},
    {"model_load", "neuron_runtime"},
    {"runtime_execute", "neuron_runtime"},
    {"kbl_exec_pre", "neuron_runtime"},
    {"kbl_exec_wait", "neuron_runtime"},
    {"kbl_exec_post", "neuron_runtime"},
    {"kmgr_exec_core", "neuron_runtime"},
    {"nrt_async_sema_wait", "neuron_runtime"},
    {"tensor_block_while_exec", "neuron_runtime"},
    {"nrt_tensor_allocate", "neuron_memory"},
    {"nrt_tensor_free", "neuron_memory"},
    {"nrt_dma_mem_alloc", "neuron_memory"},
    {"nrt_dma_mem_dealloc", "neuron_memory"},
    {"nrt_tensor_read", "neuron_transfer"},
    {"nrt_tensor_write", "neuron_transfer"},
    {"nrt_tensor_read_batch", "neuron_transfer"},
    {"nrt_tensor_write_batch", "neuron_transfer"},
    {"tensor_read", "neuron_transfer"},
    {"tensor_write", "neuron_transfer"},
    {"dmem_buf_copyin", "neuron_transfer"},
    {"dmem_buf_copyout", "neuron_transfer"},
    {"notification_consume_errors", "neuron_runtime"},
    {"exec_consume_gpsimd_stdio", "neuron_runtime"},
    {"exec_consume_cc_core_notifications", "neuron_runtime"},
    {"nrt_profile_add_node_info", "neuron_runtime"},
};
constexpr std::string_view kKnownFamilies[] = {"dmem_buf_batch_copy", "hostcc_", "cc_"};

constexpr int64_t kFirstUnixNs = 946'684'800'000'000'000;  // 2000: an earlier time is of another clock

std::string NumberText(int64_t number) {
  return number == kNoValue ? std::string() : std::to_string(number);
}

}  // namespace

size_t NeuronEventRows::HashOfPlace::operator()(const TrackPlace& place) const {
  uint64_t sum = (uint64_t{place.instance} << 32 | place.process) * 2 + static_cast<uint64_t>(place.is_of_device);
  for (const int64_t part : {place.worker, place.number, place.core, int64_t{place.is_collective}}) {
    sum = (sum ^ static_cast<uint64_t>(part)) * 0x9e37'79b9'7f4a'7c15;
    sum ^= sum >> 29;
  }
  return sum;
}

NeuronEventRows::QuickText& NeuronEventRows::Quick(std::string_view text) {
  uint64_t first = 0;
  uint64_t last = 0;
  const char* const end = text.data() + text.size();
  if (text.size() >= sizeof(uint64_t)) {
    std::memcpy(&first, text.data(), sizeof(uint64_t));
    std::memcpy(&last, end - sizeof(uint64_t), sizeof(uint64_t));
  } else if (text.size() >= sizeof(uint32_t)) {
    std::memcpy(&first, text.data(), sizeof(uint32_t));
    std::memcpy(&last, end - sizeof(uint32_t), sizeof(uint32_t));
  } else {
    for (const char c : text) first = first << 8 | static_cast<unsigned char>(c);
  }
  const uint64_t sum = (first * 31 + last + text.size()) * 0x9e37'79b9'7f4a'7c15;
  return quick_texts_[sum >> 54];
}

uint32_t NeuronEventRows::Text(std::string_view text) {
  if (text.empty()) return 0;
  QuickText& quick = Quick(text);
  if (!quick.is_type && quick.number != 0 && quick.text == text) return quick.number;
  const uint32_t number = builder_.Text(text);
  quick = {std::string(text), number, false};
  return number;
}

uint32_t NeuronEventRows::TextOfValue(std::string_view json_value) {
  const bool is_text = json_value.size() >= 2 && json_value.front() == '"';
  if (is_text) json_value = json_value.substr(1, json_value.size() - 2);
  if (json_value.empty() || json_value == "null") return 0;
  return json_value.find('\\') == json_value.npos ? Text(json_value) : builder_.Text(UnescapeJson(json_value));
}

uint32_t NeuronEventRows::Type(std::string_view name, bool is_framework) {
  QuickText& quick = Quick(name);
  if (quick.is_type && !is_framework && quick.text == name) return quick.number;
  const std::string text = UnescapeJson(name);
  const uint32_t number = builder_.Text(text);
  const auto [found, is_new] = types_by_name_.try_emplace(number, static_cast<uint32_t>(types_.size()));
  if (is_new) {
    NeuronEventType& type = types_.emplace_back();
    type.name = number;
    std::string_view category = is_framework ? "neuron_framework" : "neuron_runtime";
    type.is_known = is_framework;
    for (const std::string_view family : kKnownFamilies) type.is_known |= text.starts_with(family);
    for (const KnownType& known : kKnownTypes) {
      if (known.name != text) continue;
      category = known.category;
      type.is_known = true;
      type.is_of_device = known.is_of_device;
    }
    type.category = builder_.Text(category);
    type.is_sync_point = text == "timestamp_sync_point";
    type.is_execution = text == "nc_exec_running";
    type.is_collective = category == "neuron_collective";
    type.is_host_api = category == "neuron_api";
  }
  quick = {std::string(name), found->second, true};
  return found->second;
}

EventArg NeuronEventRows::Arg(std::string_view key, std::string_view value) {
  EventArg arg{.key = key.find('\\') == key.npos ? Text(key) : builder_.Text(UnescapeJson(key))};
  const char first = value.empty() ? 'n' : value.front();
  if (first == '"' || BeginsNumber(first)) {
    const bool is_plain = value.find_first_of(".eE") == value.npos;
    const std::optional<int64_t> number = is_plain ? WholeNumberIn(value) : std::nullopt;
    if (number && *number != kNoValue) {
      arg.type = ArgType::kInteger;
      arg.value = *number;
      return arg;
    }
    arg.type = first == '"' ? ArgType::kString : ArgType::kNumber;
    arg.value = TextOfValue(value);
  } else if (first == '{' || first == '[') {
    arg.type = ArgType::kJson;
    arg.value = builder_.Json(value);
  } else if (value == "true" || value == "false") {
    arg.type = value == "true" ? ArgType::kTrue : ArgType::kFalse;
  }
  return arg;
}

Status NeuronEventRows::SetZero(int64_t time_ns) {
  if (zero_ns_ || time_ns == kNoValue) return OkStatus();
  SeeTime(time_ns);
  zero_ns_ = *earliest_ns_;
  RETURN_IF_ERROR(sink().SetFact("time_zero_ns", *zero_ns_));
  if (*zero_ns_ < kFirstUnixNs) return sink().SetFact("clock", "unknown");
  RETURN_IF_ERROR(sink().SetFact("base_unix_ns", 0));
  return sink().SetFact("clock", "unix");
}

uint32_t NeuronEventRows::TrackOf(const NeuronEvent& event, const NeuronEventType& type) {
  TrackPlace place{event.process, event.instance, type.is_of_device, type.is_collective, event.worker};
  place.number = type.is_of_device ? event.nc : event.thread;
  place.core = type.is_of_device ? event.core : kNoValue;
  if (last_track_ && place == last_place_) return *last_track_;
  const auto [found, is_new] = tracks_.try_emplace(place, 0);
  if (is_new) {
    const bool has_worker = event.worker != kNoValue && event.worker >= 0;
    TrackRow row{.kind = type.is_of_device ? "nc_engine" : "cpu_thread"};
    if (type.is_of_device) {
      row.name = "NeuronCore " + (place.number == kNoValue ? "?" : std::to_string(place.number));
      if (place.core != kNoValue) row.name += " core " + std::to_string(place.core);
      if (type.is_collective) row.name += " collectives";
      if (place.number >= 0) row.device = place.number;
      if (place.core >= 0) row.stream = place.core;
    } else {
      row.name = place.number == kNoValue ? "thread" : "thread " + std::to_string(place.number);
      if (place.number != kNoValue) row.tid = std::to_string(place.number);
    }
    if (has_worker) row.process = "worker " + std::to_string(event.worker);
    const auto text = [this](uint32_t number) {
      return number == 0 ? std::string() : std::string(builder_.TextAt(number));
    };
    std::string process = text(event.process);
    std::string key_text = process + "/" + NumberText(event.worker);
    if (process.empty()) process = NumberText(has_worker ? event.worker : kNoValue);
    if (const std::string instance = text(event.instance); !instance.empty()) {
      process = process.empty() ? instance : instance + "/" + process;
      row.process = row.process ? instance + " " + *row.process : instance;
      key_text += " on " + instance;
    }
    if (!process.empty()) row.pid = process;
    const TrackKey key{TrackKey::Family::kAsync, builder_.Text(key_text), 0, builder_.Text(row.name), 0};
    found->second = builder_.AddTrack(key, std::move(row));
  }
  last_place_ = place;
  last_track_ = found->second;
  return found->second;
}

Status NeuronEventRows::Write(const NeuronEvent& event) {
  const NeuronEventType& type = types_[event.type];
  const bool has_start = event.start_ns != kNoValue;
  RETURN_IF_ERROR(SetZero(has_start ? event.start_ns : event.end_ns));
  const auto text = [](uint32_t number) { return number == 0 ? kNoValue : int64_t{number}; };
  builder_.AddSideRow(
      NeuronEventSideTable(),
      std::array<int64_t, 16>{int64_t{type.name}, text(event.process), event.worker, event.thread, event.nc, event.core,
                              event.exec_id, event.tracking_id, event.seq_id, text(event.model),
                              FromZero(event.start_ns), FromZero(event.end_ns), event.device_start_ns,
                              event.device_end_ns, event.size_bytes, text(event.instance)});
  if (!has_start) return builder_.GiveFull();
  const BatchBuilder::Event made{event.start_ns, TrackOf(event, type), type.name, type.category, event.args};
  if (event.is_instant) {
    builder_.AddInstant(made);
  } else {
    builder_.AddSlice(made, event.end_ns == kNoValue ? kNoValue : event.end_ns - event.start_ns, kNoValue);
  }
  return builder_.GiveFull();
}

Status NeuronEventRows::Write(const NeuronCall& call) {
  RETURN_IF_ERROR(SetZero(call.start_ns));
  const auto text = [](uint32_t number) { return number == 0 ? kNoValue : int64_t{number}; };
  builder_.AddSideRow(
      NeuronCallSideTable(),
      std::array<int64_t, 10>{text(call.file), call.line, text(call.kernel), call.call_index, call.thread,
                              FromZero(call.start_ns), FromZero(call.end_ns), call.nc, call.seq_id, call.exec_id});
  return builder_.GiveFull();
}

Status NeuronEventRows::WriteCounter(std::string_view group, std::string_view name, int64_t time_ns, double value) {
  RETURN_IF_ERROR(SetZero(time_ns));
  const uint32_t of = Text(group);
  const uint32_t number = Text(name);
  const auto [found, is_new] = counters_.try_emplace(uint64_t{of} << 32 | number, 0);
  if (is_new) {
    TrackRow row{.kind = "counter", .name = std::string(name)};
    if (of != 0) row.process = std::string(group);
    found->second = builder_.AddTrack({TrackKey::Family::kCounter, of, 0, number, 0}, std::move(row));
  }
  builder_.AddCounter(time_ns, found->second, value);
  return builder_.GiveFull();
}

Status NeuronEventRows::Finish() {
  return builder_.Give();
}

}  // namespace kprof
