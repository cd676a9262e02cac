#include "daemon/devices/device_book.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "storage/base/environment.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

// Without the spaces around them; some may be empty.
std::vector<std::string_view> SplitSelector(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    parts.push_back(part);
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

bool ParseInteger(std::string_view text, int& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// "0-3,8" as numbers; empty when it does not parse.
std::set<int> ParseCores(std::string_view text) {
  constexpr int kCoreLimit = 4096;
  std::set<int> cores;
  for (std::string_view part : SplitSelector(text)) {
    if (part.empty()) continue;
    size_t dash = part.find('-');
    int first = 0;
    int last = 0;
    if (!ParseInteger(part.substr(0, dash), first)) return {};
    last = first;
    if (dash != std::string_view::npos && !ParseInteger(part.substr(dash + 1), last)) return {};
    if (first < 0 || last < first || last >= kCoreLimit) return {};
    for (int core = first; core <= last; ++core) cores.insert(core);
  }
  return cores;
}

// The cores that the caller's environment names, of these; all of them where it names none of them: then the devices
// were selected in another way.
std::vector<std::string> Narrowed(const std::vector<int>& cores, const std::vector<std::string>& environment) {
  const char* named = FindVariable(environment, "NEURON_RT_VISIBLE_CORES");
  const std::set<int> wanted = ParseCores(named == nullptr ? "" : named);
  const bool narrow = std::any_of(cores.begin(), cores.end(), [&](int core) { return wanted.contains(core); });
  std::vector<std::string> narrowed;
  for (int core : cores) {
    if (!narrow || wanted.contains(core)) narrowed.push_back(std::to_string(core));
  }
  return narrowed;
}

// Why a part of a selector names no device.
std::string WhyNothing(std::string_view part, std::string_view selector) {
  if (part.empty()) return "it names nothing before or after a comma";
  if (part == "all") return "this node has no accelerator";
  if (part != "none") return "this node has no device '" + std::string(part) + "'";
  return selector == part ? "it names no device" : "'none' goes with no other device";
}

std::string JoinedWords(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

}  // namespace

std::string_view DeviceKindName(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kNvidia:
      return "nvidia";
    case DeviceKind::kNeuron:
      return "neuron";
    case DeviceKind::kAmd:
      return "amd";
  }
  return "cpu";
}

DeviceList::DeviceList(std::vector<Device> accelerators) {
  devices_.push_back(Device{.id = "cpu", .kind = DeviceKind::kCpu, .name = "the host's processors"});
  for (Device& device : accelerators) devices_.push_back(std::move(device));
}

// A remedy that offers only what is not refused.
std::string DeviceList::WhatToName(bool or_none) const {
  std::string remedy = "name one of: ";
  for (const Device& device : devices_) remedy += (&device == devices_.data() ? "" : ", ") + device.id;
  if (devices_.size() > 1) remedy += ", all";
  return remedy + (or_none ? ", none" : "");
}

Result<std::vector<std::string>> DeviceList::Select(std::string_view selector,
                                                    const std::vector<std::string>& environment) const {
  if (selector.empty()) return SelectFromEnvironment(environment);
  if (selector == "none") return std::vector<std::string>();
  return SelectNamed(selector, /*or_none=*/true);
}

Result<std::vector<std::string>> DeviceList::SelectSome(std::string_view selector) const {
  if (selector.empty()) return SelectFromEnvironment({});
  return SelectNamed(selector, /*or_none=*/false);
}

Result<std::vector<std::string>> DeviceList::SelectNamed(std::string_view selector, bool or_none) const {
  auto refuse = [&](const std::string& why) {
    return Fail(ErrorCode::kUsage, "select device '" + std::string(selector) + "'", why, WhatToName(or_none));
  };
  // Neuron devices go by their numbers as well where there are no others to be taken for them.
  const bool only_neuron = std::all_of(devices_.begin(), devices_.end(), [](const Device& device) {
    return device.kind == DeviceKind::kCpu || device.kind == DeviceKind::kNeuron;
  });
  std::set<std::string_view> wanted;
  for (std::string_view part : SplitSelector(selector)) {
    std::vector<std::string_view> named;
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    const bool is_id =
        std::any_of(devices_.begin(), devices_.end(), [&](const Device& device) { return device.id == part; });
    const std::string by_number = only_neuron && is_number && !is_id ? "neuron" + std::string(part) : "";
    for (const Device& device : devices_) {
      const bool by_all = part == "all" && device.kind != DeviceKind::kCpu;
      if (by_all || device.id == part || device.id == by_number || (!part.empty() && device.uuid == part))
        named.push_back(device.id);
    }
    if (named.empty()) return refuse(WhyNothing(part, selector));
    for (std::string_view id : named) {
      if (!wanted.insert(id).second) return refuse("it names device " + std::string(id) + " twice");
    }
  }
  return InOrder(wanted);
}

std::vector<std::string> DeviceList::InOrder(const std::set<std::string_view>& wanted) const {
  std::vector<std::string> ids;
  for (const Device& device : devices_) {
    if (wanted.contains(device.id)) ids.push_back(device.id);
  }
  return ids;
}

Result<std::vector<std::string>> DeviceList::SelectFromEnvironment(const std::vector<std::string>& environment) const {
  if (devices_.size() == 1) return std::vector<std::string>{"cpu"};
  std::set<std::string_view> ids;
  const char* cuda = FindVariable(environment, "CUDA_VISIBLE_DEVICES");
  const char* neuron = FindVariable(environment, "NEURON_RT_VISIBLE_CORES");
  if (cuda != nullptr) {
    for (std::string_view part : SplitSelector(cuda)) {
      int ordinal = 0;  // CUDA counts its own devices only
      for (const Device& device : devices_) {
        if (device.kind != DeviceKind::kNvidia) continue;
        // CUDA takes an unambiguous beginning of a uuid as well.
        bool named = part == std::to_string(ordinal) || (part.starts_with("GPU-") && device.uuid.starts_with(part));
        if (named) ids.insert(device.id);
        ++ordinal;
      }
    }
  }
  if (neuron != nullptr) {
    std::set<int> cores = ParseCores(neuron);
    for (const Device& device : devices_) {
      if (device.kind != DeviceKind::kNeuron) continue;
      bool named =
          std::any_of(device.cores.begin(), device.cores.end(), [&](int core) { return cores.contains(core); });
      if (named) ids.insert(device.id);
    }
  }
  if (!ids.empty()) return InOrder(ids);
  // Who sees no device (empty, or -1) gets none; who names one that is not there is not given another.
  for (const char* named : {cuda, neuron}) {
    if (named == nullptr || *named == '\0' || std::string_view(named).starts_with("-")) continue;
    return Fail(ErrorCode::kUsage, "select a device",
                "the environment makes '" + ReadableText(named) + "' visible, which this node does not have",
                WhatToName(/*or_none=*/true));
  }
  if (cuda != nullptr || neuron != nullptr) return std::vector<std::string>{"cpu"};
  return std::vector<std::string>{devices_[1].id};
}

std::vector<std::string> DeviceList::VisibilityVariables(const std::vector<std::string>& leased_ids,
                                                         const std::vector<std::string>& environment) const {
  std::vector<std::string> nvidia;
  std::vector<int> neuron;
  std::vector<std::string> amd;
  // How many there are; a vendor's runtime counts its own devices only.
  int nvidia_count = 0;
  int neuron_count = 0;
  bool cores_known = true;
  int amd_count = 0;
  for (const Device& device : devices_) {
    bool leased = std::find(leased_ids.begin(), leased_ids.end(), device.id) != leased_ids.end();
    switch (device.kind) {
      case DeviceKind::kCpu:
        break;
      case DeviceKind::kNvidia:
        if (leased) nvidia.push_back(device.uuid.empty() ? std::to_string(nvidia_count) : device.uuid);
        ++nvidia_count;
        break;
      case DeviceKind::kNeuron:
        ++neuron_count;
        if (leased) neuron.insert(neuron.end(), device.cores.begin(), device.cores.end());
        if (leased && device.cores.empty()) cores_known = false;
        break;
      case DeviceKind::kAmd:
        if (leased) amd.push_back(device.uuid.empty() ? std::to_string(amd_count) : device.uuid);
        ++amd_count;
        break;
    }
  }
  std::vector<std::string> variables;
  if (nvidia_count > 0) variables.push_back("CUDA_VISIBLE_DEVICES=" + JoinedWords(nvidia));
  if (neuron_count > 0 && cores_known)
    variables.push_back("NEURON_RT_VISIBLE_CORES=" + JoinedWords(Narrowed(neuron, environment)));
  if (amd_count > 0) variables.push_back("ROCR_VISIBLE_DEVICES=" + JoinedWords(amd));
  return variables;
}

}  // namespace kprof
