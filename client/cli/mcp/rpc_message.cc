#include "client/cli/mcp/rpc_message.h"

#include "client/cli/text/json_writer.h"

namespace kprof::cli {
namespace {

constexpr char kNoId[] = "null";

// Of a whole message, with the member that `write` adds.
template <typename Write>
std::string LineWith(const Write& write) {
  std::string line;
  JsonWriter json(line);
  json.BeginObject().Key("jsonrpc").String("2.0");
  write(json);
  json.EndObject();
  return line + "\n";
}

// A whole number as JSON has it.
bool IsWholeNumber(const GivenJson& json) {
  return json.kind == GivenJson::Kind::kNumber && json.text.find_first_of(".eE") == std::string::npos;
}

}  // namespace

void RpcLines::Add(std::string_view bytes) {
  buffer_ += bytes;
}

std::optional<RpcLine> RpcLines::Next() {
  const size_t end = buffer_.find('\n', searched_);
  if (end == std::string::npos) {
    drops_line_ = drops_line_ || buffer_.size() > kMostRpcLineBytes;
    if (drops_line_) buffer_.clear();
    searched_ = buffer_.size();
    return std::nullopt;
  }
  RpcLine line;
  line.is_too_long = drops_line_ || end > kMostRpcLineBytes;
  if (!line.is_too_long) line.text = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  searched_ = 0;
  drops_line_ = false;
  return line;
}

RpcMessage ReadRpcMessage(const GivenJson& json) {
  RpcMessage message;
  const auto refuse = [&message](const char* why) {
    if (message.id.empty()) message.id = kNoId;
    message.fault = why;
    return message;
  };
  if (json.kind != GivenJson::Kind::kObject) return refuse("a message is an object");
  if (const GivenJson* id = json.Find("id")) {
    const bool is_id = id->kind == GivenJson::Kind::kText || IsWholeNumber(*id);
    const bool answers_nothing = id->kind == GivenJson::Kind::kNull && json.Find("method") == nullptr;
    if (!is_id && !answers_nothing) return refuse("the id is neither a text nor a whole number");
    message.id = JsonOf(*id);
  }
  const GivenJson* version = json.Find("jsonrpc");
  if (version == nullptr || version->kind != GivenJson::Kind::kText || version->text != "2.0") {
    return refuse("\"jsonrpc\" is not \"2.0\"");
  }
  const GivenJson* method = json.Find("method");
  if (method == nullptr && (json.Find("result") != nullptr || json.Find("error") != nullptr)) return message;
  if (method == nullptr || method->kind != GivenJson::Kind::kText || method->text.empty()) {
    return refuse("\"method\" is no text");
  }
  message.method = method->text;
  if (const GivenJson* params = json.Find("params")) {
    if (params->kind != GivenJson::Kind::kObject) return refuse("\"params\" is no object");
    message.params = *params;
  }
  return message;
}

std::string RpcAnswer(const std::string& id, const std::string& result) {
  return LineWith([&](JsonWriter& json) { json.Key("id").Raw(id).Key("result").Raw(result); });
}

std::string RpcFailure(const std::string& id, RpcError code, const std::string& message) {
  return LineWith([&](JsonWriter& json) {
    json.Key("id").Raw(id).Key("error").BeginObject().Key("code").Int(static_cast<int>(code));
    json.Key("message").String(message).EndObject();
  });
}

std::string RpcNotification(const std::string& method, const std::string& params) {
  return LineWith([&](JsonWriter& json) { json.Key("method").String(method).Key("params").Raw(params); });
}

}  // namespace kprof::cli
