// In place of libFuzzer, where there is none: feeds one fuzz target, whose name comes first, with nothing, as libFuzzer
// does first, and with the files named, and those in the folders named, once each. A target that finds something
// aborts, after the name of the file that did it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

// All targets; CMakeLists.txt makes the list of the files x_fuzz.cc.
struct FuzzTarget {
  const char* name;
  int (*test)(const uint8_t* data, size_t size);
};
extern const FuzzTarget kFuzzTargets[];
extern const size_t kFuzzTargetCount;

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  const FuzzTarget* const end = kFuzzTargets + kFuzzTargetCount;
  const FuzzTarget* const target = std::find_if(
      kFuzzTargets, end, [&](const FuzzTarget& one) { return argc > 1 && one.name == std::string_view(argv[1]); });
  if (target == end) {
    std::fprintf(stderr, "usage: replay_fuzz TARGET FILE|FOLDER...\n");
    return 2;
  }
  std::vector<std::string> paths;
  for (int i = 2; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      paths.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(argv[i])) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::fprintf(stderr, "nothing\n");
  const uint8_t none = 0;
  target->test(&none, 0);
  for (const std::string& path : paths) {
    std::fprintf(stderr, "%s\n", path.c_str());
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (!file.is_open() || file.bad()) return 1;
    target->test(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::fprintf(stderr, "%zu files\n", paths.size());
  return paths.empty() ? 1 : 0;
}
