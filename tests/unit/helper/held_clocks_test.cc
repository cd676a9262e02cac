// Keepers of clocks that the helper starts for kprofd.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <fstream>

#include "daemon/clocks/keeper/keeper_protocol.h"
#include "daemon/helper/start_keeper.h"
#include "daemon/process/worker/call_page.h"
#include "tests/unit/helper/helper_fixture.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kUuid = "GPU-0a1b2c3d-0000-0000-0000-000000000001";

class HeldClocksTest : public HelperTest {
 protected:
  std::vector<std::string> MoreOptions() override {
    return {"--units",         "no", "--clocks", keeper_, "--nvml-library", folder_ / "no-such-library.so", "--held",
            folder_ / "clocks"};
  }

  HelperMessage Hold(const std::vector<int>& files) {
    EXPECT_EQ(SendPacket(to_helper_.get(), EncodeHelperPacket({7, HelperHoldClocks{kUuid}}), files), 0);
    return Hear();
  }

  std::vector<std::string> Held() {
    const HelperMessage answer = Ask(HelperListHeld{});
    const auto* held = std::get_if<HelperHeldList>(&answer);
    EXPECT_NE(held, nullptr);
    return held == nullptr ? std::vector<std::string>() : held->device_uuids;
  }

  std::string keeper_ = kBin + "/kprof-clocks";
};

TEST_F(HeldClocksTest, AreHeldByAKeeperThatAnswersAndEndsWithItsSocket) {
  SocketPair ends = *MakeSocketPair(SOCK_SEQPACKET);
  CallPage page = *CallPage::Make();
  ASSERT_EQ(Hold({ends.theirs.get(), page.fd()}), HelperMessage(HelperStarted{false}));
  ends.theirs.Reset();
  ASSERT_EQ(
      SendPacket(ends.ours.get(), EncodeKeeperPacket({1, KeeperLock{.holder = "run 1", .wanted = {.sm_mhz = 1500}}})),
      0);
  pollfd said{ends.ours.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&said, 1, kPatienceMs), 1);
  Packet packet;
  ASSERT_EQ(ReceivePacket(ends.ours.get(), kKeeperPacketLimitBytes, packet), 0);
  const Result<KeeperPacket> answer = DecodeKeeperPacket(packet.bytes);
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(std::holds_alternative<KeeperFailed>(answer->message)) << "there is no driver here";
  EXPECT_THAT(Held(), IsEmpty());
  ::shutdown(ends.ours.get(), SHUT_WR);
  ASSERT_EQ(::poll(&said, 1, kPatienceMs), 1);
  ASSERT_EQ(ReceivePacket(ends.ours.get(), kKeeperPacketLimitBytes, packet), 0);
  EXPECT_TRUE(packet.end);
  struct stat facts {};
  ASSERT_EQ(::stat((folder_ / "clocks").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
  EXPECT_EQ(facts.st_uid, 0u);
}

TEST_F(HeldClocksTest, OfADeviceThatIsNotThereLeaveNothing) {
  SocketPair ends = *MakeSocketPair(SOCK_SEQPACKET);
  CallPage page = *CallPage::Make();
  ASSERT_EQ(Hold({ends.theirs.get(), page.fd()}), HelperMessage(HelperStarted{false}));
  ends.theirs.Reset();
  ::shutdown(ends.ours.get(), SHUT_WR);
  pollfd said{ends.ours.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&said, 1, kPatienceMs), 1);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "clocks"));
}

