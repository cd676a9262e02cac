// A table of the configuration file, read key by key: types and ranges are checked here, what nobody asked for is an
// error, and each complaint is kept with its line: "kprofd.toml:12: 'limit_runs' is not a whole number...".
// Includes toml++, the one way that this house does.
#pragma once

#define TOML_EXCEPTIONS 0
// toml++ 3.3 asserts of a table's name what it goes on to check ("[$]"): a debug build would die of its input.
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

// What is wrong with the settings, all of it: of each thing its place, "kprofd.toml:12", and why, in one line.
// One thread.
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

class TableReader {
 public:
  // Both must outlive it. `name` stands before each complaint: "[queue]: ".
  TableReader(const toml::table& table, ConfigErrors& complaints, std::string name);

  // Each leaves `out` alone when the key is absent or wrong.
  void Text(std::string_view key, std::string& out);
  void Boolean(std::string_view key, bool& out);
  void Integer(std::string_view key, int64_t low, int64_t high, int64_t& out);
  // A number from 1 that is part of another setting's: more than that, written down, would never count.
  void Part(std::string_view key, std::string_view whole_key, int64_t whole, int64_t& out);
  void Integers(std::string_view key, std::vector<int>& out);
  // The strings of a list, those that are some.
  struct Line {
    std::string text;
    uint64_t line = 0;
  };
  std::vector<Line> Texts(std::string_view key);
  // A text that is a path from the root. A service has no working folder that anybody means.
  void AbsolutePath(std::string_view key, std::string& out);
  // Null when absent or of another type.
  const toml::table* Table(std::string_view key);
  const toml::array* Tables(std::string_view key);

  // For what only the caller can check.
  void Complain(const toml::node& node, std::string_view key, const std::string& why);
  void ComplainAt(uint64_t line, const std::string& why);

  // When all is read: complains of keys that nobody asked for.
  void Finish();

 private:
  const toml::node* Take(std::string_view key);

  const toml::table& table_;
  ConfigErrors& complaints_;
  const std::string name_;
  std::set<std::string> taken_;
};

}  // namespace kprof
