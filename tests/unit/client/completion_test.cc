#include "client/cli/verbs/verb_completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "client/cli/grammar/command_line.h"

namespace kprof::cli {
namespace {

using testing::HasSubstr;

class Completion : public testing::TestWithParam<const char*> {
 protected:
  std::string Script() { return CompletionScript(GetParam(), DescribeCommandLine()).value(); }
};

TEST_P(Completion, KnowsEveryVerbAndOption) {
  const std::string script = Script();
  auto knows = [&](const CommandDescription& command) {
    EXPECT_THAT(script, HasSubstr(command.name));
    for (const OptionDescription& option : command.options) {
      for (const std::string& spelling : option.spellings) {
        EXPECT_THAT(script, HasSubstr(spelling.substr(spelling.find_first_not_of('-'))));
      }
    }
  };
  for (const CommandDescription& verb : DescribeCommandLine().commands) {
    knows(verb);
    for (const CommandDescription& below : verb.commands) knows(below);
  }
}

TEST_P(Completion, IsASyntaxThatItsShellTakes) {
  const std::string shell = GetParam();
  if (std::system(("command -v " + shell + " >/dev/null 2>&1").c_str()) != 0) GTEST_SKIP() << shell << " is not here";
  std::string path = testing::TempDir() + "/completion." + shell + std::to_string(::getpid());
  std::ofstream(path) << Script();
  EXPECT_EQ(std::system((shell + " -n " + path).c_str()), 0);
  std::remove(path.c_str());
}

INSTANTIATE_TEST_SUITE_P(Shells, Completion, testing::Values("bash", "zsh", "fish"));

// What bash offers for a line that ends with the word being typed.
std::string BashOffers(const std::string& words, int at) {
  std::string path = testing::TempDir() + "/offers" + std::to_string(::getpid());
  std::ofstream(path) << CompletionScript("bash", DescribeCommandLine()).value() << "COMP_WORDS=(" << words
                      << ")\nCOMP_CWORD=" << at << "\n_kprofctl\necho \"${COMPREPLY[*]}\"\n";
  std::string offers;
  FILE* pipe = ::popen(("bash " + path).c_str(), "r");
  if (pipe == nullptr) return "";
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) offers += static_cast<char>(c);
  ::pclose(pipe);
  std::remove(path.c_str());
  return offers;
}

TEST(BashCompletion, OffersWhatFits) {
  if (std::system("command -v bash >/dev/null 2>&1") != 0) GTEST_SKIP() << "bash is not here";
  EXPECT_EQ(BashOffers("kprofctl st", 1), "status\n");
  EXPECT_EQ(BashOffers("kprofctl --json capture --que", 3), "--queue-timeout\n");
  EXPECT_EQ(BashOffers("kprofctl runs --js", 2), "--json\n");
  EXPECT_EQ(BashOffers("kprofctl artifacts @last g", 3), "get\n");
  EXPECT_EQ(BashOffers("kprofctl artifacts @last get n --o", 5), "--output\n");
  EXPECT_EQ(BashOffers("kprofctl capture command -- --que", 4), "\n");
  EXPECT_EQ(BashOffers("kprofctl --socket st", 2), "\n");
}

TEST(BashCompletion, OffersValuesThatItKnowsWithoutADaemon) {
  if (std::system("command -v bash >/dev/null 2>&1") != 0) GTEST_SKIP() << "bash is not here";
  EXPECT_EQ(BashOffers("kprofctl query --format nd", 3), "ndjson\n");
  EXPECT_EQ(BashOffers("kprofctl show @l", 2), "@last\n");
  EXPECT_EQ(BashOffers("kprofctl capture --device no", 3), "none\n");
  EXPECT_EQ(BashOffers("kprofctl runs --state fa", 3), "failed\n");
  EXPECT_EQ(BashOffers("kprofctl help sess", 2), "session\n");
}

TEST(CompletionScript, KnowsNoValuesOfWhatIsNotThere) {
  const CommandDescription program = DescribeCommandLine();
  for (const std::string& value : CompletedValues()) {
    const std::string place = value.substr(0, value.find(" --"));
    const std::string option = place.size() == value.size() ? "" : value.substr(place.size() + 1);
    const CommandDescription* at = &program;
    for (size_t begin = 0; begin < place.size();) {
      const size_t end = std::min(place.find(' ', begin), place.size());
      const auto below = std::find_if(at->commands.begin(), at->commands.end(), [&](const CommandDescription& one) {
        return one.name == place.substr(begin, end - begin);
      });
      ASSERT_NE(below, at->commands.end()) << value;
      at = &*below;
      begin = end + 1;
    }
    const bool has_option = std::any_of(at->options.begin(), at->options.end(), [&](const OptionDescription& one) {
      return one.takes_value && std::count(one.spellings.begin(), one.spellings.end(), option) == 1;
    });
    EXPECT_TRUE(option.empty() || has_option) << value;
  }
}

TEST(CompletionScript, RefusesOtherShells) {
  EXPECT_EQ(CompletionScript("tcsh", DescribeCommandLine()).status().code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace kprof::cli
