#include "daemon/ingest/perfetto/perfetto_args.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "daemon/ingest/source/proto_fields.h"
#include "daemon/ingest/text/environment_text.h"
#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/trace/format/event_args.h"

namespace kprof {
namespace {

constexpr size_t kMostInternedSequences = 1 << 16;
constexpr int kMostArgNesting = 32;
constexpr size_t kMostEventArgs = 4096;

// Fields of InternedData.
enum InternedField : uint32_t {
  kCategoriesField = 1,
  kNamesField = 2,
  kKeysField = 3,
  kContextsField = 23,
  kStagesField = 24,
  kValuesField = 29,
  kCountersField = 47,
  kKernelsField = 1000,
  kArgNamesField = 1001,
};

// The text of a JSON value, where all of `text` is one list or object.
bool IsJson(std::string_view text) {
  if (text.empty() || (text.front() != '{' && text.front() != '[')) return false;
  std::string padded(text);
  padded.append(kScanSlackBytes, '\0');
  const char* const end = padded.data() + text.size();
  return FindNestEnd(padded.data(), end, kMostArgNesting) == end;
}

}  // namespace

std::string_view CategoryByArguments(std::string_view name, const SeenPerfettoArgs& seen, bool is_on_gpu) {
  if (name.starts_with("ProfilerStep#")) return is_on_gpu ? "gpu_user_annotation" : "user_annotation";
  if (is_on_gpu) {
    if (name.starts_with("Memcpy")) return "gpu_memcpy";
    if (name.starts_with("Memset")) return "gpu_memset";
    if (seen.grid) return "kernel";
    if (name.ends_with(" Sync") || name.ends_with(" Synchronize") || name.starts_with("Stream Wait")) {
      return "cuda_sync";
    }
    return seen.correlation ? "kernel" : "gpu_user_annotation";
  }
  if (seen.correlation) {
    const bool is_driver = name.size() > 2 && name.starts_with("cu") && name[2] >= 'A' && name[2] <= 'Z';
    return is_driver ? "cuda_driver" : "cuda_runtime";
  }
  if (seen.python_id) return "python_function";
  return seen.external_id ? "cpu_op" : "";
}

std::string_view CategoryOfStage(const PerfettoStage& stage, std::string_view name) {
  const auto begins = [&](std::string_view word) { return stage.name.starts_with(word) || name.starts_with(word); };
  constexpr uint64_t kGraphics = 1;
  if (begins("Memcpy") || begins("MemCpy") || begins("memcpy")) return "gpu_memcpy";
  if (begins("Memset") || begins("MemSet") || begins("memset")) return "gpu_memset";
  if (begins("Sync") || begins("sync")) return "cuda_sync";
  return stage.category == kGraphics ? "render_stage" : "kernel";
}

PerfettoArgs::Interned* PerfettoArgs::OfSequence(uint64_t sequence) const {
  if (last_ != nullptr && last_sequence_ == sequence) return last_;
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) return nullptr;
  last_sequence_ = sequence;
  return last_ = &found->second;
}

void PerfettoArgs::See(const TracePacket& packet) {
  if (packet.clears_state) {
    const auto found = sequences_.find(packet.sequence);
    if (found != sequences_.end()) {
      interned_ -= found->second.size;
      sequences_.erase(found);
      last_ = nullptr;
    }
  }
  if (packet.interned_data.empty()) return;
  if (sequences_.size() >= kMostInternedSequences && !sequences_.contains(packet.sequence)) return;
  Interned& to = sequences_[packet.sequence];
  ProtoFields fields(packet.interned_data);
  while (fields.Next()) {
    if (!fields.is_number()) Intern(to, fields.number(), fields.bytes());
  }
}

