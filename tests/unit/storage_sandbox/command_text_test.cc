#include "storage/sandbox/catalog_module.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(CommandText, QuotesWhatAShellWouldTakeApart) {
  const std::pair<std::string, const char*> table[] = {
      {"", ""},
      {std::string("python3\0train.py\0--lr=0.1\0", 26), "python3 train.py --lr=0.1"},
      {std::string("a b\0", 4), "'a b'"},
      {std::string("\0", 1), "''"},
      {std::string("a\0\0b\0", 5), "a '' b"},
      {std::string("it's\0", 5), "'it'\\''s'"},
      {std::string("$HOME\0*\0", 8), "'$HOME' '*'"},
      {std::string("\xc3\xa4\0", 3), "'\xc3\xa4'"},
      {std::string("a\nb\0", 4), "$'a\\x0ab'"},
      {std::string("x\xff'\\\0", 5), "$'x\\xff\\'\\\\'"},
      {"no end", "'no end'"},
  };
  for (const auto& [arguments, text] : table) EXPECT_EQ(CommandText(arguments), text);
}

}  // namespace
}  // namespace kprof
