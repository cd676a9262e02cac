#include "client/cli/device_facts.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cmath>

#include "client/cli/number_text.h"
#include "client/cli/sizes.h"
#include "client/cli/terminal_text.h"

namespace kprof::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void WriteMessage(JsonWriter& json, const Message& message);

void WriteValue(JsonWriter& json, const Message& message, const FieldDescriptor& field, int index) {
  const google::protobuf::Reflection& values = *message.GetReflection();
  const bool is_listed = index >= 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      json.Int(is_listed ? values.GetRepeatedUInt32(message, &field, index) : values.GetUInt32(message, &field));
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      json.Int(static_cast<int64_t>(is_listed ? values.GetRepeatedUInt64(message, &field, index)
                                              : values.GetUInt64(message, &field)));
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      json.Int(is_listed ? values.GetRepeatedInt64(message, &field, index) : values.GetInt64(message, &field));
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      json.Double(is_listed ? values.GetRepeatedDouble(message, &field, index) : values.GetDouble(message, &field));
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      json.Bool(is_listed ? values.GetRepeatedBool(message, &field, index) : values.GetBool(message, &field));
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      json.StringOrNull(is_listed ? values.GetRepeatedString(message, &field, index)
                                  : values.GetString(message, &field));
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      WriteMessage(json,
                   is_listed ? values.GetRepeatedMessage(message, &field, index) : values.GetMessage(message, &field));
      break;
    default:
      json.Null();
  }
}

// Its fields by their names, in their order: what the proto says of them holds here as well.
void WriteMessage(JsonWriter& json, const Message& message) {
  const google::protobuf::Reflection& values = *message.GetReflection();
  json.BeginObject();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    json.Key(field.name());
    if (field.is_repeated()) {
      json.BeginArray();
      for (int index = 0; index < values.FieldSize(message, &field); ++index) WriteValue(json, message, field, index);
      json.EndArray();
    } else if (field.has_presence() && !values.HasField(message, &field)) {
      json.Null();
    } else {
      WriteValue(json, message, field, -1);
    }
  }
  json.EndObject();
}

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
