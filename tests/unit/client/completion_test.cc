#include "client/cli/verbs/verb_completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

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

TEST(CompletionScript, RefusesOtherShells) {
  EXPECT_EQ(CompletionScript("tcsh", DescribeCommandLine()).status().code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace kprof::cli
