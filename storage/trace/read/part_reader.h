// Reads a finished trace part (docs/trace_format.md): what is small at once, columns when they are asked for. A part is
// untrusted: what contradicts itself, or is not what was written, fails with kStorageBroken, naming the part and the
// place, and whoever uses values (the number of a string, of a track) asks here, where each is checked.
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

// What reading a trace part fails with. A part is untrusted: what SQLite finds wrong with its file is the part's fault,
// not ours.

// kStorageBroken, naming the part.
Status BrokenPart(const std::string& path, std::string why);

// Of what was done with a part: kStorageBroken where SQLite has no better word for it, or takes it for too much.
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

// Some rows of a side table. Its number is no event segment's.
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

  // Fails with kNotFound, and kStorageBroken as CheckPart does. `cache` must outlive it; columns in it outlive the
  // reader: another one of the same file finds them.
  static Result<std::unique_ptr<PartReader>> Open(const std::string& path, ColumnCache& cache);
  PartReader(const PartReader&) = delete;
  PartReader& operator=(const PartReader&) = delete;

  const std::string& path() const { return path_; }
  // Which file it is: a part never changes, and one that takes the place of another has other times. Fails with
  // kNotFound.
  static Result<std::string> ReadIdentity(const std::string& path);
  // That of the file that is open.
  const std::string& identity() const { return identity_; }
  // Frees what it holds for who asks again soon and that may be much: texts, pages.
  void Forget();
  std::optional<int64_t> IntegerFact(std::string_view name) const;
  std::optional<std::string> TextFact(std::string_view name) const;
  // By name, each as text; what tells of the file alone is not among them.
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
  // The same for who makes something of it that is kept (ReadDerived): the column itself takes no place in the cache.
  Result<DecodedColumn> ReadOnce(const Segment& segment, EventColumn column);
  // Of the rows of that shape, in their order. Shape and slot may be any: kStorageBroken where the part has no such
  // column.
  Result<DecodedColumn> ReadArg(const Segment& segment, uint32_t shape, uint32_t slot);
  // Something made of a segment's columns, kept beside them for the next question: `make` is called where it is not
  // there. `number` tells what it is: those who ask agree on it. REQUIRES: it is kFirstDerived or more, below 1,024.
  Result<DecodedColumn> ReadDerived(const Segment& segment, uint32_t number,
                                    const std::function<Result<std::vector<int64_t>>()>& make);
  // Between what its values are, without reading them; nothing where there is no such column. Both are what was
  // written; of a part that lies, Read's values may be others.
  Result<std::optional<ColumnBounds>> ReadBounds(const Segment& segment, EventColumn column);

  // Strings have numbers less than this.
  int64_t strings_end() const { return strings_.end(); }
  // The text of a number; kStorageBroken where there is none.
  Result<std::string> ReadString(int64_t id) { return strings_.Read(id); }
  // Its number, where it is one of the part's. Looks at all of them.
  Result<std::optional<int64_t>> FindString(std::string_view text) { return strings_.Find(text); }
  // All of them, until `see` returns false.
  Status ForEachString(const std::function<bool(int64_t id, std::string_view text)>& see) {
    return strings_.ForEach(see);
  }

  // kStorageBroken, naming the part: for who finds in its values what cannot be.
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
  // Of that shape.
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
    int64_t segment = 0;                       // which have ids from 1 on
    std::unordered_map<int64_t, size_t> rows;  // by shape
  };
  Counted counted_;  // where arguments were read last
};

// Segments that overlap in time, put together: whoever goes along the slices of a part in the order of time reads a
// cluster at once.
//
// Pure; any thread.

// Those that overlap, or one that overlaps none; those that follow begin when it has ended.
using SegmentCluster = std::vector<Segment>;
// In the order of time.
std::vector<SegmentCluster> ClustersOf(std::span<const Segment> segments);

}  // namespace kprof
