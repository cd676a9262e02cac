#include "daemon/net/side_socket_listener.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/packet_socket.h"
#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

const SideRequest kRequest{kSideTakeLaunch, "01hx3m5qrstvwxyz"};

TEST(SidePackets, AreReadBack) {
  EXPECT_EQ(*DecodeSideRequest(EncodeSideRequest(kRequest)), kRequest);
  const SideAnswer answer{kSideTakeLaunch, "not_found", "no such run", "look"};
  EXPECT_EQ(*DecodeSideAnswer(EncodeSideAnswer(answer)), answer);
}

TEST(SidePackets, AreNotReadWhenTheyAreCutOrHaveMore) {
  const std::string request = EncodeSideRequest(kRequest);
  const std::string answer = EncodeSideAnswer({kSideTakeLaunch, "a", "b", "c"});
  for (size_t size = 0; size < request.size(); ++size) EXPECT_FALSE(DecodeSideRequest(request.substr(0, size))) << size;
  for (size_t size = 0; size < answer.size(); ++size) EXPECT_FALSE(DecodeSideAnswer(answer.substr(0, size))) << size;
  EXPECT_FALSE(DecodeSideRequest(request + "x"));
  EXPECT_FALSE(DecodeSideAnswer(answer + "x"));
  EXPECT_FALSE(DecodeSideRequest(answer));
  EXPECT_FALSE(DecodeSideAnswer(request));
}

class SideSocketTest : public testing::Test {
 protected:
  SideSocketTest() {
    auto serve = [this](const SideSocketListener::Asker& who, const SideRequest& request, std::vector<UniqueFd> files) {
      served_.emplace_back(who.uid, request);
      brought_files_ = files.size();
      brought_ = files.empty() ? UniqueFd() : std::move(files.front());
      groups_ = who.groups;
      return Serve();
    };
    socket_ = *SideSocketListener::Listen(loop_, Path(), 0600, serve, [this](uint32_t uid) {
      auto found = accounts_.find(uid);
      return found == accounts_.end() ? uid : found->second;
    });
  }

  std::string Path() const { return folder_ / "kprofd.sock.fd"; }

  Result<SideSocketListener::Reply> Serve() {
    if (refusal_) return *refusal_;
    if (brought_.valid()) return SideSocketListener::Reply{UniqueFd(), "a ticket"};
    return SideSocketListener::Reply{UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), ""};
  }

  UniqueFd Connect() {
    UniqueFd client = *ConnectPacketSocket(Path());
    loop_.RunUntilIdle();
    return client;
  }

  // Whether the daemon has closed it.
  bool IsClosed(const UniqueFd& client) {
    loop_.RunUntilIdle();
    Packet packet;
    const int error = ReceivePacket(client.get(), kSidePacketLimitBytes, packet);
    return (error == 0 && packet.end) || error == ECONNRESET;
  }

  const TemporaryFolder folder_;
  FakeClock clock_;
  IoLoop loop_{clock_};
  std::map<uint32_t, uint32_t> accounts_;  // where it is not the uid
  std::optional<Status> refusal_;
  std::vector<std::pair<uint32_t, SideRequest>> served_;
  size_t brought_files_ = 0;
  UniqueFd brought_;
  std::vector<gid_t> groups_;
  std::unique_ptr<SideSocketListener> socket_;
};

TEST_F(SideSocketTest, TakesTheFileOfARequestToHoldIt) {
  UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  UniqueFd client = Connect();
  ASSERT_EQ(SendPacket(client.get(), EncodeSideRequest({kSideHoldFile, ""}), {null.get()}), 0);
  loop_.RunUntilIdle();
  Packet packet;
  ASSERT_EQ(ReceivePacket(client.get(), kSidePacketLimitBytes, packet), 0);
  EXPECT_EQ(*DecodeSideAnswer(packet.bytes), (SideAnswer{kSideHoldFile, "", "a ticket", ""}));
  EXPECT_TRUE(packet.files.empty());
  EXPECT_TRUE(brought_.valid());
  EXPECT_EQ(groups_.back(), ::getegid());
}

