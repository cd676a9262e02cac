#include "storage/trace/read/part_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "storage/db/statement.h"
#include "storage/trace/format/event_time.h"
#include "storage/trace/format/part_checksums.h"
#include "storage/trace/format/part_schema.h"

namespace kprof {
namespace {

constexpr const char* kRemedy = "import its source again";

}  // namespace

Status BrokenPart(const std::string& path, std::string why) {
  return Fail(ErrorCode::kStorageBroken, "read trace part " + path, std::move(why), kRemedy);
}

Status OfPart(const Status& status, std::string what) {
  const bool is_file = status.code() == ErrorCode::kInternal || status.code() == ErrorCode::kUsage;
  if (!is_file) return status.In(std::move(what));
  return Fail(ErrorCode::kStorageBroken, status.what(), status.why(), kRemedy).In(std::move(what));
}

std::vector<SegmentCluster> ClustersOf(std::span<const Segment> segments) {
  std::vector<Segment> sorted(segments.begin(), segments.end());
  std::sort(sorted.begin(), sorted.end(), [](const Segment& a, const Segment& b) {
    return std::pair(a.min_time_ns, a.id) < std::pair(b.min_time_ns, b.id);
  });
  std::vector<SegmentCluster> clusters;
  int64_t end = 0;
  for (const Segment& segment : sorted) {
    // What was cut of one ordered whole may have one time on both sides of the cut.
    if (clusters.empty() || segment.min_time_ns >= end) {
      clusters.emplace_back();
      end = segment.max_time_ns;
    }
    clusters.back().push_back(segment);
    end = std::max(end, segment.max_time_ns);
  }
  return clusters;
}

namespace {

constexpr size_t kKeptReaderStatements = 16;
constexpr int64_t kPageCacheBytes = 2 << 20;

constexpr const char* kFacts = "SELECT name, value FROM fact";
constexpr const char* kTracks =
    "SELECT id, kind, name, pid, tid, process, device, stream, sort_index FROM track ORDER BY id";
constexpr const char* kShapes = "SELECT id, slot, key, type, beside FROM shape ORDER BY id, slot";
constexpr const char* kReaderSegments =
    "SELECT id, kind, rows, min_time_ns, max_time_ns, max_end_ns, columns FROM segment ORDER BY id";
constexpr const char* kReadSideTables = "SELECT id, name, rows FROM side_table ORDER BY id";
constexpr const char* kReadSideColumns =
    "SELECT side_table, position, name, type, unit FROM side_column ORDER BY side_table, position";
constexpr const char* kReadSideSegments = "SELECT id, side_table, rows FROM side_segment ORDER BY id";
constexpr const char* kBounds = "SELECT id, min, max FROM segment_column WHERE id BETWEEN ?1 AND ?2";

std::optional<std::string> MaybeText(const Statement& row, int column) {
  if (row.IsNull(column)) return std::nullopt;
  return std::string(row.Text(column));
}

}  // namespace

Result<std::string> PartReader::ReadIdentity(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    const std::string act = "open trace part " + path;
    if (errno != ENOENT) return FailErrno(errno, act);
    return Fail(ErrorCode::kNotFound, act, "the file is gone (a backup of the catalog has no traces)",
                "import the trace again, or delete the run");
  }
  std::string identity;
  for (const auto number : {static_cast<int64_t>(facts.st_dev), static_cast<int64_t>(facts.st_ino),
                            int64_t{facts.st_size}, int64_t{facts.st_mtim.tv_sec}, int64_t{facts.st_mtim.tv_nsec},
                            int64_t{facts.st_ctim.tv_sec}, int64_t{facts.st_ctim.tv_nsec}}) {
    identity += std::to_string(number) + " ";
  }
  return identity;
}

Result<std::unique_ptr<PartReader>> PartReader::Open(const std::string& path, ColumnCache& cache) {
  const std::string what = "open trace part " + path;
  Result<Db> db = Db::Open(path, {.mode = Db::Mode::kReadOnly,
                                  .immutable = true,
                                  .cache_bytes = kPageCacheBytes,
                                  .kept_statements = kKeptReaderStatements});
  if (!db.ok()) return OfPart(db.status(), what);
  ASSIGN_OR_RETURN(std::string identity, ReadIdentity(path));
  std::unique_ptr<PartReader> reader(new PartReader(path, std::move(identity), *std::move(db), cache));
  const Status loaded = reader->Load();
  if (!loaded.ok()) return OfPart(loaded, what);
  return reader;
}

