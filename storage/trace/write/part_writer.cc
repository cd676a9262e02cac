#include "storage/trace/write/part_writer.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "storage/db/db.h"
#include "storage/db/layout.h"
#include "storage/db/statement.h"
#include "storage/trace/format/column_store.h"
#include "storage/trace/format/event_time.h"
#include "storage/trace/format/part_checksums.h"
#include "storage/trace/format/part_schema.h"
#include "storage/trace/levels/point_pass.h"

namespace kprof {
namespace {

// As when it was written: of a run that does not come to its end nothing is kept.
constexpr const char* kBeginRank =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
    "BEGIN";
constexpr const char* kSetRankFact = "INSERT OR REPLACE INTO fact (name, value) VALUES (?1, ?2)";
constexpr const char* kForgetRank = "DELETE FROM fact WHERE name = 'rank'";

Status SetFact(Db& db, const char* name, int64_t value) {
  Statement set(db, kSetRankFact);
  return set.BindText(1, name).Bind(2, value).Run();
}

Status Rewrite(const std::string& path, std::optional<int64_t> rank) {
  ASSIGN_OR_RETURN(Db db, Db::Open(path, {.mode = Db::Mode::kReadWrite, .wal = false}));
  RETURN_IF_ERROR(db.Execute(kBeginRank));
  RETURN_IF_ERROR(rank ? SetFact(db, "rank", *rank) : db.Execute(kForgetRank));
  ASSIGN_OR_RETURN(const int64_t checksum, ChecksumTables(db));
  RETURN_IF_ERROR(SetFact(db, kChecksumFact, checksum));
  return db.Execute("COMMIT");
}

}  // namespace

Result<int64_t> SetPartRank(Files& files, const std::string& path, std::optional<int64_t> rank) {
  const Status written = Rewrite(path, rank);
  if (!written.ok()) return written.In("write the rank of trace part " + path);
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.OpenForWrite(path));
  ASSIGN_OR_RETURN(const int64_t size, file->ReadSize());
  RETURN_IF_ERROR(file->Sync());
  return size;
}

namespace {

constexpr size_t kKeptWriterStatements = 16;
constexpr int64_t kCacheBytes = 4 << 20;

// Nothing is kept of one whose writing was cut short: nothing is written twice, nor waited for but at the end.
constexpr const char* kBeginPart =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
    "BEGIN";
constexpr const char* kAddString = "INSERT INTO string (id, value) VALUES (?1, ?2)";
constexpr const char* kAddStringBlock = "INSERT INTO string_block (id, checksum) VALUES (?1, ?2)";
constexpr const char* kAddTrack =
    "INSERT INTO track (id, kind, name, pid, tid, process, device, stream, sort_index)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
constexpr const char* kAddSlot = "INSERT INTO shape (id, slot, key, type, beside) VALUES (?1, ?2, ?3, ?4, ?5)";
constexpr const char* kAddSegment =
    "INSERT INTO segment (id, kind, rows, first_row, min_time_ns, max_time_ns, max_end_ns, columns)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)";
constexpr const char* kAddSideTable = "INSERT INTO side_table (id, name, rows) VALUES (?1, ?2, 0)";
constexpr const char* kAddSideColumn =
    "INSERT INTO side_column (side_table, position, name, type, unit) VALUES (?1, ?2, ?3, ?4, ?5)";
constexpr const char* kAddSideSegment = "INSERT INTO side_segment (id, side_table, rows) VALUES (?1, ?2, ?3)";
constexpr const char* kSetSideRows = "UPDATE side_table SET rows = ?2 WHERE id = ?1";
constexpr const char* kWriterSegments = "SELECT id FROM segment";
constexpr const char* kSetColumns = "UPDATE segment SET columns = ?2 WHERE id = ?1";
// Where they came with some slices only, or with slices in another order.
constexpr const char* kForgetDepthsAndLevels = R"sql(
DELETE FROM segment_column WHERE id IN (SELECT id << 30 | 11 FROM segment WHERE kind = 1);
DELETE FROM segment_column WHERE id >> 30 IN (SELECT id FROM segment WHERE kind = 6);
DELETE FROM segment WHERE kind = 6;
)sql";
constexpr const char* kSetPartFact = "INSERT OR REPLACE INTO fact (name, value) VALUES (?1, ?2)";

