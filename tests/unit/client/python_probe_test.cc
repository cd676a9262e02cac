#include "client/cli/verbs/python_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof::cli {
namespace {

using testing::HasSubstr;

class PythonProbeTest : public testing::Test {
 protected:
  // An interpreter that answers so.
  std::string Interpreter(const std::string& script) {
    std::string path = folder_ / "python3";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    ::chmod(path.c_str(), 0755);
    return path;
  }

  TemporaryFolder folder_{TemporaryFolder::Holds::kPrograms};
};

TEST_F(PythonProbeTest, TellsWhatTheInterpreterHas) {
  const Result<PythonFacts> facts =
      AskPython({Interpreter("[ \"$1 $2\" = '-u -c' ] && printf '/p/kprof/neuron.py\\n1.5\\n'"), "-u"});
  ASSERT_TRUE(facts.ok()) << facts.status().ToString();
  EXPECT_EQ(facts->recorder, "/p/kprof/neuron.py");
  EXPECT_EQ(facts->scalene, "1.5");
}

TEST_F(PythonProbeTest, FailsForOneThatIsNotThereOrDoesNotAnswer) {
  EXPECT_EQ(AskPython({folder_ / "none"}).status().code(), ErrorCode::kToolMissing);
  const Status silent = AskPython({Interpreter("exit 1")}).status();
  EXPECT_EQ(silent.code(), ErrorCode::kToolMissing);
  EXPECT_THAT(silent.ToString(), HasSubstr("no answer"));
}

}  // namespace
}  // namespace kprof::cli
