// Reads a table of the configuration file, key by key. Types and ranges are checked here; a key that nobody reads is an
// error. Each complaint is kept with its line: "kprofd.toml:12: 'limit_runs' is not a whole number...". No other file
// includes toml++.
#pragma once

#define TOML_EXCEPTIONS 0
// toml++ 3.3 asserts something about a table's name before it checks that itself ("[$]"): a debug build would die of
// its input.
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

// All complaints about the settings, each in one line: its place, "kprofd.toml:12", and why. One thread.
class ConfigErrors {
 public:
  // `file`: goes before each line's number; empty: there is no file.
  explicit ConfigErrors(std::string file) : file_(std::move(file)) {}

  // A complaint about a line of the file: kUsage.
  void AddAt(uint64_t line, const std::string& why);
  // A complaint without a line. An ok status is none.
  void Add(const Status& status);

  const std::string& file() const { return file_; }
  size_t size() const { return lines_.size() + others_.size(); }

  // Complaints with lines first, in the order of the file.
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

// Reads one table. One thread.
class TableReader {
 public:
  // Both must outlive it. `name` stands before each complaint: "[queue]: ".
  TableReader(const toml::table& table, ConfigErrors& complaints, std::string name);

  // All leave `out` alone when the key is absent or wrong.
  void Text(std::string_view key, std::string& out);
  void Boolean(std::string_view key, bool& out);
  void Integer(std::string_view key, int64_t low, int64_t high, int64_t& out);
  // A number from 1 to `whole`, another setting: a larger number would never count.
  void Part(std::string_view key, std::string_view whole_key, int64_t whole, int64_t& out);
  void Integers(std::string_view key, std::vector<int>& out);
  // The strings of a list; other elements are complaints.
  struct Line {
    std::string text;
    uint64_t line = 0;
  };
  std::vector<Line> Texts(std::string_view key);
  // A path from the root: the working folder of a service means nothing to anybody.
  void AbsolutePath(std::string_view key, std::string& out);
  // Null when absent or of another type.
  const toml::table* Table(std::string_view key);
  const toml::array* Tables(std::string_view key);

  // For complaints that only the caller can find.
  void Complain(const toml::node& node, std::string_view key, const std::string& why);
  void ComplainAt(uint64_t line, const std::string& why);

  // Call it when all is read: complains of keys that nobody has read.
  void Finish();

 private:
  const toml::node* Take(std::string_view key);

  const toml::table& table_;
  ConfigErrors& complaints_;
  const std::string name_;
  std::set<std::string> taken_;
};

}  // namespace kprof