void BindMaybeText(Statement& statement, int index, const std::optional<std::string>& text) {
  if (text) {
    statement.BindText(index, *text);
  } else {
    statement.BindNull(index);
  }
}

bool HasLevels(EventKind kind) {
  return kind == EventKind::kSlice || kind == EventKind::kInstant || kind == EventKind::kCounter;
}

Status Bad(std::string why) {
  return Fail(ErrorCode::kBadInput, "write a trace part", std::move(why));
}

Status TooMany(const std::string& what) {
  return Bad("it has more than " + what);
}

// What a reader would find wrong with it when it opens the part, or reads a column of the event.
Status CheckSegment(const EncodedSegment& segment) {
  const auto kind = static_cast<size_t>(segment.kind);
  if (kind < 1 || kind > kEventKinds) return Bad("there is no kind " + std::to_string(kind) + " of events");
  const std::string name = "a segment of kind " + std::to_string(kind);
  if (segment.rows < 1 || segment.rows > kMaxSegmentRows) {
    return Bad(name + " has " + std::to_string(segment.rows) + " rows");
  }
  if (!IsEventTime(segment.min_time_ns) || !IsEventTime(segment.max_time_ns) || !IsEventTime(segment.max_end_ns) ||
      segment.min_time_ns > segment.max_time_ns || segment.max_time_ns > segment.max_end_ns) {
    return Bad(name + " is between no times");
  }
  std::set<std::pair<uint32_t, uint32_t>> columns;
  for (const EncodedSegment::Column& column : segment.columns) {
    const bool of_event = column.shape == kNoArgs;
    const bool is_there = of_event ? column.column >= 1 && column.column <= kEventColumns && column.rows == segment.rows
                                   : column.shape < kMostShapes && column.column < kMostShapeSlots && column.rows >= 1;
    if (is_there && column.rows <= segment.rows && columns.emplace(column.shape, column.column).second) continue;
    return Bad(name + " has " + std::to_string(column.rows) + " rows of column " + std::to_string(column.column) +
               " of shape " + std::to_string(column.shape));
  }
  for (const EventColumn column : ColumnsOf(segment.kind)) {
    if (columns.count({kNoArgs, static_cast<uint32_t>(column)}) > 0) continue;
    return Bad(name + " has no column " + std::to_string(static_cast<int>(column)));
  }
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<PartWriter>> PartWriter::Create(Files& files, const std::string& path, const char* vfs,
                                                       int page_bytes) {
  KPROF_CHECK(path.ends_with(kTracePartEnding));
  RETURN_IF_ERROR(files.Remove(path + std::string(kPartialEnding)));
  std::unique_ptr<PartWriter> writer(new PartWriter(files, path));
  RETURN_IF_ERROR(writer->Open(vfs, page_bytes));
  return writer;
}

PartWriter::PartWriter(Files& files, std::string path) : files_(files), path_(std::move(path)) {}

PartWriter::~PartWriter() {
  db_.reset();
  if (!finished_) static_cast<void>(files_.Remove(path_ + std::string(kPartialEnding)));
}

Status PartWriter::Open(const char* vfs, int page_bytes) {
  ASSIGN_OR_RETURN(Db db, Db::Open(path_ + std::string(kPartialEnding), {.mode = Db::Mode::kReadWrite,
                                                                         .wal = false,
                                                                         .vfs = vfs,
                                                                         .cache_bytes = kCacheBytes,
                                                                         .kept_statements = kKeptWriterStatements}));
  db_ = std::move(db);
  RETURN_IF_ERROR(db_->Execute(("PRAGMA page_size = " + std::to_string(page_bytes)).c_str()));
  RETURN_IF_ERROR(db_->Execute(kBeginPart));
  return CreatePartTables(*db_);
}

void PartWriter::Numbers::Note(int64_t number) {
  ++count;
  end = std::max(end, number + 1);
}

Status PartWriter::AddString(uint32_t id, std::string_view text) {
  RETURN_IF_ERROR(failed_);
  strings_.Note(id);
  string_blocks_[id / kBlockStrings] += StringChecksum(id, text);
  Statement insert(*db_, kAddString);
  return Keep(Insert(insert.Bind(1, int64_t{id}).BindText(2, text)));
}

Status PartWriter::AddTrack(const TrackRow& track) {
  RETURN_IF_ERROR(failed_);
  return Keep(InsertTrack(track));
}

Status PartWriter::AddShape(uint32_t id, const ArgShape& shape) {
  RETURN_IF_ERROR(failed_);
  return Keep(InsertShape(id, shape));
}

Status PartWriter::AddSegment(const EncodedSegment& segment) {
  RETURN_IF_ERROR(failed_);
  return Keep(InsertSegment(segment));
}

Status PartWriter::AddSideTable(uint32_t id, const SideTable& table) {
  RETURN_IF_ERROR(failed_);
  return Keep(InsertSideTable(id, table));
}

Status PartWriter::AddSideSegment(const EncodedSideSegment& segment) {
  RETURN_IF_ERROR(failed_);
  return Keep(InsertSideSegment(segment));
}

bool PartWriter::HasSideTable(std::string_view name) const {
  return std::any_of(side_tables_.begin(), side_tables_.end(),
                     [&](const WrittenSideTable& written) { return written.table.name == name; });
}

Status PartWriter::SetFact(std::string_view name, std::string_view text) {
  RETURN_IF_ERROR(failed_);
  Statement insert(*db_, kSetPartFact);
  return Keep(insert.BindText(1, name).BindText(2, text).Run());
}

Status PartWriter::SetFact(std::string_view name, int64_t value) {
  RETURN_IF_ERROR(failed_);
  Statement insert(*db_, kSetPartFact);
  return Keep(insert.BindText(1, name).Bind(2, value).Run());
}

Result<int64_t> PartWriter::Finish(const std::stop_token& stop) {
  const Status made = failed_.ok() ? Keep(CloseTables(stop)) : failed_;
  if (!made.ok()) return made.In("write trace part " + path_);
  Result<int64_t> size = MakeDurable();
  if (!size.ok()) return Keep(size.status()).In("write trace part " + path_);
  return size;
}

// SQLite does not undo what a statement did that failed: there is no journal. So the first failure is the last thing
// that is done.
Status PartWriter::Keep(Status status) {
  if (!status.ok()) failed_ = status;
  return status;
}

Status PartWriter::Insert(Statement& insert) {
  Status done = insert.Run();
  if (done.code() != ErrorCode::kInternal) return done;
  if ((sqlite3_extended_errcode(db_->handle()) & 0xff) != SQLITE_CONSTRAINT) return done;
  return Bad("a number comes twice, or is of what did not come before: " + done.why());
}

Status PartWriter::InsertTrack(const TrackRow& track) {
  tracks_.Note(track.id);
  Statement insert(*db_, kAddTrack);
  insert.Bind(1, int64_t{track.id}).BindText(2, track.kind).BindText(3, track.name);
  BindMaybeText(insert, 4, track.pid);
  BindMaybeText(insert, 5, track.tid);
  BindMaybeText(insert, 6, track.process);
  return Insert(insert.BindMaybe(7, track.device).BindMaybe(8, track.stream).BindMaybe(9, track.sort_index));
}

Status PartWriter::InsertShape(uint32_t id, const ArgShape& shape) {
  if (id >= kMostShapes) return TooMany(std::to_string(kMostShapes) + " kinds of argument lists");
  if (shape.size() > kMostShapeSlots) return TooMany(std::to_string(kMostShapeSlots) + " arguments in one event");
  // That one has no rows in the table: it is in every part.
  if (shape.empty() != (id == kNoArgs)) return Bad("shape " + std::to_string(id) + " has no slots, or is none");
  if (id != kNoArgs) shapes_.Note(id - 1);
  for (size_t slot = 0; slot < shape.size(); ++slot) {
    const auto type = static_cast<size_t>(shape[slot].type);
    if (type < 1 || type > kArgTypes) return Bad("there is no type " + std::to_string(type) + " of arguments");
    Statement insert(*db_, kAddSlot);
    insert.Bind(1, int64_t{id}).Bind(2, static_cast<int64_t>(slot)).Bind(3, int64_t{shape[slot].key});
    RETURN_IF_ERROR(Insert(insert.BindText(4, ArgTypeName(shape[slot].type)).Bind(5, int64_t{shape[slot].of_event})));
  }
  return OkStatus();
}

Status PartWriter::InsertSegment(const EncodedSegment& segment) {
  RETURN_IF_ERROR(CheckSegment(segment));
  if (segments_ + 1 >= kMostSegments) return TooMany(std::to_string(kMostSegments) + " segments");
  const int64_t id = ++segments_;
  int64_t& rows = rows_[IndexOf(segment.kind)];
  Statement insert(*db_, kAddSegment);
  insert.Bind(1, id).Bind(2, static_cast<int64_t>(segment.kind)).Bind(3, int64_t{segment.rows}).Bind(4, rows);
  insert.Bind(5, segment.min_time_ns).Bind(6, segment.max_time_ns).Bind(7, segment.max_end_ns);
  RETURN_IF_ERROR(insert.Run());
  for (const EncodedSegment::Column& column : segment.columns) {
    RETURN_IF_ERROR(WriteColumn(*db_, {id, column.shape, column.column}, column.rows, column.encoded));
  }
  rows += segment.rows;
  if (HasLevels(segment.kind)) {
    written_[IndexOf(segment.kind)].push_back(
        {segment.kind, id, segment.rows, segment.min_time_ns, segment.max_time_ns});
  }
  if (segment.kind == EventKind::kSlice) {
    for (const EncodedSegment::Column& column : segment.columns) {
      with_depth_ += column.shape == kNoArgs && column.column == static_cast<uint32_t>(EventColumn::kDepth);
    }
  }
  return OkStatus();
}

Status PartWriter::InsertSideTable(uint32_t id, const SideTable& table) {
  RETURN_IF_ERROR(CheckSideTable(table));
  if (id != side_tables_.size()) return Bad("its side tables are not numbered from 0");
  if (side_tables_.size() >= kMostSideTables) return TooMany(std::to_string(kMostSideTables) + " side tables");
  if (HasSideTable(table.name)) return Bad("its side table " + table.name + " comes twice");
  if (side_tables_.empty()) RETURN_IF_ERROR(CreateSideTables(*db_));
  Statement insert(*db_, kAddSideTable);
  RETURN_IF_ERROR(insert.Bind(1, int64_t{id}).BindText(2, table.name).Run());
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const SideColumn& column = table.columns[i];
    Statement add(*db_, kAddSideColumn);
    add.Bind(1, int64_t{id}).Bind(2, static_cast<int64_t>(i)).BindText(3, column.name);
    RETURN_IF_ERROR(add.BindText(4, SideTypeName(column.type)).BindText(5, column.unit).Run());
  }
  side_tables_.push_back({table, 0});
  return OkStatus();
}

