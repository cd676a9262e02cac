// Makes the checksums of a part's strings and tables right again, as somebody would who changed them and knows our
// format. What cannot be read or written stays as it is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "storage/db/statement.h"
#include "storage/trace/format/part_checksums.h"

namespace kprof {

inline void SealPart(const std::string& path) {
  Result<Db> db = Db::Open(path, {.mode = Db::Mode::kReadWrite, .wal = false});
  if (!db.ok()) return;
  std::map<int64_t, uint64_t> blocks;
  Statement strings(*db, "SELECT id, value FROM string");
  while (strings.Next()) {
    blocks[strings.Integer(0) / kBlockStrings] += StringChecksum(strings.Integer(0), strings.Text(1));
  }
  static_cast<void>(db->Execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; DELETE FROM string_block"));
  for (const auto& [block, checksum] : blocks) {
    Statement insert(*db, "INSERT INTO string_block (id, checksum) VALUES (?1, ?2)");
    static_cast<void>(insert.Bind(1, block).Bind(2, static_cast<int64_t>(checksum)).Run());
  }
  std::vector<int64_t> segments;
  Statement select(*db, "SELECT id FROM segment");
  while (select.Next()) segments.push_back(select.Integer(0));
  for (const int64_t segment : segments) {
    const Result<int64_t> columns = ChecksumColumns(*db, segment);
    if (!columns.ok()) return;
    Statement set(*db, "UPDATE segment SET columns = ?2 WHERE id = ?1");
    static_cast<void>(set.Bind(1, segment).Bind(2, *columns).Run());
  }
  const Result<int64_t> checksum = ChecksumTables(*db);
  if (!checksum.ok()) return;
  Statement set(*db, "INSERT OR REPLACE INTO fact (name, value) VALUES ('checksum', ?1)");
  static_cast<void>(set.Bind(1, *checksum).Run());
}

}  // namespace kprof
