#include "client/cli/grammar/command_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace kprof::cli {
namespace {

using testing::ElementsAre;

TEST(CommandDescription, NamesVerbsAndOptionsButNoPositionalArguments) {
  CLI::App app("does things", "program");
  app.set_help_flag();
  CLI::App* verb = app.add_subcommand("get", "Fetch one");
  verb->set_help_flag();
  std::string text;
  bool flag = false;
  verb->add_option("NAME", text, "Which");
  verb->add_option("-o,--output", text, "Where to");
  verb->add_flag("--quiet", flag, "Say nothing");

  CommandDescription description = DescribeApp(app);
  EXPECT_EQ(description.name, "program");
  EXPECT_EQ(description.help, "does things");
  ASSERT_EQ(description.commands.size(), 1u);
  EXPECT_EQ(description.commands[0].name, "get");
  const std::vector<OptionDescription>& options = description.commands[0].options;
  ASSERT_EQ(options.size(), 2u);
  EXPECT_THAT(options[0].spellings, ElementsAre("-o", "--output"));
  EXPECT_TRUE(options[0].takes_value);
  EXPECT_EQ(options[0].help, "Where to");
  EXPECT_THAT(options[1].spellings, ElementsAre("--quiet"));
  EXPECT_FALSE(options[1].takes_value);
}

}  // namespace
}  // namespace kprof::cli