// Its columns stand beside those of events, under a segment's number of their own.
Status PartWriter::InsertSideSegment(const EncodedSideSegment& segment) {
  if (segment.table >= side_tables_.size()) return Bad("rows come of a side table that did not come before");
  WrittenSideTable& table = side_tables_[segment.table];
  if (segment.rows < 1 || segment.rows > kMaxSegmentRows || segment.columns.size() != table.table.columns.size()) {
    return Bad("a piece of its side table " + table.table.name + " has " + std::to_string(segment.rows) + " rows of " +
               std::to_string(segment.columns.size()) + " columns");
  }
  if (table.rows + segment.rows > kMostSideRows) {
    return TooMany(std::to_string(kMostSideRows) + " rows in its side table " + table.table.name);
  }
  for (const EncodedColumn& column : segment.columns) side_bytes_ += static_cast<int64_t>(column.bytes.size());
  if (side_bytes_ > kMostSideBytes) return TooMany(std::to_string(kMostSideBytes >> 20) + " MiB of side tables");
  if (segments_ + 1 >= kMostSegments) return TooMany(std::to_string(kMostSegments) + " segments");
  const int64_t id = ++segments_;
  Statement insert(*db_, kAddSideSegment);
  RETURN_IF_ERROR(insert.Bind(1, id).Bind(2, int64_t{segment.table}).Bind(3, int64_t{segment.rows}).Run());
  for (size_t i = 0; i < segment.columns.size(); ++i) {
    RETURN_IF_ERROR(WriteColumn(*db_, SidePlaceOf(id, i), segment.rows, segment.columns[i]));
  }
  table.rows += segment.rows;
  return OkStatus();
}

