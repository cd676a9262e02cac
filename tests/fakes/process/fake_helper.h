// The root helper's end of helper_protocol.h in a test's hands: what kprofd asks is heard in its order, and answered
// when the test says so. It may be away, hang, or die over a question. What kprofd gets is there at once: its loop need
// but run until it is idle.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "daemon/process/helper_client/helper_protocol.h"
#include "storage/base/descriptors.h"
#include "storage/base/packet_socket.h"

namespace kprof {

class FakeHelper {
 public:
  struct Heard {
    uint32_t tag = 0;
    HelperMessage message;
    UniqueFd file;
    UniqueFd second_file;
  };

  // It is away at first.
  explicit FakeHelper(std::string socket_path) : socket_path_(std::move(socket_path)) {}

  void Begin() {
    Result<UniqueFd> listener = ListenForPackets(socket_path_, 0666);
    ASSERT_TRUE(listener.ok()) << listener.status().ToString();
    listener_ = *std::move(listener);
  }

  void Die() {
    connection_.Reset();
    listener_.Reset();
  }

  // The next question that has come; takes kprofd's connection, and greets back, on the way.
  std::optional<Heard> Hear() {
    if (!listener_.valid()) return std::nullopt;
    if (!connection_.valid()) connection_.Reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    while (connection_.valid()) {
      Packet packet;
      if (ReceivePacket(connection_.get(), kHelperPacketLimitBytes, packet) != 0) return std::nullopt;
      if (packet.end) {
        connection_.Reset();
        return std::nullopt;
      }
      Result<HelperPacket> decoded = DecodeHelperPacket(packet.bytes);
      EXPECT_TRUE(decoded.ok());
      if (!decoded.ok()) return std::nullopt;
      if (std::holds_alternative<HelperHello>(decoded->message)) {
        Answer(decoded->tag, HelperHello{});
        continue;
      }
      Heard heard{decoded->tag, std::move(decoded->message), UniqueFd(), UniqueFd()};
      if (!packet.files.empty()) heard.file = std::move(packet.files.front());
      if (packet.files.size() > 1) heard.second_file = std::move(packet.files.back());
      return heard;
    }
    return std::nullopt;
  }

  void Answer(uint32_t tag, HelperMessage message) {
    EXPECT_EQ(SendPacket(connection_.get(), EncodeHelperPacket({tag, std::move(message)})), 0);
  }

 private:
  const std::string socket_path_;
  UniqueFd listener_;
  UniqueFd connection_;
};

}  // namespace kprof
