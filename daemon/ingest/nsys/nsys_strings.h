// The texts that tables of an Nsight Systems export have numbers of: StringIds, which holds each text once (also such
// that nobody may see, so only those are read that an event refers to), and the ENUM_ tables, which name the values of
// a column.
//
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/ingest/nsys/nsys_database.h"
#include "daemon/ingest/nsys/nsys_id_lookup.h"

namespace kprof {

class NsysStrings {
 public:
  // Both are borrowed.
  NsysStrings(NsysDatabase& database, BatchBuilder& batch);

  // Of StringIds; nothing where it has no such id.
  std::optional<std::string> Text(int64_t id);
  // The same, as the number of a string of the batch.
  std::optional<uint32_t> Number(int64_t id);
  // How many could not be read as the file is damaged.
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

  // Of a table of labels; empty where there is none of that name. Valid as long as this lives.
  const Labels& Of(const std::string& table);

 private:
  NsysDatabase& database_;
  std::map<std::string, Labels> tables_;
};

}  // namespace kprof