Status PartWriter::CheckNumbers() const {
  for (const auto& [numbers, name] : {std::pair(&strings_, "strings"), {&tracks_, "tracks"}, {&shapes_, "shapes"}}) {
    if (numbers->count == numbers->end) continue;
    return Bad("of its " + std::string(name) + " up to " + std::to_string(numbers->end) + " only " +
               std::to_string(numbers->count) + " came");
  }
  return OkStatus();
}

Status PartWriter::AddStringBlocks() {
  for (const auto& [block, checksum] : string_blocks_) {
    Statement insert(*db_, kAddStringBlock);
    RETURN_IF_ERROR(insert.Bind(1, block).Bind(2, static_cast<int64_t>(checksum)).Run());
  }
  return OkStatus();
}

Status PartWriter::SetSideRows() {
  for (size_t id = 0; id < side_tables_.size(); ++id) {
    Statement set(*db_, kSetSideRows);
    RETURN_IF_ERROR(set.Bind(1, static_cast<int64_t>(id)).Bind(2, side_tables_[id].rows).Run());
  }
  return OkStatus();
}

// Once all have all their columns.
Status PartWriter::SetColumnChecksums() {
  std::vector<int64_t> segments;
  Statement select(*db_, kWriterSegments);
  while (select.Next()) segments.push_back(select.Integer(0));
  RETURN_IF_ERROR(select.status());
  for (const int64_t segment : segments) {
    ASSIGN_OR_RETURN(const int64_t checksum, ChecksumColumns(*db_, segment));
    Statement set(*db_, kSetColumns);
    RETURN_IF_ERROR(set.Bind(1, segment).Bind(2, checksum).Run());
  }
  return OkStatus();
}