TEST_F(HeldClocksTest, AreNotHeldForWhatIsNoChannelAndNoPage) {
  SocketPair stream = *MakeSocketPair(SOCK_STREAM);
  SocketPair packets = *MakeSocketPair(SOCK_SEQPACKET);
  CallPage page = *CallPage::Make();
  const UniqueFd open_size(::memfd_create("page", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(open_size.get(), 64), 0);
  EXPECT_TRUE(IsRefused(Hold({stream.theirs.get(), page.fd()}), "no channel and no page"));
  EXPECT_TRUE(IsRefused(Hold({page.fd(), page.fd()}), "no channel and no page"));
  EXPECT_TRUE(IsRefused(Hold({packets.theirs.get(), open_size.get()}), "no channel and no page"));
}

TEST_F(HeldClocksTest, AreHeldByABoundedNumber) {
  std::vector<UniqueFd> ends;
  HelperMessage answer = HelperStarted{false};
  while (answer == HelperMessage(HelperStarted{false}) && ends.size() < 100) {
    SocketPair pair = *MakeSocketPair(SOCK_SEQPACKET);
    CallPage page = *CallPage::Make();
    answer = Hold({pair.theirs.get(), page.fd()});
    ends.push_back(std::move(pair.ours));
  }
  EXPECT_TRUE(IsRefused(answer, "as many hold clocks as may"));
  EXPECT_THAT(ends, SizeIs(65));
  ends.clear();  // upon which they end
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  do {
    SocketPair pair = *MakeSocketPair(SOCK_SEQPACKET);
    CallPage page = *CallPage::Make();
    answer = Hold({pair.theirs.get(), page.fd()});
  } while (answer != HelperMessage(HelperStarted{false}) && std::chrono::steady_clock::now() < deadline);
  EXPECT_EQ(answer, HelperMessage(HelperStarted{false}));
}

TEST_F(HeldClocksTest, WithOneFileEndsTheConnection) {
  SocketPair packets = *MakeSocketPair(SOCK_SEQPACKET);
  EXPECT_TRUE(SurvivesBytes(EncodeHelperPacket({7, HelperHoldClocks{kUuid}}), {packets.theirs.get()}));
  EXPECT_TRUE(SurvivesBytes(EncodeHelperPacket({7, HelperListHeld{}}), {packets.theirs.get()}));
}

TEST_F(HeldClocksTest, AreListedByTheNotes) {
  EXPECT_THAT(Held(), IsEmpty()) << "there is no folder";
  std::filesystem::create_directory(folder_ / "clocks");
  for (const char* name :
       {"GPU-2.held", "GPU-1.held", "GPU-1.lock", "GPU-3.held.new", "GPU-4.held.damaged", ".held", "a b.held"}) {
    std::ofstream(folder_ / ("clocks/" + std::string(name))) << "note";
  }
  EXPECT_THAT(Held(), ElementsAre("GPU-1", "GPU-2"));
  for (int i = 0; i < 100; ++i) std::ofstream(folder_ / ("clocks/GPU-x" + std::to_string(i) + ".held")) << "note";
  EXPECT_THAT(Held(), SizeIs(kMostHeldDevices));
}

TEST_F(HeldClocksTest, OfAProgramThatIsNotThereAreRefused) {
  StopHelper(SIGTERM);
  keeper_ = folder_ / "nothing";
  StartHelper();
  ConnectToHelper();
  SocketPair ends = *MakeSocketPair(SOCK_SEQPACKET);
  CallPage page = *CallPage::Make();
  EXPECT_TRUE(IsRefused(Hold({ends.theirs.get(), page.fd()}), ""));
}

TEST(KeeperUnit, HasTheRightToSetClocksAndNoOther) {
  const KeeperPrograms programs{"/usr/libexec/kprof/kprof-clocks", "", "/var/lib/kprofd-helper/clocks", "boot", {}};
  const std::vector<std::string> words = KeeperUnitArguments(kUuid, programs, "kprof-clocks-1.service");
  EXPECT_THAT(words, Contains("--property=CapabilityBoundingSet=CAP_SYS_ADMIN"));
  EXPECT_THAT(words, Contains("--property=NoNewPrivileges=yes"));
  EXPECT_THAT(words, Contains("--property=DevicePolicy=closed"));
  EXPECT_THAT(words, Contains("--property=RestrictNamespaces=yes"));
  EXPECT_THAT(words, Contains(testing::StartsWith("--property=SystemCallFilter=~@mount @module ")));
  EXPECT_THAT(words, Contains("--property=ReadWritePaths=/var/lib/kprofd-helper/clocks"));
  const std::vector<std::string> command(words.end() - 6, words.end());
  EXPECT_THAT(command, ElementsAre("/usr/libexec/kprof/kprof-clocks", "", "/var/lib/kprofd-helper/clocks", kUuid,
                                   "boot", "--pipe"));
}

}  // namespace
}  // namespace kprof
