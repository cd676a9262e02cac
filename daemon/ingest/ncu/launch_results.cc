#include "daemon/ingest/ncu/launch_results.h"

#include <utility>

#include "daemon/ingest/ncu/metric_units.h"
#include "daemon/ingest/ncu/report_messages.h"
#include "daemon/ingest/source/proto_fields.h"
#include "daemon/ingest/source/source_facts.h"

namespace kprof {
namespace {

constexpr size_t kMostProcesses = 4096;
constexpr int64_t kInstancesPerLook = 4096;
constexpr uint64_t kNsPerUnixSecond = 1'000'000'000;
constexpr size_t kMostRangeBytes = 4096;

constexpr std::string_view kDeviceNameMetric = "device__attribute_display_name";
constexpr std::string_view kMajorMetric = "device__attribute_compute_capability_major";
constexpr std::string_view kMinorMetric = "device__attribute_compute_capability_minor";

// An instruction of a result: 1 address, 2 SASS, 3 PTX, 5 its place {2 line, 3 file (a number of a name), 4 file}.
struct InstructionFields {
  ToldInstruction told;
  std::optional<uint64_t> file_name;
};

InstructionFields ReadInstruction(std::string_view message) {
  InstructionFields of;
  ProtoFields fields(message);
  while (fields.Next()) {
    if (fields.number() == 1 && fields.is_number()) of.told.address = fields.integer();
    if (fields.number() == 2) of.told.sass = fields.bytes();
    if (fields.number() == 3) of.told.ptx = fields.bytes();
    if (fields.number() != 5) continue;
    ProtoFields place(fields.bytes());
    while (place.Next()) {
      if (place.number() == 2 && place.is_number() && place.value() > 0 && place.value() <= INT32_MAX) {
        of.told.line = place.integer();
      }
      if (place.number() == 3 && place.is_number()) of.file_name = place.value();
      if (place.number() == 4) of.told.file = place.bytes();
    }
  }
  return of;
}

// The open ranges of an NVTX state, outermost first: threads (2) with domains (2), each a stack of ranges (2) with a
// name (1), or a message in its attributes (2: {5: {2 text}}).
std::string OpenRanges(std::string_view state) {
  std::string ranges;
  ProtoFields threads(state);
  while (threads.Next()) {
    if (threads.number() != 2) continue;
    ProtoFields domains(threads.bytes());
    while (domains.Next()) {
      if (domains.number() != 2) continue;
      ProtoFields stack(domains.bytes());
      while (stack.Next()) {
        if (stack.number() != 2 || stack.is_number()) continue;
        std::string_view name = FindBytes(stack.bytes(), 1);
        if (name.empty()) name = FindBytes(FindBytes(FindBytes(stack.bytes(), 2), 5), 2);
        if (name.empty() || ranges.size() + name.size() > kMostRangeBytes) continue;
        ranges += (ranges.empty() ? "" : "/") + std::string(name);
      }
    }
  }
  return ranges;
}

std::string_view RuleTypeName(uint64_t type) {
  switch (type) {
    case 1:
      return "INF";
    case 2:
      return "WRN";
    case 3:
      return "ERR";
    case 4:
      return "OPT";
    default:
      return {};
  }
}

std::string_view SpeedupTypeName(uint64_t type) {
  return type == 1 ? "local" : type == 2 ? "global" : "";
}

}  // namespace

struct LaunchResults::Result {
  std::optional<int64_t> process;
  std::string_view mangled;
  std::string_view function;
  std::string_view demangled;
  std::string_view grid;
  std::string_view block;
  std::vector<std::string_view> instructions;
  std::vector<std::string_view> metrics;
  std::optional<int64_t> unix_ns;
  uint64_t source = 0;
  std::vector<std::string_view> sections;
  std::vector<std::string_view> rules;
  std::string_view nvtx;
  std::optional<int64_t> context;
  std::optional<int64_t> stream;
  bool is_whole = false;
};

bool LaunchResults::AddNames(std::string_view string_table, int64_t most_bytes) {
  ProtoFields fields(string_table);
  while (fields.Next()) {
    if (fields.number() != 1 || fields.is_number()) continue;
    constexpr int64_t kBytesOfName = sizeof(MetricName);
    names_bytes_ += static_cast<int64_t>(fields.bytes().size()) + kBytesOfName;
    if (names_bytes_ > most_bytes) return false;
    names_.push_back({.name = std::string(fields.bytes()), .text = std::nullopt});
  }
  return true;
}

void LaunchResults::AddProcess(std::string_view message) {
  std::optional<int64_t> pid;
  std::string_view path;
  ProtoFields fields(message);
  while (fields.Next()) {
    if (fields.number() == 1 && fields.is_number()) pid = fields.integer();
    if (fields.number() == 3) path = fields.bytes();
  }
  if (pid && processes_.size() < kMostProcesses) processes_.try_emplace(*pid, WithoutFolders(path));
}

void LaunchResults::AddDevice(int64_t ordinal, std::string name) {
  devices_.try_emplace(ordinal, std::move(name));
}

LaunchResults::MetricName* LaunchResults::NameOf(uint64_t id) {
  if (id >= names_.size()) return nullptr;
  MetricName& name = names_[id];
  if (!name.text) {
    name.text = rows_.Text(name.name);
    name.unit = rows_.Text(UnitOfMetric(name.name));
  }
  return &name;
}

void LaunchResults::Collect(std::string_view message, Result& result) {
  enum ResultField : uint32_t {
    kProcessField = 1,
    kMangledField = 5,
    kFunctionField = 6,
    kDemangledField = 7,
    kGridField = 10,
    kBlockField = 11,
    kInstructionField = 12,
    kMetricField = 13,
    kUnixField = 14,
    kSourceField = 15,
    kSectionField = 17,
    kRuleField = 19,
    kNvtxField = 21,
    kContextField = 22,
    kStreamField = 23,
  };
  ProtoFields fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case kProcessField:
        if (fields.is_number()) result.process = fields.integer();
        break;
      case kMangledField:
        result.mangled = fields.bytes();
        break;
      case kFunctionField:
        result.function = fields.bytes();
        break;
      case kDemangledField:
        result.demangled = fields.bytes();
        break;
      case kGridField:
        result.grid = fields.bytes();
        break;
      case kBlockField:
        result.block = fields.bytes();
        break;
      case kInstructionField:
        if (!fields.is_number()) result.instructions.push_back(fields.bytes());
        break;
      case kMetricField:
        if (!fields.is_number()) result.metrics.push_back(fields.bytes());
        break;
      case kUnixField:
        if (fields.value() > 0 && fields.value() < static_cast<uint64_t>(kLatestStartUnixNs) / kNsPerUnixSecond) {
          result.unix_ns = static_cast<int64_t>(fields.value() * kNsPerUnixSecond);
        }
        break;
      case kSourceField: {
        ProtoFields source(fields.bytes());
        while (source.Next()) {
          if (source.number() == 1 && source.is_number()) result.source = source.value();
        }
        break;
      }
      case kSectionField:
        if (!fields.is_number()) result.sections.push_back(fields.bytes());
        break;
      case kRuleField:
        if (!fields.is_number()) result.rules.push_back(fields.bytes());
        break;
      case kNvtxField:
        result.nvtx = fields.bytes();
        break;
      case kContextField:
        if (fields.is_number()) result.context = fields.integer();
        break;
      case kStreamField:
        if (fields.is_number()) result.stream = fields.integer();
        break;
      default:
        break;
    }
  }
  result.is_whole = fields.is_whole();
}

