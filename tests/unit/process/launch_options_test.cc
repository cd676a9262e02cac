#include "daemon/process/supervisor/launch_options.h"

#include <gtest/gtest.h>

#include <vector>

namespace kprof {
namespace {

std::optional<LaunchOptions> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "kprof-launch");
  return ParseLaunchOptions(static_cast<int>(words.size()), words.data());
}

TEST(LaunchOptions, AreNoneForADaemonsOwn) {
  EXPECT_EQ(Parse({}), LaunchOptions());
}

TEST(LaunchOptions, ReadWhatAHelperSays) {
  const std::string digest(64, 'a');
  const std::string option = "--digest=" + digest;
  EXPECT_EQ(Parse({"--kept", "--control-fd=0", option.c_str()}), (LaunchOptions{true, 0, digest}));
}

TEST(LaunchOptions, TellOfSocketsToTheClient) {
  LaunchOptions expected;
  expected.passes_output = true;
  EXPECT_EQ(Parse({"--pass-output"}), expected);
}

TEST(LaunchOptions, RefuseAKeptOneThatWouldStartAnything) {
  EXPECT_FALSE(Parse({"--kept"}));
  EXPECT_FALSE(Parse({"--kept", "--control-fd=3"}));
}

TEST(LaunchOptions, RefuseWhatIsNoneOfTheirs) {
  for (const char* word : {"", "--help", "--kept=1", "--control-fd=", "--control-fd=1", "--control-fd=03",
                           "--digest=", "--digest=abc", "--digest", "kept", "--pass-output=1"}) {
    EXPECT_FALSE(Parse({word})) << word;
  }
}

}  // namespace
}  // namespace kprof
