#include "daemon/helper/grant_store.h"

#include <gtest/gtest.h>

#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

const std::string kDigest(64, 'd');
const CallerIdentity kCaller{1000, 1000, {4, 27}};

std::string IdOf(int number) {
  std::string text = std::to_string(number);
  return std::string(16 - text.size(), '0') + text;
}

Grant Asked(const std::string& run_id, const CallerIdentity& caller) {
  return {run_id, caller, kDigest, 0, "", false, false};
}

TEST(Grant, IsReadBack) {
  for (bool remote : {false, true}) {
    const Grant grant{IdOf(1), kCaller, kDigest, 5, "boot", !remote, remote};
    EXPECT_EQ(*DecodeGrant(EncodeGrant(grant)), grant);
  }
}

TEST(Grant, OfTheSecondVersionIsStillRead) {
  Result<Grant> grant = DecodeGrant(ReadFile(std::string(KPROF_SOURCE_DIR) + "/tests/data/grant-v2/01hx3m5qrstvwxyz"));
  ASSERT_TRUE(grant.ok());
  EXPECT_EQ(*grant, (Grant{"01hx3m5qrstvwxyz", {1000, 1000, {4, 27}}, std::string(64, 'a'), 5, "boot", true, true}));
}

TEST(Grant, OfTheFirstVersionIsStillRead) {
  Result<Grant> grant = DecodeGrant(ReadFile(std::string(KPROF_SOURCE_DIR) + "/tests/data/grant-v1/01hx3m5qrstvwxyz"));
  ASSERT_TRUE(grant.ok());
  EXPECT_EQ(*grant, (Grant{"01hx3m5qrstvwxyz", {1000, 1000, {4, 27}}, std::string(64, 'a'), 5, "boot", true, false}));
}

TEST(Grant, IsNotReadWhenAnyByteOfItChanged) {
  const std::string bytes = EncodeGrant({IdOf(1), kCaller, kDigest, 5, "boot", false, true});
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 1;
    EXPECT_FALSE(DecodeGrant(damaged).ok()) << i;
    EXPECT_FALSE(DecodeGrant(bytes.substr(0, i)).ok()) << i;
  }
}

TEST(Grant, NamesARun) {
  EXPECT_FALSE(DecodeGrant(EncodeGrant({"../../etc/passwd", kCaller, kDigest, 5, "boot", false, true})).ok());
  EXPECT_FALSE(DecodeGrant(EncodeGrant({IdOf(1), kCaller, "no sum", 5, "boot", false, false})).ok());
}

class GrantStoreTest : public testing::Test {
 protected:
  Result<GrantStore> Open(const std::string& boot = "boot") {
    return GrantStore::Open(*files_, clock_, folder_ / "grants", boot, {.per_uid = 2, .in_all = 3});
  }

  const TemporaryFolder folder_;
  const std::unique_ptr<Files> files_ = MakePosixFiles();
  FakeClock clock_;
};

TEST_F(GrantStoreTest, KeepsGrantsWhereNobodyElseGets) {
  ASSERT_TRUE(Open()->Add(Asked(IdOf(1), kCaller)).ok());
  EXPECT_EQ(ModeOf(folder_ / "grants"), 0700);
  EXPECT_EQ(ModeOf(folder_ / "grants/" + IdOf(1)), 0600);
  Result<GrantStore> again = Open();
  ASSERT_NE(again->Find(IdOf(1)), nullptr);
  EXPECT_EQ(again->Find(IdOf(1))->caller, kCaller);
}

TEST_F(GrantStoreTest, GivesAGrantOnceAlsoAfterARestart) {
  GrantStore store = *Open();
  ASSERT_TRUE(store.Add(Asked(IdOf(1), kCaller)).ok());
  EXPECT_TRUE(store.Use(IdOf(1)).ok());
  EXPECT_EQ(store.Use(IdOf(1)).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(Open()->Use(IdOf(1)).status().code(), ErrorCode::kUsage);
}

TEST_F(GrantStoreTest, HasNoGrantThatNobodyGave) {
  EXPECT_EQ(Open()->Use(IdOf(1)).status().code(), ErrorCode::kNotPermitted);
}

TEST_F(GrantStoreTest, HasBoundsForOneAndForAll) {
  GrantStore store = *Open();
  ASSERT_TRUE(store.Add(Asked(IdOf(1), kCaller)).ok());
  ASSERT_TRUE(store.Add(Asked(IdOf(2), kCaller)).ok());
  EXPECT_EQ(store.Add(Asked(IdOf(3), kCaller)).code(), ErrorCode::kQueueFull);
  ASSERT_TRUE(store.Add(Asked(IdOf(3), {1001, 1001, {}})).ok());
  EXPECT_EQ(store.Add(Asked(IdOf(4), {1002, 1002, {}})).code(), ErrorCode::kQueueFull);
  ASSERT_TRUE(store.Remove(IdOf(1)).ok());
  EXPECT_TRUE(store.Add(Asked(IdOf(4), {1002, 1002, {}})).ok());
}

TEST_F(GrantStoreTest, LetsGrantsExpire) {
  GrantStore store = *Open();
  ASSERT_TRUE(store.Add(Asked(IdOf(1), kCaller)).ok());
  ASSERT_TRUE(store.Add(Asked(IdOf(2), kCaller)).ok());
  ASSERT_TRUE(store.Use(IdOf(2)).ok());
  clock_.Advance(8LL * 24 * 3600 * kNanosPerSecond);
  EXPECT_EQ(store.Use(IdOf(1)).status().code(), ErrorCode::kNotPermitted);
  EXPECT_NE(store.Find(IdOf(2)), nullptr);  // it may still run
  clock_.Advance(60LL * 24 * 3600 * kNanosPerSecond);
  store.RemoveExpired();
  EXPECT_EQ(store.size(), 0);
}

TEST_F(GrantStoreTest, ForgetsWhatAnotherBootEnded) {
  {
    GrantStore store = *Open();
    ASSERT_TRUE(store.Add(Asked(IdOf(1), kCaller)).ok());
    ASSERT_TRUE(store.Add(Asked(IdOf(2), kCaller)).ok());
    ASSERT_TRUE(store.Use(IdOf(2)).ok());
  }
  GrantStore store = *Open("another boot");
  EXPECT_NE(store.Find(IdOf(1)), nullptr);  // it still waits
  EXPECT_EQ(store.Find(IdOf(2)), nullptr);
}

TEST_F(GrantStoreTest, TakesNothingFromADamagedFile) {
  ASSERT_TRUE(Open()->Add(Asked(IdOf(1), kCaller)).ok());
  std::ofstream(folder_ / "grants/" + IdOf(1), std::ios::app) << "x";
  std::ofstream(folder_ / "grants/" + IdOf(2)) << EncodeGrant({IdOf(3), kCaller, kDigest, 5, "boot", false, true});
  GrantStore store = *Open();
  EXPECT_EQ(store.size(), 0);
}

TEST_F(GrantStoreTest, RefusesAFolderThatOthersMayEnter) {
  std::filesystem::create_directory(folder_ / "grants");
  std::filesystem::permissions(folder_ / "grants", std::filesystem::perms(0755));
  EXPECT_EQ(Open().status().code(), ErrorCode::kNotPermitted);
}

}  // namespace
}  // namespace kprof