PartReader::PartReader(std::string path, std::string identity, Db db, ColumnCache& cache)
    : path_(std::move(path)),
      identity_(std::move(identity)),
      db_(std::move(db)),
      cache_(cache),
      number_(cache.NumberOf(identity_)),
      strings_(db_, path_) {}

void PartReader::Forget() {
  sqlite3_db_release_memory(db_.handle());
  strings_.Forget();
  counted_ = {};
}

Status PartReader::Load() {
  RETURN_IF_ERROR(CheckPart(db_));
  RETURN_IF_ERROR(LoadFacts());
  RETURN_IF_ERROR(LoadTracks());
  RETURN_IF_ERROR(LoadShapes());
  RETURN_IF_ERROR(strings_.Load());
  RETURN_IF_ERROR(LoadSegments());
  ASSIGN_OR_RETURN(const bool has_side_tables, HasSideTables(db_));
  if (has_side_tables) RETURN_IF_ERROR(LoadSideTables());
  segment_ids_ = {};
  return CheckTables();
}

Status PartReader::LoadFacts() {
  Statement select(db_, kFacts);
  while (select.Next()) facts_.emplace(select.Text(0), select.Text(1));
  return select.status();
}

Status PartReader::LoadTracks() {
  Statement select(db_, kTracks);
  while (select.Next()) {
    if (select.Integer(0) != static_cast<int64_t>(tracks_.size())) return Broken("its tracks are not numbered from 0");
    TrackRow track;
    track.id = static_cast<uint32_t>(tracks_.size());
    track.kind = select.Text(1);
    track.name = select.Text(2);
    track.pid = MaybeText(select, 3);
    track.tid = MaybeText(select, 4);
    track.process = MaybeText(select, 5);
    track.device = select.MaybeInteger(6);
    track.stream = select.MaybeInteger(7);
    track.sort_index = select.MaybeInteger(8);
    tracks_.push_back(std::move(track));
  }
  return select.status();
}

Status PartReader::LoadShapes() {
  shapes_.resize(1);
  Statement select(db_, kShapes);
  while (select.Next()) {
    const int64_t id = select.Integer(0);
    const std::optional<ArgType> type = ArgTypeByName(select.Text(3));
    const bool goes_on = id == static_cast<int64_t>(shapes_.size()) - 1;
    if (id < 1 || id >= kMostShapes || !type || (!goes_on && id != static_cast<int64_t>(shapes_.size())) ||
        select.Integer(1) != (goes_on ? static_cast<int64_t>(shapes_.back().size()) : 0) ||
        select.Integer(1) >= kMostShapeSlots || select.Integer(2) < 0 || select.Integer(2) > UINT32_MAX) {
      return Broken("its shapes are not numbered from 1, or have no such slots");
    }
    if (!goes_on) shapes_.emplace_back();
    shapes_.back().push_back({static_cast<uint32_t>(select.Integer(2)), *type, select.Integer(4) != 0});
  }
  return select.status();
}

Status PartReader::LoadSegments() {
  Statement select(db_, kReaderSegments);
  while (select.Next()) {
    const int64_t kind = select.Integer(1);
    const int64_t rows = select.Integer(2);
    Segment segment;
    segment.id = select.Integer(0);
    segment.min_time_ns = select.Integer(3);
    segment.max_time_ns = select.Integer(4);
    segment.max_end_ns = select.Integer(5);
    segment.columns = select.Integer(6);
    if (kind < 1 || rows < 1 || rows > static_cast<int64_t>(kMaxSegmentRows) || segment.id < 1 ||
        segment.id >= kMostSegments || !IsEventTime(segment.min_time_ns) || !IsEventTime(segment.max_time_ns) ||
        !IsEventTime(segment.max_end_ns) || segment.min_time_ns > segment.max_time_ns ||
        segment.max_time_ns > segment.max_end_ns) {
      return Broken("segment " + std::to_string(segment.id) + " is none");
    }
    segment_ids_.insert(segment.id);
    if (kind > static_cast<int64_t>(kEventKinds)) continue;  // of a later version that we read all the same
    segment.kind = static_cast<EventKind>(kind);
    segment.rows = static_cast<uint32_t>(rows);
    int64_t& all = rows_[IndexOf(segment.kind)];
    segment.first_row = all;
    all += rows;
    segments_[IndexOf(segment.kind)].push_back(segment);
  }
  RETURN_IF_ERROR(select.status());
  for (size_t kind = 0; kind < kEventKinds; ++kind) {
    const std::string name = "rows." + std::string(EventKindName(static_cast<EventKind>(kind + 1)));
    if (IntegerFact(name).value_or(0) == rows_[kind]) continue;
    return Broken("its segments have " + std::to_string(rows_[kind]) + " rows, its fact " + name + " says otherwise");
  }
  return OkStatus();
}

