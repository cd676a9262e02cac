// What the columns of a table of an Nsight Systems export refer to. Exports say it themselves, in comments of their
// CREATE TABLE statements ("REFERENCES StringIds(id)"); for those that lost them we know it of columns by their names.
//
// Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace kprof {

class ColumnTargets {
 public:
  // `sql` is the text of the table's CREATE TABLE.
  ColumnTargets(std::string_view table, std::string_view sql);

  // StringIds, a table of names ENUM_... or one of call chains, by their ids; else empty.
  std::string Of(std::string_view column) const;

 private:
  const std::string table_;
  std::map<std::string, std::string, std::less<>> of_comments_;
};

inline constexpr std::string_view kStringTable = "StringIds";
inline constexpr std::string_view kEnumPrefix = "ENUM_";
inline constexpr std::string_view kCallchainEnding = "_CALLCHAINS";

}  // namespace kprof
