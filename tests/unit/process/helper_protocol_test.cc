#include "daemon/process/helper_client/helper_protocol.h"

#include <gtest/gtest.h>

#include <vector>

namespace kprof {
namespace {

const std::string kId = "01hx3m5qrstvwxyz";
const std::string kDigest(64, 'a');
const std::string kUuid = "GPU-0a1b2c3d-0000-0000-0000-000000000001";

std::vector<HelperPacket> OneOfEach() {
  return {
      {0, HelperHello{}},
      {1, HelperRegister{kId, kDigest}},
      {1, HelperRegisterRemote{kId, 1000, kDigest}},
      {2, HelperStart{kId}},
      {3, HelperSweep{kId}},
      {4, HelperForget{kId}},
      {5, HelperOpenFile{"/data/trace.json"}},
      {6, HelperGetState{}},
      {6, HelperListGrants{""}},
      {6, HelperListGrants{kId}},
      {6, HelperWhereIs{}},
      {6, HelperHoldClocks{kUuid}},
      {6, HelperListHeld{}},
      {7, HelperDone{}},
      {8, HelperRefused{ErrorCode::kNotPermitted, "not yours", "ask"}},
      {9, HelperStarted{true}},
      {10, HelperSwept{3, 1}},
      {11, HelperOpened{}},
      {12, HelperGrantList{}},
      {12, HelperGrantList{{kId, kId}, {kId}}},
      {13, HelperPlace{CallerPlace::kHere}},
      {13, HelperPlace{CallerPlace::kElsewhere}},
      {13, HelperPlace{CallerPlace::kGone}},
      {14, HelperHeldList{}},
      {14, HelperHeldList{{kUuid, kUuid}}},
      {UINT32_MAX, HelperState{true, 2, 1}},
  };
}

TEST(HelperProtocol, BringsEachMessageBack) {
  for (const HelperPacket& packet : OneOfEach()) {
    Result<HelperPacket> decoded = DecodeHelperPacket(EncodeHelperPacket(packet));
    ASSERT_TRUE(decoded.ok()) << packet.tag;
    EXPECT_EQ(*decoded, packet) << packet.tag;
  }
}

TEST(HelperProtocol, RefusesWhatIsCutOrHasMore) {
  for (const HelperPacket& packet : OneOfEach()) {
    const std::string bytes = EncodeHelperPacket(packet);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(DecodeHelperPacket(bytes.substr(0, size)).ok()) << packet.tag << " cut at " << size;
    }
    EXPECT_FALSE(DecodeHelperPacket(bytes + '\0').ok()) << packet.tag;
  }
}

TEST(HelperProtocol, TakesNoIdThatCouldBeAPath) {
  for (const char* id : {"", ".", "..", "/etc/shadow", "../../etc/passwd", "01hx3m5qrstvwxy", "01hx3m5qrstvwxyz0",
                         "01HX3M5QRSTVWXYZ", "01hx3m5qrstvwxy/", "01hx3m5qrstvwx..", "01hx3m5qrstvwxyi"}) {
    EXPECT_FALSE(DecodeHelperPacket(EncodeHelperPacket({1, HelperStart{id}})).ok()) << id;
    EXPECT_FALSE(DecodeHelperPacket(EncodeHelperPacket({1, HelperRegister{id, kDigest}})).ok()) << id;
  }
  EXPECT_FALSE(DecodeHelperPacket(EncodeHelperPacket({1, HelperStart{std::string("01hx3m5qrstvwxy\0", 16)}})).ok());
}

TEST(HelperProtocol, TakesNoDeviceThatCouldBeAPath) {
  for (const std::string& uuid : {std::string(), std::string("../x"), std::string("GPU/1"), std::string("a.b"),
                                  std::string("a b"), std::string("--help=\n"), std::string(97, 'a')}) {
    EXPECT_FALSE(DecodeHelperPacket(EncodeHelperPacket({1, HelperHoldClocks{uuid}})).ok()) << uuid;
    EXPECT_FALSE(DecodeHelperPacket(EncodeHelperPacket({1, HelperHeldList{{kUuid, uuid}}})).ok()) << uuid;
  }
  HelperHeldList list;
  list.device_uuids.assign(kMostHeldDevices, std::string(96, 'a'));
  EXPECT_TRUE(DecodeHelperPacket(EncodeHelperPacket({1, list})).ok());
  list.device_uuids.emplace_back("a");
  EXPECT_FALSE(DecodeHelperPacket(EncodeHelperPacket({1, list})).ok());
}

TEST(HelperProtocol, TakesOnlyAbsolutePaths) {
  for (const std::string& path : {std::string(), std::string("a"), std::string("./a"), std::string("/a\0b", 4),
                                  "/" + std::string(kHelperPathLimitBytes, 'x')}) {
    EXPECT_FALSE(DecodeHelperPacket(EncodeHelperPacket({1, HelperOpenFile{path}})).ok()) << path;
  }
}

TEST(HelperProtocol, TakesNoListOfOtherThings) {
  EXPECT_FALSE(DecodeHelperPacket(EncodeHelperPacket({1, HelperListGrants{"../grants"}})).ok());
  EXPECT_FALSE(DecodeHelperPacket(EncodeHelperPacket({1, HelperGrantList{{kId, "x"}, {}}})).ok());
  EXPECT_FALSE(DecodeHelperPacket(EncodeHelperPacket({1, HelperGrantList{{}, {""}}})).ok());
}

TEST(HelperProtocol, TakesNoPlaceThatThereIsNot) {
  for (uint8_t place : {0, 4, 255}) {
    EXPECT_FALSE(DecodeHelperPacket(EncodeHelperPacket({1, HelperPlace{static_cast<CallerPlace>(place)}})).ok());
  }
}

TEST(HelperProtocol, HasRoomForAFullListAndNoMore) {
  HelperGrantList list;
  list.used.assign(kMostListedGrants, kId);
  EXPECT_TRUE(DecodeHelperPacket(EncodeHelperPacket({1, list})).ok());
  list.unused.push_back(kId);
  EXPECT_FALSE(DecodeHelperPacket(EncodeHelperPacket({1, list})).ok());
}

TEST(HelperProtocol, TakesNoOtherSum) {
  EXPECT_FALSE(DecodeHelperPacket(EncodeHelperPacket({1, HelperRegister{kId, "abc"}})).ok());
}

TEST(HelperProtocol, TakesNoOtherMagic) {
  std::string bytes = EncodeHelperPacket({0, HelperHello{}});
  bytes[5] ^= 1;
  EXPECT_FALSE(DecodeHelperPacket(bytes).ok());
}

TEST(HelperProtocol, CutsWhatARefusalSays) {
  const std::string bytes = EncodeHelperPacket({1, HelperRefused{ErrorCode::kUsage, std::string(9999, 'w'), ""}});
  EXPECT_LT(bytes.size(), kHelperPacketLimitBytes);
  EXPECT_TRUE(DecodeHelperPacket(bytes).ok());
}

// A change of bytes is a change of version.
TEST(HelperProtocol, StaysAsItIs) {
  EXPECT_EQ(EncodeHelperPacket({1, HelperHello{}}), std::string("\1\0\0\0\1KPRH\5\0\0\0", 13));
  EXPECT_EQ(EncodeHelperPacket({0x04030201, HelperStart{kId}}), std::string("\1\2\3\4\x11\x10\0\0\0", 9) + kId);
  EXPECT_EQ(EncodeHelperPacket({1, HelperWhereIs{}}), std::string("\1\0\0\0\x18", 5));
  EXPECT_EQ(EncodeHelperPacket({1, HelperHoldClocks{"GPU-1"}}), std::string("\1\0\0\0\x19\5\0\0\0GPU-1", 14));
  EXPECT_EQ(EncodeHelperPacket({1, HelperListHeld{}}), std::string("\1\0\0\0\x1a", 5));
  EXPECT_EQ(EncodeHelperPacket({1, HelperPlace{CallerPlace::kElsewhere}}), std::string("\1\0\0\0\x87\2", 6));
}

}  // namespace
}  // namespace kprof
