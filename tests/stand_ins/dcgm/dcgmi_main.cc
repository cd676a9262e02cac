// dcgmi: DCGM's tool, as far as its subcommand `profile` goes: its flags, what it prints (errors on stdout, too), and
// how it ends, with the lowest byte of what the library returned.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/clocks/pause/dcgm_abi.h"

extern "C" {
kprof::dcgm::Return dcgmInit();
kprof::dcgm::Return dcgmShutdown();
kprof::dcgm::Return dcgmConnect_v2(const char*, kprof::dcgm::ConnectParams*, kprof::dcgm::Handle*);
kprof::dcgm::Return dcgmDisconnect(kprof::dcgm::Handle);
kprof::dcgm::Return dcgmProfPause(kprof::dcgm::Handle);
kprof::dcgm::Return dcgmProfResume(kprof::dcgm::Handle);
const char* errorString(kprof::dcgm::Return);
}

namespace kprof {
namespace {

enum class What { kNothing, kList, kPause, kResume };

struct Asked {
  What what = What::kNothing;
  std::string host = "localhost";
  std::string wrong;
};

Asked Parse(const std::vector<std::string>& words) {
  Asked asked;
  const auto choose = [&asked](What what) {
    if (asked.what != What::kNothing) asked.wrong = "Mutually exclusive argument already set!";
    asked.what = what;
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-l" || word == "--list") {
      choose(What::kList);
    } else if (word == "--pause") {
      choose(What::kPause);
    } else if (word == "--resume") {
      choose(What::kResume);
    } else if (word == "-j" || word == "--json") {
      continue;
    } else if ((word == "--host" || word == "-i" || word == "--gpu-id" || word == "-g" || word == "--group-id") &&
               i + 1 < words.size()) {
      ++i;
      if (word == "--host") asked.host = words[i];
    } else {
      asked.wrong = "Couldn't find match for argument";
    }
  }
  if (asked.what == What::kNothing && asked.wrong.empty()) asked.wrong = "One and only one argument is required";
  return asked;
}

void List() {
  std::printf(
      "+----------------+----------+------------------------------------------------------+\n"
      "| Group.Subgroup | Field ID | Field Tag                                            |\n"
      "+================+==========+======================================================+\n"
      "| A.1            | 1002     | sm_active                                            |\n"
      "| A.1            | 1003     | sm_occupancy                                         |\n"
      "| B.0            | 1005     | dram_active                                          |\n"
      "| E.0            | 1001     | gr_engine_active                                     |\n"
      "+----------------+----------+------------------------------------------------------+\n");
}

int Execute(const Asked& asked) {
  dcgmInit();
  dcgm::ConnectParams params{};
  params.version = dcgm::kConnectParamsVersion2;
  dcgm::Handle handle = 0;
  const dcgm::Return connected = dcgmConnect_v2(asked.host.c_str(), &params, &handle);
  if (connected != dcgm::kOk) {
    std::printf("Error: unable to establish a connection to the specified host: %s\n", asked.host.c_str());
    std::printf("Error: Unable to connect to host engine. %s.\n", errorString(connected));
    return connected;
  }
  if (asked.what == What::kList) {
    List();
    return dcgm::kOk;
  }
  const bool pauses = asked.what == What::kPause;
  const char* const action = pauses ? "pause" : "resume";
  const dcgm::Return returned = pauses ? dcgmProfPause(handle) : dcgmProfResume(handle);
  if (returned == dcgm::kOk) {
    std::printf("Successfully %sd profiling.\n", action);
  } else {
    std::printf("Error: unable to %s profiling metrics: %s.\n", action, errorString(returned));
  }
  dcgmDisconnect(handle);
  dcgmShutdown();
  return returned;
}

int Main(int argc, char** argv) {
  if (argc < 2 || std::strcmp(argv[1], "profile") != 0) {
    std::printf("Error: the stand-in for dcgmi has but one subcommand, profile\n");
    return dcgm::kBadParam;
  }
  const Asked asked = Parse(std::vector<std::string>(argv + 2, argv + argc));
  if (!asked.wrong.empty()) {
    std::printf("Error: PARSE ERROR: %s\n", asked.wrong.c_str());
    return dcgm::kBadParam;
  }
  return Execute(asked);
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  return kprof::Main(argc, argv);
}