Status LaunchResults::Read(std::string_view message, bool is_range) {
  Result result;
  Collect(message, result);
  if (!result.is_whole) ++broken_;
  const bool is_empty = result.metrics.empty() && result.demangled.empty() && result.mangled.empty();
  if (is_empty) {
    if (is_range && result.is_whole) ++unknown_ranges_;
    return OkStatus();
  }
  const int64_t launch = AddLaunch(result, is_range);
  RETURN_IF_ERROR(AddMetrics(launch, result));
  for (const std::string_view section : result.sections) AddSection(launch, section);
  for (const std::string_view rule : result.rules) AddRule(launch, rule);
  RETURN_IF_ERROR(AddInstructions(launch, result));
  return rows_.GiveFull();
}

int64_t LaunchResults::AddLaunch(const Result& result, bool is_range) {
  std::string_view device_name;
  std::optional<int64_t> major;
  std::optional<int64_t> minor;
  for (const std::string_view metric : result.metrics) {
    ProtoFields fields(metric);
    if (!fields.Next() || fields.number() != 1 || fields.value() >= names_.size()) continue;
    const std::string_view name = names_[fields.value()].name;
    if (!name.starts_with("device__attribute_")) continue;
    const bool is_name = name == kDeviceNameMetric;
    if (!is_name && name != kMajorMetric && name != kMinorMetric) continue;
    const ReportedValue value = ReadReportValue(FindBytes(metric, 2));
    if (is_name) device_name = value.text;
    constexpr double kMostCapability = 1000;
    if (is_name || !value.number || !(*value.number >= 0 && *value.number < kMostCapability)) continue;
    (name == kMajorMetric ? major : minor) = static_cast<int64_t>(*value.number);
  }
  std::string capability;
  if (major && minor) capability = std::to_string(*major) + "." + std::to_string(*minor);
  ReportedLaunch launch{.kernel = result.demangled,
                        .function = result.function,
                        .mangled = result.mangled,
                        .is_range = is_range,
                        .process_id = result.process,
                        .device = std::nullopt,
                        .device_name = device_name,
                        .compute_capability = capability,
                        .context = result.context,
                        .stream = result.stream,
                        .grid = ReadReportSizes(result.grid),
                        .block = ReadReportSizes(result.block),
                        .unix_ns = result.unix_ns};
  if (launch.kernel.empty()) launch.kernel = result.function.empty() ? result.mangled : result.function;
  // Older versions have a thread in the place of the process.
  auto process = processes_.find(result.process.value_or(-1));
  if (process == processes_.end() && processes_.size() == 1) process = processes_.begin();
  if (process != processes_.end()) {
    launch.process_id = process->first;
    launch.process = process->second;
  }
  // Results do not say which device; of several with one name it is not known.
  for (const auto& [ordinal, name] : devices_) {
    if (!device_name.empty() && name != device_name && devices_.size() > 1) continue;
    if (launch.device) {
      launch.device.reset();
      break;
    }
    launch.device = ordinal;
    if (launch.device_name.empty()) launch.device_name = name;
  }
  const std::string range = OpenRanges(result.nvtx);
  launch.range = range;
  return rows_.AddLaunch(launch);
}

