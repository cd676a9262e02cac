// JSON-RPC 2.0 as the Model Context Protocol has it over standard input and output: a message is one line. Cuts the
// input into lines, reads messages, and writes answers. Knows no methods.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/launch/given/json_text.h"

namespace kprof::cli {

inline constexpr size_t kMostRpcLineBytes = size_t{8} << 20;

struct RpcLine {
  std::string text;          // without its end; empty for one that is too long
  bool is_too_long = false;  // over kMostRpcLineBytes
};

// The lines of a stream that comes in pieces. Of a line that is too long nothing is kept. One thread.
class RpcLines {
 public:
  void Add(std::string_view bytes);
  // The next whole line; nothing: more bytes are needed.
  std::optional<RpcLine> Next();

 private:
  std::string buffer_;
  size_t searched_ = 0;  // bytes of it that hold no end of a line
  bool drops_line_ = false;
};

// The numbers of JSON-RPC, and one of MCP's own.
enum class RpcError : int {
  kParse = -32700,
  kInvalidRequest = -32600,
  kUnknownMethod = -32601,
  kInvalidParams = -32602,
  kInternal = -32603,
  kNoSuchResource = -32002,
};

struct RpcMessage {
  std::string id;      // as JSON: 7, "a"; empty: a notification, which nobody answers
  std::string method;  // empty: an answer, which nobody awaits
  GivenJson params;    // kNull where it has none
  std::string fault;   // not empty: it is no message, for this reason; `id` is then its id, or null
};

RpcMessage ReadRpcMessage(const GivenJson& json);

// Lines with their ends. `id`, `result`, `params`: JSON.
std::string RpcAnswer(const std::string& id, const std::string& result);
std::string RpcFailure(const std::string& id, RpcError code, const std::string& message);
std::string RpcNotification(const std::string& method, const std::string& params);

}  // namespace kprof::cli
