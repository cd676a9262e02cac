#include "client/cli/text/message_json.h"

#include <google/protobuf/descriptor.h>

namespace kprof::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void WriteValue(JsonWriter& json, const Message& message, const FieldDescriptor& field, int index) {
  const google::protobuf::Reflection& values = *message.GetReflection();
  const bool is_listed = index >= 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      json.Int(is_listed ? values.GetRepeatedInt32(message, &field, index) : values.GetInt32(message, &field));
      break;
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
    case FieldDescriptor::CPPTYPE_FLOAT:
      json.Double(is_listed ? values.GetRepeatedFloat(message, &field, index) : values.GetFloat(message, &field));
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      json.String(std::string(
          (is_listed ? values.GetRepeatedEnum(message, &field, index) : values.GetEnum(message, &field))->name()));
      break;
  }
}

}  // namespace

void WriteFields(JsonWriter& json, const Message& message) {
  const google::protobuf::Reflection& values = *message.GetReflection();
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
}

void WriteMessage(JsonWriter& json, const Message& message) {
  json.BeginObject();
  WriteFields(json, message);
  json.EndObject();
}

}  // namespace kprof::cli
