#include "storage/db/layout.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(LayoutTest, PutsEverythingUnderTheStateFolder) {
  Layout layout{"/var/lib/kprof"};
  EXPECT_EQ(layout.CatalogPath(), "/var/lib/kprof/catalog.db");
  EXPECT_EQ(layout.LockPath(), "/var/lib/kprof/state.lock");
  EXPECT_EQ(layout.ArtifactPath("abc", "report.csv"), "/var/lib/kprof/runs/abc/report.csv");
}

TEST(LayoutTest, TakesNamesThatAreOneSafeStep) {
  for (const char* name : {"a", "report.ncu-rep", "rank_0@node+1=x, y", "a..b", "-", "partial"}) {
    EXPECT_TRUE(IsSafeName(name)) << name;
  }
  EXPECT_TRUE(IsSafeName(std::string(200, 'x')));
}

TEST(LayoutTest, RefusesNamesThatLeaveTheFolderOrHide) {
  for (std::string_view name : {"", ".", "..", ".hidden", "a/b", "/", "x.partial", "a\nb", "a\\b", "\xc3\xa4", "a:b"}) {
    EXPECT_FALSE(IsSafeName(name)) << name;
  }
  EXPECT_FALSE(IsSafeName(std::string(201, 'x')));
  EXPECT_FALSE(IsSafeName(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace kprof
