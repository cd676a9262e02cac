// In place of libFuzzer, where there is none: feeds a fuzz target with nothing, as libFuzzer does first, and with the
// files named, and those in the folders named, once each. A target that finds something aborts, after the name of the
// file that did it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      paths.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(argv[i])) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::fprintf(stderr, "nothing\n");
  const uint8_t none = 0;
  LLVMFuzzerTestOneInput(&none, 0);
  for (const std::string& path : paths) {
    std::fprintf(stderr, "%s\n", path.c_str());
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (!file.is_open() || file.bad()) return 1;
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::fprintf(stderr, "%zu files\n", paths.size());
  return paths.empty() ? 1 : 0;
}
