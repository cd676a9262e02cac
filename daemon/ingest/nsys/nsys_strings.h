// The texts that tables of an Nsight Systems export refer to by number: StringIds, which holds each text once, and the
// ENUM_ tables, which name the values of a column. StringIds also holds private texts, so only those are read that an
// event refers to.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/ingest/nsys/nsys_database.h"

namespace kprof {

// Finds rows of a table of an Nsight Systems export by their `id`, through its primary key. Tables that other tools
// have rewritten may have none: they get an index of row ids here, at the first use.
//
// One thread. At most 64 MiB.
class NsysIdLookup {
 public:
  // `database` is borrowed, and must outlive this. A table that is not there has no rows.
  NsysIdLookup(NsysDatabase& database, std::string table, std::vector<std::string> columns);

  // Calls `take` with each row of that id, until it returns false. False: reading failed.
  bool Find(int64_t id, const std::function<bool(const NsysQuery&)>& take);
  bool Has(const std::string& column) const;

 private:
  void MakeIndex();
  bool Run(int64_t argument, const std::function<bool(const NsysQuery&)>& take, bool* wants_more);

  NsysDatabase& database_;
  const NsysTable* table_;
  std::optional<NsysQuery> query_;
  bool by_row_id_ = false;
  bool has_index_ = false;
  std::vector<std::pair<int64_t, int64_t>> rows_;  // id and row id, sorted
};

class NsysStrings {
 public:
  // Both are borrowed.
  NsysStrings(NsysDatabase& database, BatchBuilder& batch);

  // A text of StringIds; nothing: it has no such id.
  std::optional<std::string> Text(int64_t id);
  // The same, as the number of a string of the batch.
  std::optional<uint32_t> Number(int64_t id);
  // The number of texts that could not be read because the file is damaged.
  int64_t failed() const { return failed_; }

 private:
  BatchBuilder& batch_;
  NsysIdLookup lookup_;
  std::unordered_map<int64_t, std::optional<uint32_t>> numbers_;
  int64_t failed_ = 0;
};

class NsysEnums {
 public:
  using Labels = std::unordered_map<int64_t, std::string>;

  explicit NsysEnums(NsysDatabase& database) : database_(database) {}

  // The labels of a table; empty: there is none of that name. Valid as long as this lives.
  const Labels& Of(const std::string& table);

 private:
  NsysDatabase& database_;
  std::map<std::string, Labels> tables_;
};

}  // namespace kprof