TEST_F(SideSocketTest, TakesBothSocketsOfARequestToPassOutputOn) {
  SocketPair pair = *MakeSocketPair(SOCK_STREAM);
  UniqueFd client = Connect();
  ASSERT_EQ(SendPacket(client.get(), EncodeSideRequest({kSidePassOutput, "key"}), {pair.ours.get(), pair.theirs.get()}),
            0);
  loop_.RunUntilIdle();
  EXPECT_EQ(served_.back().second, (SideRequest{kSidePassOutput, "key"}));
  EXPECT_EQ(brought_files_, 2u);
}

TEST_F(SideSocketTest, ClosesWhenARequestHasNotTheFilesOfItsType) {
  UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  UniqueFd client = Connect();
  SendPacket(client.get(), EncodeSideRequest({kSideHoldFile, ""}));
  EXPECT_TRUE(IsClosed(client));
  client = Connect();
  SendPacket(client.get(), EncodeSideRequest({kSideHoldFile, ""}), {null.get(), null.get()});
  EXPECT_TRUE(IsClosed(client));
  client = Connect();
  SendPacket(client.get(), EncodeSideRequest({kSidePassOutput, "key"}), {null.get()});
  EXPECT_TRUE(IsClosed(client));
  client = Connect();
  SendPacket(client.get(), EncodeSideRequest(kRequest), {null.get()});
  EXPECT_TRUE(IsClosed(client));
  EXPECT_TRUE(served_.empty());
}

TEST_F(SideSocketTest, AnswersWithAFileAndCloses) {
  UniqueFd client = Connect();
  ASSERT_EQ(SendPacket(client.get(), EncodeSideRequest(kRequest)), 0);
  loop_.RunUntilIdle();
  Packet packet;
  ASSERT_EQ(ReceivePacket(client.get(), kSidePacketLimitBytes, packet), 0);
  EXPECT_EQ(DecodeSideAnswer(packet.bytes)->code, "");
  EXPECT_EQ(packet.files.size(), 1);
  ASSERT_EQ(served_.size(), 1);
  EXPECT_EQ(served_[0].first, ::geteuid());
  EXPECT_EQ(served_[0].second, kRequest);
  EXPECT_TRUE(IsClosed(client));
}

TEST_F(SideSocketTest, SaysWhyNot) {
  refusal_ = Fail(ErrorCode::kNotFound, "take a launch", "it is not there", "look elsewhere");
  UniqueFd client = Connect();
  ASSERT_EQ(SendPacket(client.get(), EncodeSideRequest(kRequest)), 0);
  loop_.RunUntilIdle();
  Packet packet;
  ASSERT_EQ(ReceivePacket(client.get(), kSidePacketLimitBytes, packet), 0);
  EXPECT_EQ(*DecodeSideAnswer(packet.bytes),
            (SideAnswer{kSideTakeLaunch, "not_found", "take a launch: it is not there", "look elsewhere"}));
}

TEST_F(SideSocketTest, ClosesOnNonsense) {
  UniqueFd null(::open("/dev/null", O_RDONLY));
  UniqueFd client = Connect();
  SendPacket(client.get(), "GET / HTTP/1.1\r\n");
  EXPECT_TRUE(IsClosed(client));
  client = Connect();
  SendPacket(client.get(), std::string(kSidePacketLimitBytes + 1, 'K'));
  EXPECT_TRUE(IsClosed(client));
  client = Connect();
  SendPacket(client.get(), EncodeSideRequest(kRequest), {null.get()});  // no request brings a file yet
  EXPECT_TRUE(IsClosed(client));
  EXPECT_TRUE(served_.empty());
}

TEST_F(SideSocketTest, GivesUpWhoSaysNothing) {
  UniqueFd client = Connect();
  clock_.Advance(4 * kNanosPerSecond);
  EXPECT_FALSE(IsClosed(client));
  clock_.Advance(2 * kNanosPerSecond);
  EXPECT_TRUE(IsClosed(client));
}

// As that user, which the kernel notes of this thread alone.
class As {
 public:
  explicit As(uid_t uid) { EXPECT_EQ(::syscall(SYS_setresuid, -1, uid, -1), 0); }
  ~As() { EXPECT_EQ(::syscall(SYS_setresuid, -1, 0, -1), 0); }
};

