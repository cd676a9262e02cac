#include "client/cpp/side_socket_client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "proto/side_socket.h"
#include "storage/base/packet_socket.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class HoldFileTest : public testing::Test {
 protected:
  std::string Socket() const { return folder_ / "s.sock"; }
  // Answers one request so; whether it came as it should.
  bool Serve(const SideAnswer& answer) {
    UniqueFd client;
    while (!client.valid()) client = UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    Packet packet;
    while (ReceivePacket(client.get(), kSidePacketLimitBytes, packet) != 0) std::this_thread::yield();
    SendPacket(client.get(), EncodeSideAnswer(answer));
    return DecodeSideRequest(packet.bytes) == SideRequest{kSideHoldFile, ""} && packet.files.size() == 1;
  }

  TemporaryFolder folder_;
  UniqueFd listener_ = *ListenForPackets(Socket() + std::string(kSideSocketSuffix), 0600);
  UniqueFd file_{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
};

TEST_F(HoldFileTest, GivesTheFileAndGetsItsTicket) {
  bool came = false;
  std::thread daemon([&] { came = Serve({kSideHoldFile, "", "ticket", ""}); });
  Result<std::string> ticket = SendOpenFile(Socket(), file_.get());
  daemon.join();
  EXPECT_TRUE(came);
  ASSERT_TRUE(ticket.ok()) << ticket.status().ToString();
  EXPECT_EQ(*ticket, "ticket");
}

TEST_F(HoldFileTest, FailsAsTheDaemonSays) {
  std::thread daemon([&] { Serve({kSideHoldFile, "usage", "no regular file", "send it"}); });
  const Status refused = SendOpenFile(Socket(), file_.get()).status();
  daemon.join();
  EXPECT_EQ(refused.code(), ErrorCode::kUsage);
  EXPECT_EQ(refused.why(), "no regular file");
}

TEST_F(HoldFileTest, FailsWhereNobodyListens) {
  EXPECT_EQ(SendOpenFile(folder_ / "none", file_.get()).status().code(), ErrorCode::kNoDaemon);
}

}  // namespace
}  // namespace kprof
