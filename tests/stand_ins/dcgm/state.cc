#include "tests/stand_ins/dcgm/state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace kprof::dcgm_stand_in {
namespace {

// Always written as a whole.
constexpr size_t kFileBytes = 4096;

std::map<std::string, std::string> NormalNode() {
  return {{"engine", "1"},   {"paused", "0"}, {"watched", "1"}, {"devices", "2"},
          {"profiles", "1"}, {"pauses", "0"}, {"resumes", "0"}, {"connects", "0"}};
}

}  // namespace

State::State(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (fd_ < 0 || ::flock(fd_, LOCK_EX) != 0) {
    std::fprintf(stderr, "the stand-in for DCGM cannot have its state in %s\n", path.c_str());
    std::abort();
  }
  std::array<char, kFileBytes> bytes{};
  const ssize_t size = ::pread(fd_, bytes.data(), bytes.size(), 0);
  if (size <= 0) values_ = NormalNode();
  std::istringstream lines(std::string(bytes.data(), size > 0 ? static_cast<size_t>(size) : 0));
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find('=');
    if (equals != std::string::npos) values_[line.substr(0, equals)] = line.substr(equals + 1);
  }
}

State::~State() {
  Write();
  ::close(fd_);
}

long State::Number(const std::string& key) const {
  return std::atol(Text(key).c_str());
}

std::string State::Text(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? "" : found->second;
}

void State::Set(const std::string& key, const std::string& value) {
  values_[key] = value;
  is_changed_ = true;
}

void State::Write() {
  if (!is_changed_) return;
  std::string text;
  for (const auto& [key, value] : values_) text.append(key).append("=").append(value).append("\n");
  text.resize(kFileBytes, '\n');
  if (::pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) std::abort();
  is_changed_ = false;
}

}  // namespace kprof::dcgm_stand_in