class SideSocketOfManyUsers : public SideSocketTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be several users";
    ASSERT_EQ(::chmod(Path().c_str(), 0666), 0);
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  }
  std::vector<UniqueFd> ConnectAs(uid_t uid, size_t count) {
    As user(uid);
    std::vector<UniqueFd> clients;
    for (size_t i = 0; i < count; ++i) clients.push_back(Connect());
    return clients;
  }
  bool IsAnswered(const UniqueFd& client) {
    SendPacket(client.get(), EncodeSideRequest(kRequest));
    loop_.RunUntilIdle();
    Packet packet;
    return ReceivePacket(client.get(), kSidePacketLimitBytes, packet) == 0 && packet.files.size() == 1;
  }
};

TEST_F(SideSocketTest, OfOneUserTheOldestSilentOneMakesRoom) {
  std::vector<UniqueFd> clients;
  for (size_t i = 0; i < SideSocketListener::kMostSilentOfOne; ++i) clients.push_back(Connect());
  EXPECT_FALSE(IsClosed(clients[0]));
  const UniqueFd next = Connect();
  EXPECT_TRUE(IsClosed(clients[0]));
  EXPECT_FALSE(IsClosed(clients[1]));
  EXPECT_FALSE(IsClosed(next));
}

TEST_F(SideSocketTest, WhoHasAskedIsAnsweredHoweverManyCome) {
  std::vector<UniqueFd> clients;
  constexpr size_t kMany = SideSocketListener::kMostSilentOfOne + 36;  // fewer than may wait for the loop
  for (size_t i = 0; i < kMany; ++i) {
    clients.push_back(*ConnectPacketSocket(Path()));
    ASSERT_EQ(SendPacket(clients.back().get(), EncodeSideRequest(kRequest)), 0);
  }
  loop_.RunUntilIdle();
  EXPECT_EQ(served_.size(), kMany);
  // Also who asks between being accepted and having to make room.
  const UniqueFd late = Connect();
  ASSERT_EQ(SendPacket(late.get(), EncodeSideRequest(kRequest)), 0);
  for (size_t i = 0; i < SideSocketListener::kMostSilentOfOne; ++i) clients.push_back(*ConnectPacketSocket(Path()));
  loop_.RunUntilIdle();
  EXPECT_EQ(served_.size(), kMany + 1);
}

TEST_F(SideSocketOfManyUsers, SilentOnesKeepNobodyElseOut) {
  std::vector<std::vector<UniqueFd>> silent;
  for (uid_t uid = 61100; uid < 61120; ++uid) silent.push_back(ConnectAs(uid, 40));
  for (int i = 0; i < 3; ++i) {
    const std::vector<UniqueFd> honest = ConnectAs(61001, 1);
    silent.push_back(ConnectAs(61130 + static_cast<uid_t>(i), 20));
    EXPECT_TRUE(IsAnswered(honest[0]));
  }
  EXPECT_TRUE(IsClosed(silent[0][0]));
}

TEST_F(SideSocketOfManyUsers, SubordinateUidsCountAsTheirOwner) {
  for (uint32_t uid = 61100; uid < 61120; ++uid) accounts_[uid] = 61099;
  std::vector<std::vector<UniqueFd>> silent;
  for (uid_t uid = 61100; uid < 61120; ++uid)
    silent.push_back(ConnectAs(uid, SideSocketListener::kMostSilentOfOne / 16));
  EXPECT_TRUE(IsClosed(silent[0][0]));
  EXPECT_FALSE(IsClosed(silent[19][0]));
}

TEST_F(SideSocketTest, RemovesItsFile) {
  socket_.reset();
  EXPECT_EQ(ConnectPacketSocket(Path()).status().code(), ErrorCode::kNoDaemon);
  EXPECT_FALSE(std::filesystem::exists(Path()));
}

TEST_F(SideSocketTest, AdoptsAListenerOnly) {
  SocketPair pair = *MakeSocketPair(SOCK_SEQPACKET);
  auto serve = [](const SideSocketListener::Asker&, const SideRequest&,
                  const std::vector<UniqueFd>&) -> Result<SideSocketListener::Reply> {
    return SideSocketListener::Reply{};
  };
  auto account_of = [](uint32_t uid) { return uid; };
  EXPECT_EQ(SideSocketListener::Adopt(loop_, std::move(pair.ours), serve, account_of).status().code(),
            ErrorCode::kUsage);
  UniqueFd listener = *ListenForPackets(folder_ / "another", 0600);
  EXPECT_TRUE(SideSocketListener::Adopt(loop_, std::move(listener), serve, account_of).ok());
}

}  // namespace
}  // namespace kprof