Status PartReader::LoadSideTables() {
  Statement select(db_, kReadSideTables);
  while (select.Next()) {
    if (select.Integer(0) != static_cast<int64_t>(side_tables_.size()) || side_tables_.size() >= kMostSideTables) {
      return Broken("its side tables are not numbered from 0, or too many");
    }
    StoredSideTable table;
    table.table.name = select.Text(1);
    table.rows = select.Integer(2);
    side_tables_.push_back(std::move(table));
  }
  RETURN_IF_ERROR(select.status());
  RETURN_IF_ERROR(LoadSideColumns());
  for (size_t i = 0; i < side_tables_.size(); ++i) {
    const SideTable& table = side_tables_[i].table;
    const Status good = CheckSideTable(table);
    if (!good.ok()) return Broken("its side table " + std::to_string(i) + " is none: " + good.why());
    if (FindSideTable(table.name) != &side_tables_[i]) return Broken("it has two side tables " + table.name);
  }
  return LoadSideSegments();
}

Status PartReader::LoadSideColumns() {
  Statement select(db_, kReadSideColumns);
  while (select.Next()) {
    const int64_t table = select.Integer(0);
    const std::optional<SideType> type = SideTypeByName(select.Text(3));
    if (table < 0 || table >= static_cast<int64_t>(side_tables_.size()) || !type) {
      return Broken("its side tables have columns of no table, or of no type");
    }
    std::vector<SideColumn>& columns = side_tables_[static_cast<size_t>(table)].table.columns;
    if (select.Integer(1) != static_cast<int64_t>(columns.size()) || columns.size() >= kMostSideColumns) {
      return Broken("the columns of its side tables are not numbered from 0, or too many");
    }
    columns.push_back({std::string(select.Text(2)), *type, std::string(select.Text(4))});
  }
  return select.status();
}

Status PartReader::LoadSideSegments() {
  std::unordered_set<int64_t> seen;
  Statement select(db_, kReadSideSegments);
  while (select.Next()) {
    const int64_t id = select.Integer(0);
    const int64_t table = select.Integer(1);
    const int64_t rows = select.Integer(2);
    if (id < 1 || id >= kMostSegments || segment_ids_.contains(id) || !seen.insert(id).second || table < 0 ||
        table >= static_cast<int64_t>(side_tables_.size()) || rows < 1 ||
        rows > static_cast<int64_t>(kMaxSegmentRows)) {
      return Broken("segment " + std::to_string(id) + " of a side table is none");
    }
    std::vector<SideSegment>& segments = side_tables_[static_cast<size_t>(table)].segments;
    const int64_t first_row = segments.empty() ? 0 : segments.back().first_row + segments.back().rows;
    segments.push_back({id, static_cast<uint32_t>(rows), first_row});
  }
  RETURN_IF_ERROR(select.status());
  for (const StoredSideTable& table : side_tables_) {
    const int64_t rows = table.segments.empty() ? 0 : table.segments.back().first_row + table.segments.back().rows;
    if (rows == table.rows) continue;
    return Broken("the segments of its side table " + table.table.name + " have " + std::to_string(rows) +
                  " rows, which says it has " + std::to_string(table.rows));
  }
  return OkStatus();
}

const StoredSideTable* PartReader::FindSideTable(std::string_view name) const {
  for (const StoredSideTable& table : side_tables_) {
    if (table.table.name == name) return &table;
  }
  return nullptr;
}

Result<DecodedColumn> PartReader::ReadSide(const SideSegment& segment, size_t column) {
  return ReadPlace(SidePlaceOf(segment.id, column), segment.rows, true);
}

Status PartReader::CheckTables() {
  ASSIGN_OR_RETURN(const int64_t checksum, ChecksumTables(db_));
  const std::optional<int64_t> written = IntegerFact(kChecksumFact);
  facts_.erase(std::string(kChecksumFact));  // it tells of the file, not of the trace
  if (written == checksum) return OkStatus();
  return Broken("its facts, tracks, shapes or segments are not those that were written: their checksum is another");
}

