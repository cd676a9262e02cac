// A SELECT of ids under construction: its text, and its values in the order of their question marks.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

struct IdQuery {
  std::string sql;
  std::vector<std::variant<int64_t, std::string>> values;

  template <typename... Values>
  void Add(const std::string& text, const Values&... added) {
    sql += text;
    (values.emplace_back(added), ...);
  }
};

// "?, ?, ?"
std::string Placeholders(size_t count);

Result<std::vector<std::string>> SelectIds(Db& db, const IdQuery& query);

// The first text after all that start with `prefix`; empty when there is none.
std::string EndOfPrefix(std::string prefix);

}  // namespace kprof