void PerfettoArgs::Intern(Interned& to, uint32_t field, std::string_view bytes) {
  switch (field) {
    case kCategoriesField:
    case kNamesField:
    case kKeysField:
    case kContextsField:
    case kStagesField:
    case kValuesField:
    case kCountersField:
    case kKernelsField:
    case kArgNamesField:
      break;
    default:
      return;
  }
  if (interned_ >= kMostInterned) return;
  ++interned_;
  ++to.size;
  uint64_t iid = 0;
  std::string_view texts[5];
  uint64_t numbers[5] = {};
  ProtoFields fields(bytes);
  while (fields.Next()) {
    if (fields.number() == 1) iid = fields.value();
    if (fields.number() >= 2 && fields.number() < 5) {
      texts[fields.number()] = fields.bytes();
      numbers[fields.number()] = fields.value();
    }
  }
  switch (field) {
    case kCategoriesField:
      to.categories[iid] = {std::string(texts[2]), std::nullopt};
      break;
    case kNamesField:
      to.names[iid] = {std::string(texts[2]), std::nullopt};
      break;
    case kKeysField:
      to.keys[iid] = {std::string(texts[2]), std::nullopt};
      break;
    case kArgNamesField:
      to.arg_names[iid] = {std::string(texts[2]), std::nullopt};
      break;
    case kValuesField:
      to.values[iid] = texts[2];
      break;
    case kStagesField:
      to.stages[iid] = {std::string(texts[2]), numbers[4]};
      break;
    case kContextsField:
      to.contexts[iid] = static_cast<int32_t>(numbers[2]);
      break;
    case kKernelsField:
      to.kernels[iid] = {{std::string(texts[3].empty() ? texts[2] : texts[3]), std::nullopt}, std::string(texts[4])};
      break;
    case kCountersField: {
      // The descriptor is its only message, and the GPU its only other number.
      std::optional<int64_t> gpu;
      std::string_view descriptor;
      ProtoFields members(bytes);
      while (members.Next()) {
        if (members.number() != 1 && members.is_number()) gpu = static_cast<int32_t>(members.integer());
        if (!members.is_number()) descriptor = members.bytes();
      }
      auto& specs = to.counters[iid];
      ProtoFields of(descriptor);
      while (of.Next()) {
        if (of.number() != 1 || interned_ >= kMostInterned) continue;
        uint64_t id = 0;
        std::string_view name;
        ProtoFields spec(of.bytes());
        while (spec.Next()) {
          if (spec.number() == 1) id = spec.value();
          if (spec.number() == 2) name = spec.bytes();
        }
        ++interned_;
        ++to.size;
        specs[id] = {std::string(name), gpu};
      }
      break;
    }
    default:
      break;
  }
}

void PerfettoArgs::SeeCounterSpecs(uint64_t sequence, uint64_t descriptor, std::string_view bytes) {
  if (sequences_.size() >= kMostInternedSequences && !sequences_.contains(sequence)) return;
  last_ = nullptr;
  auto& specs = sequences_[sequence].counters[descriptor];
  ProtoFields of(bytes);
  while (of.Next()) {
    if (of.number() != 1 || interned_ >= kMostInterned) continue;
    uint64_t id = 0;
    std::string_view name;
    ProtoFields spec(of.bytes());
    while (spec.Next()) {
      if (spec.number() == 1) id = spec.value();
      if (spec.number() == 2) name = spec.bytes();
    }
    if (specs.contains(id)) continue;
    ++interned_;
    ++sequences_[sequence].size;
    specs[id] = {std::string(name), std::nullopt};
  }
}

PerfettoName PerfettoArgs::Resolve(Name& name) {
  if (!name.known) name.known = Known{batch_.Text(name.text), EnvironmentEventOf(name.text)};
  return {name.known->number, name.known->event, name.text};
}

PerfettoName PerfettoArgs::NameOf(uint64_t sequence, uint64_t iid) {
  Interned* const of = OfSequence(sequence);
  const auto found = of == nullptr ? decltype(of->names.end()){} : of->names.find(iid);
  if (of == nullptr || found == of->names.end()) {
    ++unnamed_;
    return {};
  }
  return Resolve(found->second);
}

PerfettoName PerfettoArgs::NameOf(std::string_view text) {
  inline_name_ = text;
  return {batch_.Text(text), EnvironmentEventOf(text), inline_name_};
}

uint32_t PerfettoArgs::CategoryOf(uint64_t sequence, uint64_t iid) {
  Interned* const of = OfSequence(sequence);
  if (of == nullptr) return 0;
  const auto found = of->categories.find(iid);
  return found == of->categories.end() ? 0 : Resolve(found->second).number;
}

PerfettoName PerfettoArgs::KernelOf(uint64_t sequence, uint64_t iid, std::string_view& arch) {
  Interned* const of = OfSequence(sequence);
  if (of == nullptr) return {};
  const auto found = of->kernels.find(iid);
  if (found == of->kernels.end()) return {};
  arch = found->second.arch;
  return Resolve(found->second.name);
}

PerfettoStage PerfettoArgs::StageOf(uint64_t sequence, uint64_t iid) const {
  const Interned* const of = OfSequence(sequence);
  if (of == nullptr) return {};
  const auto found = of->stages.find(iid);
  return found == of->stages.end() ? PerfettoStage() : found->second;
}

std::optional<int64_t> PerfettoArgs::ProcessOf(uint64_t sequence, uint64_t context) const {
  const Interned* const of = OfSequence(sequence);
  if (of == nullptr) return std::nullopt;
  const auto found = of->contexts.find(context);
  return found == of->contexts.end() ? std::nullopt : std::optional(found->second);
}

