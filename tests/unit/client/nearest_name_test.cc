#include "client/cli/text/nearest_name.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

const std::vector<std::string> kNames = {"status", "devices", "show", "session", "query", "kernel-breakdown", "runs"};

TEST(NearestName, FindsWhatWasMeant) {
  struct Case {
    const char* typed;
    const char* meant;
  };
  for (const Case& c : {Case{"statsu", "status"}, Case{"stat", "status"}, Case{"shwo", "show"}, Case{"qurey", "query"},
                        Case{"QUERY", "query"}, Case{"sessions", "session"}, Case{"run", "runs"},
                        Case{"kernel_breakdown", "kernel-breakdown"}, Case{"kernel-brakdwon", "kernel-breakdown"}}) {
    EXPECT_EQ(NearestName(c.typed, kNames), c.meant) << c.typed;
  }
}

TEST(NearestName, GuessesNothingFarOff) {
  for (const char* typed : {"", "x", "frobnicate", "zz", "--help", "export"}) {
    EXPECT_EQ(NearestName(typed, kNames), std::nullopt) << typed;
  }
  EXPECT_EQ(NearestName(std::string(100'000, 'q'), kNames), std::nullopt);
  EXPECT_EQ(NearestName("query", {}), std::nullopt);
}

TEST(NearestName, StandsBeforeTheRemedy) {
  EXPECT_EQ(WithSuggestion("shwo", kNames, "see --help"), "did you mean 'show'? see --help");
  EXPECT_EQ(WithSuggestion("frobnicate", kNames, "see --help"), "see --help");
}

}  // namespace
}  // namespace kprof::cli
