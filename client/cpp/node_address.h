// The address of a kprofd on another node, and the files with which both sides prove who they are. A value.
#pragma once

#include <string>

#include "storage/base/status.h"

namespace kprof {

struct NodeAddress {
  std::string host;  // a name or a number; the node's certificate must be valid for it
  std::string port;
  std::string ca;           // path of the authorities that may have signed the node's certificate
  std::string certificate;  // path of our own, with the certificates between it and its root
  std::string key;          // path of its private key
  bool operator==(const NodeAddress&) const = default;

  // "node-7:7443", "[2001:db8::7]:7443".
  std::string Text() const;
};

// Reads HOST:PORT into `address`. Fails with kUsage.
Status ParseNode(const std::string& text, NodeAddress& address);

}  // namespace kprof
