#include "storage/base/packet_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tests/fakes/base/file_facts.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class PacketSocketTest : public testing::Test {
 protected:
  PacketSocketTest() : pair_(*MakeSocketPair(SOCK_SEQPACKET)) {}

  Packet Receive(size_t limit_bytes = 100) {
    Packet packet;
    EXPECT_EQ(ReceivePacket(pair_.theirs.get(), limit_bytes, packet), 0);
    return packet;
  }

  const TemporaryFolder folder_;
  SocketPair pair_;
};

TEST_F(PacketSocketTest, CarriesBytesAndFiles) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  UniqueFd read(ends[0]);
  UniqueFd write(ends[1]);
  ASSERT_EQ(SendPacket(pair_.ours.get(), "hello", {read.get(), write.get()}), 0);
  Packet packet = Receive();
  EXPECT_EQ(packet.bytes, "hello");
  EXPECT_FALSE(packet.cut);
  ASSERT_EQ(packet.files.size(), 2);
  EXPECT_EQ(::fcntl(packet.files[0].get(), F_GETFD), FD_CLOEXEC);
  ASSERT_EQ(::write(packet.files[1].get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(read.get(), &byte, 1), 1);
}

TEST_F(PacketSocketTest, SaysWhenNothingIsThere) {
  Packet packet;
  EXPECT_EQ(ReceivePacket(pair_.theirs.get(), 100, packet), EAGAIN);
}

TEST_F(PacketSocketTest, SaysThatTheOtherEndIsGone) {
  pair_.ours.Reset();
  EXPECT_TRUE(Receive().end);
  EXPECT_EQ(SendPacket(pair_.theirs.get(), "x"), EPIPE);
}

TEST_F(PacketSocketTest, SaysThatAPacketIsTooLong) {
  ASSERT_EQ(SendPacket(pair_.ours.get(), "too long"), 0);
  EXPECT_TRUE(Receive(7).cut);
  ASSERT_EQ(SendPacket(pair_.ours.get(), "fits"), 0);
  EXPECT_FALSE(Receive(4).cut);
}

TEST_F(PacketSocketTest, ClosesFilesThatAreTooMany) {
  UniqueFd null(::open("/dev/null", O_RDONLY));
  const int five[] = {null.get(), null.get(), null.get(), null.get(), null.get()};
  iovec piece{const_cast<char*>("x"), 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof five)] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof five);
  std::memcpy(CMSG_DATA(part), five, sizeof five);
  ASSERT_EQ(::sendmsg(pair_.ours.get(), &message, 0), 1);
  const int next = ::dup(0);  // the lowest number that is free
  ::close(next);
  {
    Packet packet = Receive();
    EXPECT_TRUE(packet.cut);
    EXPECT_LE(packet.files.size(), kMostPacketFiles);
  }
  const int after = ::dup(0);
  ::close(after);
  EXPECT_EQ(after, next);
}

TEST_F(PacketSocketTest, ConnectsToWhoListens) {
  const std::string path = folder_ / "socket";
  EXPECT_EQ(ConnectPacketSocket(path).status().code(), ErrorCode::kNoDaemon);
  UniqueFd listener = *ListenForPackets(path, 0640);
  EXPECT_EQ(ModeOf(path), 0640);
  ASSERT_TRUE(ConnectPacketSocket(path).ok());
  EXPECT_EQ(ListenForPackets(path, 0600).status().code(), ErrorCode::kUsage);  // somebody is there
  listener.Reset();
  EXPECT_EQ(ConnectPacketSocket(path).status().code(), ErrorCode::kNoDaemon);
  EXPECT_TRUE(ListenForPackets(path, 0600).ok());  // what a dead one left is replaced
}

TEST_F(PacketSocketTest, LeavesAFileOfAnotherKindAlone) {
  const std::string path = folder_ / "file";
  std::ofstream(path) << "mine";
  EXPECT_EQ(ListenForPackets(path, 0600).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(ReadFile(path), "mine");
}

TEST_F(PacketSocketTest, RefusesPathsThatNoSocketCanHave) {
  EXPECT_EQ(ConnectPacketSocket(std::string(200, 'x')).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(ListenForPackets("", 0600).status().code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace kprof