Status LaunchResults::AddMetrics(int64_t launch, const Result& result) {
  int64_t instances = 0;
  for (const std::string_view metric : result.metrics) {
    std::optional<uint64_t> id;
    std::string_view value_message;
    bool has_instances = false;
    ProtoFields fields(metric);
    while (fields.Next()) {
      if (fields.number() == 1 && fields.is_number()) id = fields.value();
      if (fields.number() == 2) value_message = fields.bytes();
      has_instances |= fields.number() == 3;
    }
    const MetricName* const name = id ? NameOf(*id) : nullptr;
    if (name == nullptr) {
      ++unnamed_;
      continue;
    }
    const ReportedValue value = ReadReportValue(value_message);
    if (value.number) {
      rows_.AddMetric(launch, *name->text, *value.number, name->unit);
    } else if (!value.text.empty()) {
      rows_.AddText(launch, *name->text, value.text);
    }
    if (!has_instances) continue;
    ProtoFields list(metric);
    for (double position = 0; list.Next();) {
      if (list.number() != 3 || list.is_number()) continue;
      ReportedValue key = ReadReportValue(FindBytes(list.bytes(), 1));
      if (!key.number && key.text.empty()) key.number = position;
      rows_.AddInstance(launch, *name->text, key, ReadReportValue(FindBytes(list.bytes(), 2)));
      ++position;
      if (++instances % kInstancesPerLook == 0) RETURN_IF_ERROR(rows_.GiveFull());
    }
  }
  return OkStatus();
}