PerfettoCounterSpec PerfettoArgs::CounterOf(uint64_t sequence, uint64_t descriptor, uint64_t counter) const {
  const Interned* const of = OfSequence(sequence);
  if (of == nullptr) return {};
  const auto specs = of->counters.find(descriptor);
  if (specs == of->counters.end()) return {};
  const auto found = specs->second.find(counter);
  return found == specs->second.end() ? PerfettoCounterSpec() : found->second;
}

void PerfettoArgs::Begin(EnvironmentEvent event) {
  out_.clear();
  of_event_ = event;
  correlation_ = kNoValue;
  seen_ = SeenPerfettoArgs();
}

void PerfettoArgs::Push(std::string_view key, ArgType type, int64_t value) {
  if (out_.size() < kMostEventArgs) out_.push_back({batch_.Text(key), type, value});
}

std::string_view PerfettoArgs::KeyText(uint64_t sequence, const PerfettoArg& arg, bool is_launch_arg) {
  if (!arg.name_iid) return arg.name;
  if (Interned* const of = OfSequence(sequence)) {
    const auto& names = is_launch_arg ? of->arg_names : of->keys;
    const auto found = names.find(*arg.name_iid);
    if (found != names.end()) return found->second.text;
  }
  ++unnamed_;
  return {};
}

void PerfettoArgs::Add(uint64_t sequence, const PerfettoArg& arg) {
  AddValue(sequence, KeyText(sequence, arg, false), arg);
}

void PerfettoArgs::AddInteger(std::string_view key, int64_t value) {
  if (key == "correlation") return AddCorrelation(value);
  seen_.stream |= key == "stream";
  seen_.external_id |= key == "External id";
  seen_.python_id |= key == "Python id";
  if (value != kNoValue) return Push(key, ArgType::kInteger, value);
  Push(key, ArgType::kNumber, batch_.Text(std::to_string(value)));
}

void PerfettoArgs::AddCorrelation(int64_t correlation) {
  if (correlation == kNoValue || correlation_ != kNoValue) return;
  seen_.correlation = true;
  correlation_ = correlation;
  Push("correlation", ArgType::kCorrelation, correlation);
}

void PerfettoArgs::AddPlain(std::string_view key, std::string_view text) {
  Push(key, ArgType::kString, batch_.Text(text));
}

// Nothing of an environment is kept.
void PerfettoArgs::AddString(std::string_view key, std::string_view text) {
  if (HasEnvironmentWord(key)) {
    std::string quoted;
    AppendJsonString(quoted, text);
    if (KeptOfEnvironment(key, quoted) != quoted) return;
  }
  if (of_event_ != EnvironmentEvent::kNone && HoldsSettings(text)) return;
  AddPlain(key, text);
}

void PerfettoArgs::AddJson(std::string_view key, std::string_view json) {
  seen_.grid |= key == "grid";
  if (HasEnvironmentWord(key)) {
    const std::optional<std::string> kept = KeptOfEnvironment(key, json);
    if (kept) Push(key, ArgType::kJson, batch_.Json(*kept));
    return;
  }
  if (of_event_ != EnvironmentEvent::kNone && HoldsSettings(json)) return;
  Push(key, ArgType::kJson, batch_.Json(MayNameEnvironment(json) ? WithoutEnvironment(json) : std::string(json)));
}

