// Reads a finished trace part (docs/trace_format.md): small tables at once, columns when they are asked for. A part is
// untrusted: contents that contradict themselves, or are not those that were written, fail with kStorageBroken, naming
// the part and the place. Users of values (the number of a string, of a track) ask here, where each is checked.
//
// One thread at a time; several readers may have the same part open.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"
#include "storage/trace/format/column_store.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/side_table.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace/read/column_cache.h"
#include "storage/trace/read/part_strings.h"

namespace kprof {

// A failure for a broken part: kStorageBroken, naming the part.
Status BrokenPart(const std::string& path, std::string why);

// A failure of work on a part. A part is untrusted, so a fault that SQLite finds in its file is the part's and not
// ours: kStorageBroken in place of kInternal, and of kUsage (a value that is too large).
Status OfPart(const Status& status, std::string what);

struct Segment {
  int64_t id = 0;
  EventKind kind = EventKind::kSlice;
  uint32_t rows = 0;
  int64_t first_row = 0;  // of its kind, in this part
  int64_t min_time_ns = 0;
  int64_t max_time_ns = 0;
  int64_t max_end_ns = 0;
  int64_t columns = 0;  // ChecksumColumns
};

// Some rows of a side table. Its id is no event segment's.
struct SideSegment {
  int64_t id = 0;
  uint32_t rows = 0;
  int64_t first_row = 0;  // of its table
};

struct StoredSideTable {
  SideTable table;
  int64_t rows = 0;
  std::vector<SideSegment> segments;  // in the order of their ids
};

class PartReader {
 public:
  static constexpr uint32_t kFirstDerived = 512;

  // Fails with kNotFound, and with kStorageBroken as CheckPart does. `cache` must outlive the reader. Columns in it
  // outlive the reader: another reader of the same file finds them.
  static Result<std::unique_ptr<PartReader>> Open(const std::string& path, ColumnCache& cache);
  PartReader(const PartReader&) = delete;
  PartReader& operator=(const PartReader&) = delete;

  const std::string& path() const { return path_; }
  // Tells which file it is: a part never changes, and a file that takes the place of another has other times. Fails
  // with kNotFound.
  static Result<std::string> ReadIdentity(const std::string& path);
  // The identity of the open file.
  const std::string& identity() const { return identity_; }
  // Frees large memory that is kept for the next question: texts, pages.
  void Forget();
  std::optional<int64_t> IntegerFact(std::string_view name) const;
  std::optional<std::string> TextFact(std::string_view name) const;
  // All facts by name, each as text, without the checksum, which tells of the file alone.
  const std::map<std::string, std::string, std::less<>>& facts() const { return facts_; }

  // By their numbers, from 0 on.
  const std::vector<TrackRow>& tracks() const { return tracks_; }
  // By their numbers; 0 has no slots. Their keys are numbers of strings.
  const std::vector<ArgShape>& shapes() const { return shapes_; }
  // In the order of their ids.
  std::span<const Segment> segments(EventKind kind) const { return segments_[IndexOf(kind)]; }
  int64_t rows(EventKind kind) const { return rows_[IndexOf(kind)]; }

  // By their numbers.
  std::span<const StoredSideTable> side_tables() const { return side_tables_; }
  // Null where there is none.
  const StoredSideTable* FindSideTable(std::string_view name) const;
  // All rows of a segment of a side table. REQUIRES: its table has that column.
  Result<DecodedColumn> ReadSide(const SideSegment& segment, size_t column);

  // All rows of a segment.
  Result<DecodedColumn> Read(const Segment& segment, EventColumn column);
  // Reads a column that a kept one is made of (ReadDerived): the column itself takes no place in the cache.
  Result<DecodedColumn> ReadOnce(const Segment& segment, EventColumn column);
  // The slot's values for the rows of that shape, in their order. Shape and slot may be any: kStorageBroken when the
  // part has no such column.
  Result<DecodedColumn> ReadArg(const Segment& segment, uint32_t shape, uint32_t slot);
  // A column that is made of a segment's columns, and kept beside them for the next question. Calls `make` when it is
  // not there. `number` names it, and all callers agree on it. REQUIRES: `number` is kFirstDerived or more, below
  // 1,024.
  Result<DecodedColumn> ReadDerived(const Segment& segment, uint32_t number,
                                    const std::function<Result<std::vector<int64_t>>()>& make);
  // The least and the greatest value of a column, without reading it; nothing when there is no such column. Both are as
  // they were written; in a part that lies, values of Read may be beyond them.
  Result<std::optional<ColumnBounds>> ReadBounds(const Segment& segment, EventColumn column);

  // Strings have numbers less than this.
  int64_t strings_end() const { return strings_.end(); }
  // The text of a string's number; kStorageBroken when there is none.
  Result<std::string> ReadString(int64_t id) { return strings_.Read(id); }
  // The number of a text, if the part has it. Looks at all strings.
  Result<std::optional<int64_t>> FindString(std::string_view text) { return strings_.Find(text); }
  // Calls `see` for each string, until it returns false.
  Status ForEachString(const std::function<bool(int64_t id, std::string_view text)>& see) {
    return strings_.ForEach(see);
  }

  // kStorageBroken, naming the part: for callers that find impossible values in it.
  Status Broken(std::string what) const;

 private:
  PartReader(std::string path, std::string identity, Db db, ColumnCache& cache);
  Status Load();
  Status LoadFacts();
  Status LoadTracks();
  Status LoadShapes();
  Status LoadSegments();
  Status LoadSideTables();
  Status LoadSideColumns();
  Status LoadSideSegments();
  Status CheckTables();
  Result<DecodedColumn> ReadPlace(const ColumnPlace& place, size_t rows, bool is_kept);
  // The number of the segment's rows of that shape.
  Result<size_t> CountRows(const Segment& segment, uint32_t shape);

  const std::string path_;
  const std::string identity_;
  Db db_;
  ColumnCache& cache_;
  const uint64_t number_;
  std::map<std::string, std::string, std::less<>> facts_;
  std::vector<TrackRow> tracks_;
  std::vector<ArgShape> shapes_;
  std::array<std::vector<Segment>, kEventKinds> segments_;
  std::array<int64_t, kEventKinds> rows_{};
  std::vector<StoredSideTable> side_tables_;
  std::unordered_set<int64_t> segment_ids_;  // of events; while it is opened
  PartStrings strings_;
  std::unordered_map<int64_t, std::array<std::optional<ColumnBounds>, kEventColumns>> bounds_;
  struct Counted {
    int64_t segment = 0;                       // 0: none, as ids begin at 1
    std::unordered_map<int64_t, size_t> rows;  // by shape
  };
  Counted counted_;  // where arguments were read last
};

// Segments that overlap in time, or one that overlaps no other. The next cluster begins when this one has ended. A
// reader that goes along the slices of a part in the order of time reads a cluster at once.
using SegmentCluster = std::vector<Segment>;
// The clusters of these segments, in the order of time. Pure; any thread.
std::vector<SegmentCluster> ClustersOf(std::span<const Segment> segments);

}  // namespace kprof
