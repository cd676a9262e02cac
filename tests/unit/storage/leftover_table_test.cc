#include "storage/catalog/device_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/catalog/catalog_schema.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LeftoverTableTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeCatalog(db_).ok()); }

  TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "catalog.db", {.mode = Db::Mode::kReadWrite});
};

TEST_F(LeftoverTableTest, KeepsOneForEachDevice) {
  ASSERT_TRUE(NoteLeftover(db_, {"1", "first", "boot"}).ok());
  ASSERT_TRUE(NoteLeftover(db_, {"0", "first", "boot"}).ok());
  ASSERT_TRUE(NoteLeftover(db_, {"1", "second", "next-boot"}).ok());
  EXPECT_THAT(*ReadLeftovers(db_),
              ElementsAre(LeftoverRow{"0", "first", "boot"}, LeftoverRow{"1", "second", "next-boot"}));
}

TEST_F(LeftoverTableTest, ForgetsOneOfThatDeviceAndRunAlone) {
  for (const char* device : {"0", "1"}) ASSERT_TRUE(NoteLeftover(db_, {device, "run", "boot"}).ok());
  ASSERT_TRUE(ForgetLeftover(db_, {"0", "run", "boot"}).ok());
  ASSERT_TRUE(ForgetLeftover(db_, {"7", "run", "boot"}).ok());
  ASSERT_TRUE(ForgetLeftover(db_, {"1", "earlier", "boot"}).ok()) << "by now it is another's";
  EXPECT_THAT(*ReadLeftovers(db_), ElementsAre(LeftoverRow{"1", "run", "boot"}));
  ASSERT_TRUE(ForgetLeftover(db_, {"1", "run", "boot"}).ok());
  EXPECT_THAT(*ReadLeftovers(db_), IsEmpty());
}

}  // namespace
}  // namespace kprof
