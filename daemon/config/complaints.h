// What is wrong with the settings, all of it: of each thing its place, "kprofd.toml:12", and why, in one line.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

class ConfigErrors {
 public:
  // `file`: as it stands before each line's number; empty: there is no file.
  explicit ConfigErrors(std::string file) : file_(std::move(file)) {}

  // Of a line of the file: kUsage.
  void AddAt(uint64_t line, const std::string& why);
  // Of no line; what is ok is none.
  void Add(const Status& status);

  const std::string& file() const { return file_; }
  size_t size() const { return lines_.size() + others_.size(); }

  // Those of lines first, in the order of the file.
  std::vector<Status> InOrder() const;

 private:
  struct Line {
    uint64_t number;
    std::string why;
  };

  const std::string file_;
  std::vector<Line> lines_;
  std::vector<Status> others_;
};

}  // namespace kprof
