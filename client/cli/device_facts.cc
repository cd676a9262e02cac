#include "client/cli/device_facts.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

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