void PerfettoArgs::AddReal(std::string_view key, double value) {
  if (!std::isfinite(value)) {
    return AddPlain(key, std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
  }
  const std::string text = ShortestNumber(value);
  const std::string padded = text + std::string(sizeof(uint64_t), '\0');
  const std::optional<JsonNumber> number = ParseJsonNumber(std::string_view(padded).substr(0, text.size()));
  const std::optional<int64_t> decimal =
      number ? PackDecimal({number->digits, number->places}) : std::optional<int64_t>();
  if (decimal) return Push(key, ArgType::kDecimal, *decimal);
  Push(key, ArgType::kNumber, batch_.Text(text));
}

void PerfettoArgs::AddValue(uint64_t sequence, std::string_view key, const PerfettoArg& arg) {
  using enum PerfettoArg::Type;
  switch (arg.type) {
    case kNothing:
      return;
    case kBool:
      return Push(key, arg.bits != 0 ? ArgType::kTrue : ArgType::kFalse, 0);
    case kInteger:
      return AddInteger(key, static_cast<int64_t>(arg.bits));
    case kUnsigned:
      if (arg.bits <= static_cast<uint64_t>(INT64_MAX)) return AddInteger(key, static_cast<int64_t>(arg.bits));
      return Push(key, ArgType::kNumber, batch_.Text(std::to_string(arg.bits)));
    case kReal:
      return AddReal(key, arg.real);
    case kText:
      return AddString(key, arg.text);
    case kTextIid: {
      const Interned* const of = OfSequence(sequence);
      const auto found = of == nullptr ? decltype(of->values.find(0)){} : of->values.find(arg.bits);
      if (of != nullptr && found != of->values.end()) return AddString(key, found->second);
      ++unnamed_;
      return AddPlain(key, "");
    }
    case kJson:
      return IsJson(arg.text) ? AddJson(key, arg.text) : AddString(key, arg.text);
    case kNested: {
      std::string json;
      AppendJson(sequence, arg.message, 0, json);
      return AddJson(key, json);
    }
  }
}

// The value of an annotation, with those in it.
void PerfettoArgs::AppendJson(uint64_t sequence, std::string_view annotation, int depth, std::string& json) {
  using enum PerfettoArg::Type;
  const PerfettoArg arg = ReadAnnotation(annotation);
  switch (arg.type) {
    case kNothing:
      json += "null";
      return;
    case kBool:
      json += arg.bits != 0 ? "true" : "false";
      return;
    case kInteger:
      json += std::to_string(static_cast<int64_t>(arg.bits));
      return;
    case kUnsigned:
      json += std::to_string(arg.bits);
      return;
    case kReal:
      json += std::isfinite(arg.real) ? ShortestNumber(arg.real) : "null";
      return;
    case kText:
      AppendJsonString(json, arg.text);
      return;
    case kTextIid: {
      const Interned* const of = OfSequence(sequence);
      const auto found = of == nullptr ? decltype(of->values.find(0)){} : of->values.find(arg.bits);
      AppendJsonString(json, of != nullptr && found != of->values.end() ? found->second : std::string());
      return;
    }
    case kJson:
      if (IsJson(arg.text)) {
        json += arg.text;
      } else {
        AppendJsonString(json, arg.text);
      }
      return;
    case kNested:
      break;
  }
  if (depth >= kMostArgNesting) {
    json += "null";
    return;
  }
  constexpr uint32_t kEntriesField = 11;
  constexpr uint32_t kElementsField = 12;
  bool is_dict = false;
  ProtoFields looked(annotation);
  while (looked.Next()) is_dict |= looked.number() == kEntriesField;
  json += is_dict ? '{' : '[';
  bool is_first = true;
  ProtoFields members(annotation);
  while (members.Next()) {
    if (members.number() != (is_dict ? kEntriesField : kElementsField) || members.is_number()) continue;
    if (!is_first) json += ',';
    is_first = false;
    if (is_dict) {
      AppendJsonString(json, KeyText(sequence, ReadAnnotation(members.bytes()), false));
      json += ':';
    }
    AppendJson(sequence, members.bytes(), depth + 1, json);
  }
  json += is_dict ? '}' : ']';
}

void PerfettoArgs::AddText(const PerfettoArg& arg) {
  int64_t value = 0;
  const char* const end = arg.text.data() + arg.text.size();
  const auto [at, error] = std::from_chars(arg.text.data(), end, value);
  if (!arg.text.empty() && error == std::errc() && at == end) return AddInteger(arg.name, value);
  double real = 0;
  const auto [real_at, real_error] = std::from_chars(arg.text.data(), end, real);
  if (!arg.text.empty() && real_error == std::errc() && real_at == end) return AddReal(arg.name, real);
  if (IsJson(arg.text)) return AddJson(arg.name, arg.text);
  AddString(arg.name, arg.text);
}

void PerfettoArgs::AddLaunch(uint64_t sequence, std::string_view bytes) {
  ProtoFields fields(bytes);
  while (fields.Next()) {
    if (fields.number() == 3) {
      const PerfettoArg arg = ReadComputeArg(fields.bytes());
      const std::string_view key = KeyText(sequence, arg, true);
      // The sizes stand beside them.
      if (key != "grid_size" && key != "workgroup_size") AddValue(sequence, key, arg);
      continue;
    }
    if (fields.number() != 1 && fields.number() != 2) continue;
    uint64_t sizes[4] = {0, 1, 1, 1};
    ProtoFields size(fields.bytes());
    while (size.Next()) {
      if (size.number() >= 1 && size.number() <= 3) sizes[size.number()] = size.value();
    }
    const std::string json =
        "[" + std::to_string(sizes[1]) + "," + std::to_string(sizes[2]) + "," + std::to_string(sizes[3]) + "]";
    AddJson(fields.number() == 1 ? "grid" : "block", json);
  }
}

}  // namespace kprof
