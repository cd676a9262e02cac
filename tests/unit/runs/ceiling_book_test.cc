#include "daemon/runs/ceiling_book.h"

#include <gmock/gmock.h>

#include "daemon/runs/audit/audit_log.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

CeilingRow Copy(const std::string& device, double value) {
  return {.device = device,
          .quantity = "memory_bandwidth",
          .unit = "GB/s",
          .value = value,
          .run_id = "01hx3m5qrstvwxyz",
          .uid = 1000,
          .time_ns = 7,
          .clocks = "lock",
          .doubts = "power_capped"};
}

class CeilingBookTest : public RunsFixture, public testing::Test {
 protected:
  // A start of the daemon, which reads what the catalog has.
  void Begin() {
    ASSERT_TRUE(Open().ok());
    Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
    book_ = std::make_unique<CeilingBook>(*loop_, *catalog_, *ReadCeilings(**reader));
  }
  Status Record(CeilingRow row) {
    Status done = Fail(ErrorCode::kTimedOut, "record", "nothing came");
    loop_->Post(
        [&] { book_->Record(std::move(row), Entry(audit::kCeiling), [&](const Status& stored) { done = stored; }); });
    Settle();
    return done;
  }
  Status Forget(const std::string& key) {
    Status done = Fail(ErrorCode::kTimedOut, "forget", "nothing came");
    loop_->Post(
        [&] { book_->Forget(key, Entry(audit::kCeilingForgotten), [&](const Status& stored) { done = stored; }); });
    Settle();
    return done;
  }
  static AuditEntry Entry(const char* action) {
    AuditEntry entry;
    entry.by.uid = 1000;
    entry.action = action;
    return entry;
  }
  void Settle() {
    loop_->RunUntilIdle();
    (void)catalog_->writer().SubmitAndWait([](Db&) { return OkStatus(); });
    loop_->RunUntilIdle();
  }
  size_t Audited() {
    Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
    return ReadAudit(**reader, {.limit = 1000})->size();
  }

  std::unique_ptr<CeilingBook> book_;
};

TEST_F(CeilingBookTest, HasTheLastOfEachAlsoAfterARestart) {
  Begin();
  ASSERT_TRUE(Record(Copy("GPU-1", 4400)).ok());
  ASSERT_TRUE(Record(Copy("GPU-1", 4300)).ok());
  ASSERT_TRUE(Record(Copy("GPU-2", 300)).ok());
  for (int start = 0; start < 2; ++start) {
    const std::vector<MeasuredCeiling> known = book_->Of("GPU-1");
    ASSERT_THAT(known, SizeIs(1));
    EXPECT_EQ(known[0].value, 4300);
    EXPECT_EQ(known[0].clocks, "lock");
    EXPECT_EQ(known[0].doubts, "power_capped");
    book_.reset();
    Close();
    Begin();
  }
  EXPECT_EQ(Audited(), 3u);
  ASSERT_TRUE(Forget("GPU-1").ok());
  EXPECT_THAT(book_->Of("GPU-1"), IsEmpty());
  EXPECT_THAT(book_->Of("GPU-2"), SizeIs(1));
}

TEST_F(CeilingBookTest, HasNothingThatIsNotOnTheDisk) {
  Begin();
  ASSERT_TRUE(Record(Copy("GPU-1", 4400)).ok());
  disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  EXPECT_FALSE(Record(Copy("GPU-1", 4500)).ok());
  EXPECT_FALSE(Forget("GPU-1").ok());
  ASSERT_THAT(book_->Of("GPU-1"), SizeIs(1));
  EXPECT_EQ(book_->Of("GPU-1")[0].value, 4400);
}

TEST(CeilingKey, IsWhoTheDeviceIsAndNotItsNumber) {
  DeviceFacts facts{.kind = DeviceKind::kNvidia};
  const Device device{.id = "0", .kind = DeviceKind::kNvidia};
  EXPECT_EQ(CeilingBook::KeyOf(device, facts), "") << "it has not said who it is";
  facts.nvidia = NvidiaIdentity{.uuid = "GPU-1"};
  EXPECT_EQ(CeilingBook::KeyOf(device, facts), "GPU-1");
  EXPECT_EQ(CeilingBook::KeyOf({.id = "0", .kind = DeviceKind::kNvidia, .uuid = "gpu-1"}, facts), "GPU-1");
  EXPECT_EQ(CeilingBook::KeyOf({.id = "nd0", .kind = DeviceKind::kNeuron}, {.kind = DeviceKind::kNeuron}), "nd0");
}

}  // namespace
}  // namespace kprof
