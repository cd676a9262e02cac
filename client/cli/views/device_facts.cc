#include "client/cli/views/device_facts.h"

#include <cmath>

#include "client/cli/text/message_json.h"
#include "client/cli/text/number_text.h"
#include "client/cli/text/sizes.h"
#include "client/cli/text/terminal_text.h"

namespace kprof::cli {
namespace {

void Join(std::string& text, const std::string& more) {
  text += (text.empty() ? "" : ", ") + more;
}

std::string Watts(uint32_t milliwatts) {
  return std::to_string((milliwatts + 500) / 1000);
}

// The whole device's, as its cores are leased together.
std::string MeanUse(const v1::NeuronFacts& facts) {
  double sum = 0;
  for (const v1::NeuronCore& core : facts.cores()) {
    if (!core.has_utilization_percent()) return "";
    sum += core.utilization_percent();
  }
  if (facts.cores_size() == 0) return "";
  return std::to_string(std::lround(sum / facts.cores_size())) + " % busy";
}

std::string NeuronText(const v1::NeuronFacts& facts) {
  std::string text;
  if (facts.cores_size() > 0) {
    Join(text, std::to_string(facts.cores_size()) + (facts.cores_size() == 1 ? " core" : " cores"));
    if (facts.lnc() > 1) text += " (LNC " + std::to_string(facts.lnc()) + ")";
  }
  if (facts.has_memory_bytes() && facts.has_memory_used_bytes()) {
    Join(text, FormatBytes(static_cast<int64_t>(facts.memory_used_bytes())) + " of " +
                   FormatBytes(static_cast<int64_t>(facts.memory_bytes())));
  }
  if (facts.has_power_mean_percent()) Join(text, NumberText(facts.power_mean_percent()) + " % of power");
  if (const std::string use = MeanUse(facts); !use.empty()) Join(text, use);
  if (facts.unhealthy_components_size() > 0) {
    std::string unhealthy;
    for (const std::string& component : facts.unhealthy_components()) {
      unhealthy += (unhealthy.empty() ? "" : "+") + component;
    }
    Join(text, "unhealthy: " + TerminalText(unhealthy));
  }
  return text;
}

}  // namespace

void WriteDeviceFacts(JsonWriter& json, const v1::Device& device) {
  json.Key("health").StringOrNull(device.health()).Key("trouble").StringOrNull(device.trouble());
  json.Key("remedy").StringOrNull(device.remedy());
  json.Key("nvidia");
  if (device.has_nvidia()) {
    WriteMessage(json, device.nvidia());
  } else {
    json.Null();
  }
  json.Key("neuron");
  if (device.has_neuron()) {
    WriteMessage(json, device.neuron());
  } else {
    json.Null();
  }
  json.Key("clocks");
  if (device.has_clocks()) {
    WriteMessage(json, device.clocks());
  } else {
    json.Null();
  }
  json.Key("peaks").BeginArray();
  for (const v1::Peak& peak : device.peaks()) WriteMessage(json, peak);
  json.EndArray();
}

std::string DeviceStateText(const v1::Device& device) {
  if (!device.health().empty() && device.health() != "ok") {
    return device.health() + (device.trouble().empty() ? "" : ": " + TerminalText(device.trouble()));
  }
  if (device.has_neuron()) return NeuronText(device.neuron());
  std::string text;
  const v1::NvidiaFacts& facts = device.nvidia();
  if (facts.has_sm_mhz()) {
    Join(text, std::to_string(facts.sm_mhz()) + " MHz" + (device.clocks().locked() ? " locked" : ""));
  }
  if (facts.has_power_mw()) {
    Join(text, Watts(facts.power_mw()) +
                   (facts.has_power_limit_mw() ? " of " + Watts(facts.power_limit_mw()) : std::string()) + " W");
  }
  if (facts.has_temperature_c()) Join(text, std::to_string(facts.temperature_c()) + " C");
  if (facts.has_gpu_percent()) Join(text, std::to_string(facts.gpu_percent()) + " % busy");
  return text;
}

}  // namespace kprof::cli