// A section: 1 identifier, 2 title, 3 place, 4 head {2: {1 metric, 2 label}}.
void LaunchResults::AddSection(int64_t launch, std::string_view message) {
  ReportSection section;
  std::string_view head;
  ProtoFields fields(message);
  while (fields.Next()) {
    if (fields.number() == 1) section.section = fields.bytes();
    if (fields.number() == 2) section.title = fields.bytes();
    if (fields.number() == 3 && fields.is_number()) section.place = fields.integer();
    if (fields.number() == 4) head = fields.bytes();
  }
  bool has_metrics = false;
  ProtoFields metrics(head);
  while (metrics.Next()) {
    if (metrics.number() != 2 || metrics.is_number()) continue;
    section.metric = FindBytes(metrics.bytes(), 1);
    section.label = FindBytes(metrics.bytes(), 2);
    if (section.metric.empty()) continue;
    has_metrics = true;
    rows_.AddSection(launch, section);
  }
  section.metric = section.label = {};
  if (!has_metrics) rows_.AddSection(launch, section);
}

// A rule: 1 identifier, 2 title, 3 body {1 items}, 4 section. An item: 1 message {1 text, 2 type}, 8 the metric that it
// rests on {2 name, 3 value, 5 why}, 10 speedup {1 type, 2 percent}. Rules without a body did not fire.
void LaunchResults::AddRule(int64_t launch, std::string_view message) {
  ReportedRule rule;
  std::string_view body;
  ProtoFields fields(message);
  while (fields.Next()) {
    if (fields.number() == 1) rule.rule = fields.bytes();
    if (fields.number() == 2) rule.title = fields.bytes();
    if (fields.number() == 3) body = fields.bytes();
    if (fields.number() == 4) rule.section = fields.bytes();
  }
  ProtoFields items(body);
  while (items.Next()) {
    if (items.number() != 1 || items.is_number()) continue;
    ReportedRule said = rule;
    std::string text;
    bool has_message = false;
    ProtoFields item(items.bytes());
    while (item.Next()) {
      ProtoFields part(item.bytes());
      if (item.number() == 1) has_message = true;
      while (part.Next()) {
        if (item.number() == 1 && part.number() == 1) text = WithoutLinkMarks(part.bytes());
        if (item.number() == 1 && part.number() == 2) said.type = RuleTypeName(part.value());
        if (item.number() == 8 && part.number() == 2) said.metric = part.bytes();
        if (item.number() == 8 && part.number() == 3 && part.is_number()) said.metric_value = part.real();
        if (item.number() == 8 && part.number() == 5) said.reason = part.bytes();
        if (item.number() == 10 && part.number() == 1) said.speedup_type = SpeedupTypeName(part.value());
        if (item.number() == 10 && part.number() == 2 && part.is_number()) said.speedup_percent = part.real();
      }
    }
    said.message = text;
    // Tables and charts say nothing in words.
    if (has_message || said.speedup_percent) rows_.AddRule(launch, said);
  }
}

Status LaunchResults::AddInstructions(int64_t launch, const Result& result) {
  std::vector<ToldInstruction> told;
  for (const std::string_view instruction : result.instructions) {
    InstructionFields of = ReadInstruction(instruction);
    if (of.told.address == 0 && of.told.sass.empty()) continue;  // what else stands under this number
    if (of.told.file.empty() && of.file_name && *of.file_name < names_.size()) {
      of.told.file = names_[*of.file_name].name;
    }
    told.push_back(of.told);
  }
  return sources_.AddInstructions(rows_, launch, result.source, result.mangled, told);
}

void LaunchResults::WarnOf(BatchSink& sink) const {
  const auto warn = [&](int64_t count, const char* what) {
    if (count > 0) sink.Warn(std::to_string(count) + what);
  };
  warn(broken_, " results are damaged: what cannot be read of them is missing");
  warn(unnamed_, " metrics have no name: they were left out");
  warn(unknown_ranges_, " results of ranges have no metrics that are known: they were left out");
}

}  // namespace kprof
