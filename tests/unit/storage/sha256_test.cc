#include "storage/crypto/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

TEST(Sha256Test, MatchesPublishedExamples) {
  EXPECT_EQ(Sha256Of(std::string()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Of(std::string("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, DoesNotDependOnHowTheStreamIsCut) {
  std::string text(100'000, 'x');
  Sha256 sum;
  for (size_t i = 0; i < text.size(); i += 777) sum.Add(std::string_view(text).substr(i, 777));
  EXPECT_EQ(sum.Finish(), Sha256Of(text));
}

}  // namespace
}  // namespace kprof
