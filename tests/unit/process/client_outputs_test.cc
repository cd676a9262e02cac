#include "daemon/process/launchers/client_outputs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <utility>
#include <vector>

#include "storage/base/packet_socket.h"

namespace kprof {
namespace {

class ClientOutputsTest : public testing::Test {
 protected:
  // The supervisor's ends; the client's are held here.
  OutputSockets Make() {
    SocketPair out = *MakeSocketPair(SOCK_STREAM);
    SocketPair err = *MakeSocketPair(SOCK_STREAM);
    clients_.push_back(std::move(out.ours));
    clients_.push_back(std::move(err.ours));
    return {std::move(out.theirs), std::move(err.theirs)};
  }

  std::vector<UniqueFd> clients_;
  ClientOutputs outputs_;
};

TEST_F(ClientOutputsTest, AreTheRunsOfTheirUserOnce) {
  ASSERT_TRUE(outputs_.Hold(1000, "key", Make()).ok());
  EXPECT_FALSE(outputs_.Take(1001, "key").out.valid());
  EXPECT_FALSE(outputs_.Take(1000, "other").out.valid());
  const OutputSockets taken = outputs_.Take(1000, "key");
  EXPECT_TRUE(taken.out.valid());
  EXPECT_TRUE(taken.err.valid());
  EXPECT_FALSE(outputs_.Take(1000, "key").out.valid());
}

TEST_F(ClientOutputsTest, AreStreamSocketsWithAKey) {
  EXPECT_EQ(outputs_.Hold(1000, "", Make()).code(), ErrorCode::kUsage);
  OutputSockets half = Make();
  half.err.Reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_EQ(outputs_.Hold(1000, "key", std::move(half)).code(), ErrorCode::kUsage);
  OutputSockets packets = Make();
  packets.out = std::move(MakeSocketPair(SOCK_SEQPACKET)->ours);
  EXPECT_EQ(outputs_.Hold(1000, "key", std::move(packets)).code(), ErrorCode::kUsage);
  EXPECT_EQ(outputs_.waiting(), 0u);
}

TEST_F(ClientOutputsTest, AreBoundedAndThoseOfClientsThatAreGoneMakeRoom) {
  for (size_t i = 0; i < ClientOutputs::kMostWaiting; ++i) {
    ASSERT_TRUE(outputs_.Hold(1000, std::to_string(i), Make()).ok());
  }
  EXPECT_EQ(outputs_.Hold(1000, "one more", Make()).code(), ErrorCode::kQueueFull);
  clients_.clear();
  EXPECT_TRUE(outputs_.Hold(1000, "one more", Make()).ok());
  EXPECT_EQ(outputs_.waiting(), 1u);
}

}  // namespace
}  // namespace kprof
