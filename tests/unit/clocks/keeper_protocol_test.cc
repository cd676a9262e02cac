#include "daemon/clocks/keeper/keeper_protocol.h"

#include <gtest/gtest.h>

#include <vector>

namespace kprof {
namespace {

std::vector<KeeperPacket> OneOfEach() {
  return {
      {1, KeeperLock{"run 1", {1500, 3201, true, 650'000}, true}},
      {2, KeeperLock{"", {}, false}},
      {3, KeeperRelease{}},
      {4, KeeperLocked{{1500, {}, true, {}}, {true, 700'000, {}, 1980}, {"note", "another"}}},
      {5, KeeperReleased{{"note"}}},
      {6, KeeperFailed{ErrorCode::kNotPermitted, "lock", "no permission", "be root"}},
      {7, KeeperPause{"run 1", 60'000'000'000}},
      {8, KeeperPaused{"DCGM", true}},
  };
}

TEST(KeeperProtocol, BringsEachMessageAcrossAsItIs) {
  for (const KeeperPacket& packet : OneOfEach()) {
    Result<KeeperPacket> decoded = DecodeKeeperPacket(EncodeKeeperPacket(packet));
    ASSERT_TRUE(decoded.ok()) << packet.tag;
    EXPECT_EQ(*decoded, packet) << packet.tag;
  }
}

TEST(KeeperProtocol, RefusesWhatIsCutOffOrTooLong) {
  for (const KeeperPacket& packet : OneOfEach()) {
    const std::string bytes = EncodeKeeperPacket(packet);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(DecodeKeeperPacket(std::string_view(bytes).substr(0, size)).ok()) << packet.tag;
    }
    EXPECT_FALSE(DecodeKeeperPacket(bytes + "x").ok()) << packet.tag;
  }
}

}  // namespace
}  // namespace kprof
