#include "client/cpp/node_address.h"

#include <algorithm>
#include <cctype>

#include "storage/base/readable_text.h"

namespace kprof {

std::string NodeAddress::Text() const {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

Status ParseNode(const std::string& text, NodeAddress& address) {
  Status wrong = Fail(ErrorCode::kUsage, "reach kprofd", "'" + ReadableText(text) + "' is not HOST:PORT",
                      "write it like node-7:7443 or [2001:db8::7]:7443");
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return wrong;
  std::string host = text.substr(0, colon);
  const std::string port = text.substr(colon + 1);
  const bool digits = std::all_of(port.begin(), port.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (port.empty() || port.size() > 5 || !digits || std::stoi(port) < 1 || std::stoi(port) > 65535) return wrong;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return wrong;
  }
  auto is_odd = [](unsigned char c) { return c <= ' ' || c == 0x7f || c == '[' || c == ']' || c == '/'; };
  if (host.empty() || std::any_of(host.begin(), host.end(), is_odd)) return wrong;
  address.host = host;
  address.port = port;
  return OkStatus();
}

}  // namespace kprof