Status PartWriter::MakeDepthsAndLevels(const std::stop_token& stop) {
  RETURN_IF_ERROR(db_->Execute(kForgetDepthsAndLevels));
  rows_[IndexOf(EventKind::kSummary)] = 0;
  const auto write = [this](const EncodedSegment& segment) { return AddSegment(segment); };
  ASSIGN_OR_RETURN(made_depths_, kprof::MakeDepthsAndLevels(*db_, written_[IndexOf(EventKind::kSlice)], write, stop));
  if (made_depths_.without > 0) RETURN_IF_ERROR(SetFact("slices_without_depth", made_depths_.without));
  return made_depths_.crowded > 0 ? SetFact("slices_too_deep", made_depths_.crowded) : OkStatus();
}

Status PartWriter::MakeLevelsOfPoints(const std::stop_token& stop) {
  const auto write = [this](const EncodedSegment& segment) { return AddSegment(segment); };
  if (rows(EventKind::kInstantSummary) == 0) {
    RETURN_IF_ERROR(MakeInstantLevels(*db_, written_[IndexOf(EventKind::kInstant)], write, stop));
  }
  if (rows(EventKind::kCounterSummary) > 0) return OkStatus();
  return MakeCounterLevels(*db_, written_[IndexOf(EventKind::kCounter)], write, stop);
}

Status PartWriter::CloseTables(const std::stop_token& stop) {
  RETURN_IF_ERROR(CheckNumbers());
  if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "close its tables", "it was cancelled");
  if (with_depth_ != written_[IndexOf(EventKind::kSlice)].size()) RETURN_IF_ERROR(MakeDepthsAndLevels(stop));
  RETURN_IF_ERROR(MakeLevelsOfPoints(stop));
  for (size_t kind = 0; kind < kEventKinds; ++kind) {
    const std::string name(EventKindName(static_cast<EventKind>(kind + 1)));
    RETURN_IF_ERROR(SetFact("rows." + name, rows_[kind]));
  }
  RETURN_IF_ERROR(SetFact("complete", int64_t{1}));
  RETURN_IF_ERROR(AddStringBlocks());
  RETURN_IF_ERROR(SetSideRows());
  RETURN_IF_ERROR(SetColumnChecksums());
  ASSIGN_OR_RETURN(const int64_t checksum, ChecksumTables(*db_));
  RETURN_IF_ERROR(SetFact(kChecksumFact, checksum));
  return db_->Execute("COMMIT");
}

Result<int64_t> PartWriter::MakeDurable() {
  const std::string partial = path_ + std::string(kPartialEnding);
  db_.reset();
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, files_.OpenForWrite(partial));
  ASSIGN_OR_RETURN(const int64_t size, file->ReadSize());
  RETURN_IF_ERROR(file->Sync());
  RETURN_IF_ERROR(files_.Rename(partial, path_));
  finished_ = true;
  return size;
}

}  // namespace kprof
