// The other end of NOTIFY_SOCKET: a datagram socket that keeps what it is told until somebody asks.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

class FakeServiceManager {
 public:
  // As NOTIFY_SOCKET has it: a path, or "@name".
  explicit FakeServiceManager(const std::string& address)
      : address_(address), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un bound{};
    bound.sun_family = AF_UNIX;
    std::memcpy(bound.sun_path, address.data(), address.size());
    if (address[0] == '@') bound.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    KPROF_CHECK(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&bound), size) == 0);
  }

  const std::string& address() const { return address_; }

  // What came since the last call; does not wait.
  std::vector<std::string> TakeMessages() {
    std::vector<std::string> messages;
    char block[4096];
    while (true) {
      ssize_t size = ::recv(socket_.get(), block, sizeof block, MSG_DONTWAIT);
      if (size < 0) return messages;
      messages.emplace_back(block, static_cast<size_t>(size));
    }
  }

  // Waits for the next one.
  std::string AwaitMessage() {
    char block[4096];
    ssize_t size = ::recv(socket_.get(), block, sizeof block, 0);
    return size < 0 ? "" : std::string(block, static_cast<size_t>(size));
  }

 private:
  const std::string address_;
  UniqueFd socket_;
};

}  // namespace kprof