std::optional<int64_t> PartReader::IntegerFact(std::string_view name) const {
  const auto found = facts_.find(name);
  if (found == facts_.end()) return std::nullopt;
  int64_t value = 0;
  const char* last = found->second.data() + found->second.size();
  const auto [end, error] = std::from_chars(found->second.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

std::optional<std::string> PartReader::TextFact(std::string_view name) const {
  const auto found = facts_.find(name);
  if (found == facts_.end()) return std::nullopt;
  return found->second;
}

Result<DecodedColumn> PartReader::Read(const Segment& segment, EventColumn column) {
  return ReadPlace(PlaceOf(segment.id, column), segment.rows, true);
}

Result<DecodedColumn> PartReader::ReadOnce(const Segment& segment, EventColumn column) {
  return ReadPlace(PlaceOf(segment.id, column), segment.rows, false);
}

Result<DecodedColumn> PartReader::ReadArg(const Segment& segment, uint32_t shape, uint32_t slot) {
  if (shape >= shapes_.size() || slot >= shapes_[shape].size() || !HasColumn(shapes_[shape][slot].type)) {
    return Broken("it has no column for slot " + std::to_string(slot) + " of shape " + std::to_string(shape));
  }
  if (DecodedColumn cached = cache_.Find({number_, ColumnId(segment.id, shape, slot)})) return cached;
  ASSIGN_OR_RETURN(const size_t rows, CountRows(segment, shape));
  return ReadPlace({segment.id, shape, slot}, rows, true);
}

Result<size_t> PartReader::CountRows(const Segment& segment, uint32_t shape) {
  if (counted_.segment != segment.id) {
    ASSIGN_OR_RETURN(const DecodedColumn shapes, Read(segment, EventColumn::kShape));
    counted_ = {segment.id, {}};
    for (const int64_t of_row : *shapes) ++counted_.rows[of_row];
  }
  const auto found = counted_.rows.find(shape);
  return found == counted_.rows.end() ? 0 : found->second;
}

Result<DecodedColumn> PartReader::ReadPlace(const ColumnPlace& place, size_t rows, bool is_kept) {
  const ColumnCache::Key key{number_, ColumnId(place.segment, place.shape, place.column)};
  DecodedColumn cached = cache_.Find(key);
  if (cached != nullptr) return cached;
  Result<std::vector<int64_t>> values = ReadColumn(db_, place);
  if (!values.ok()) return OfPart(values.status(), "read trace part " + path_);
  if (values->size() != rows) {
    return Broken("segment " + std::to_string(place.segment) + " has " + std::to_string(rows) + " rows" +
                  (place.shape == kNoArgs ? "" : " of shape " + std::to_string(place.shape)) + ", its column " +
                  std::to_string(place.column) + " has " + std::to_string(values->size()));
  }
  cached = std::make_shared<const std::vector<int64_t>>(*std::move(values));
  if (is_kept) cache_.Put(key, cached);
  return cached;
}

Result<DecodedColumn> PartReader::ReadDerived(const Segment& segment, uint32_t number,
                                              const std::function<Result<std::vector<int64_t>>()>& make) {
  KPROF_CHECK(number >= kFirstDerived && number < kMostShapeSlots);
  const ColumnCache::Key key{number_, ColumnId(segment.id, 0, number)};
  DecodedColumn cached = cache_.Find(key);
  if (cached != nullptr) return cached;
  ASSIGN_OR_RETURN(std::vector<int64_t> values, make());
  cached = std::make_shared<const std::vector<int64_t>>(std::move(values));
  cache_.Put(key, cached);
  return cached;
}

Result<std::optional<ColumnBounds>> PartReader::ReadBounds(const Segment& segment, EventColumn column) {
  auto found = bounds_.find(segment.id);
  if (found == bounds_.end()) {
    std::array<std::optional<ColumnBounds>, kEventColumns> bounds;
    Statement select(db_, kBounds);
    select.Bind(1, ColumnId(segment.id, 0, 1)).Bind(2, ColumnId(segment.id, 0, kEventColumns));
    while (select.Next()) {
      const int64_t column = select.Integer(0) - ColumnId(segment.id, 0, 0);
      if (column < 1 || column > static_cast<int64_t>(kEventColumns)) {  // a file whose order is broken gives any
        return Broken("the columns of segment " + std::to_string(segment.id) + " are in no order");
      }
      bounds[static_cast<size_t>(column - 1)] = ColumnBounds{select.Integer(1), select.Integer(2)};
    }
    if (!select.status().ok()) return OfPart(select.status(), "read trace part " + path_);
    const Result<int64_t> checksum = ChecksumColumns(db_, segment.id);
    if (!checksum.ok()) return OfPart(checksum.status(), "read trace part " + path_);
    if (*checksum != segment.columns) {
      return Broken("the columns of segment " + std::to_string(segment.id) +
                    " are not those that were written: their checksum is another");
    }
    found = bounds_.emplace(segment.id, bounds).first;
  }
  return found->second[IndexOf(column)];
}

Status PartReader::Broken(std::string what) const {
  return BrokenPart(path_, std::move(what));
}

}  // namespace kprof
