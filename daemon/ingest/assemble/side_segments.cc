#include "daemon/ingest/assemble/side_segments.h"

#include <algorithm>
#include <future>
#include <utility>

#include "storage/trace/format/column_codec.h"

namespace kprof {

// The pool has it until `encoded` is set.
struct SideSegments::Segment {
  uint32_t table = 0;
  SideRows rows;
  EncodedSideSegment made;
  std::future<void> encoded;
};

SideSegments::SideSegments(PartSink& part, WorkerPool& pool) : part_(part), pool_(pool) {}

SideSegments::~SideSegments() {
  for (const std::unique_ptr<Segment>& segment : under_way_) segment->encoded.wait();
}

Status SideSegments::Add(SideRows rows) {
  auto table = std::find_if(tables_.begin(), tables_.end(),
                            [&](const SideRows& known) { return known.table.name == rows.table.name; });
  if (table == tables_.end()) {
    RETURN_IF_ERROR(part_.AddSideTable(static_cast<uint32_t>(tables_.size()), rows.table));
    tables_.emplace_back(rows.table);
    table = tables_.end() - 1;
  }
  if (table->table != rows.table) {
    return Fail(ErrorCode::kInternal, "keep its side table " + rows.table.name, "its columns are not always the same");
  }
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    std::vector<int64_t>& to = table->columns[i];
    if (to.empty()) {
      to.swap(rows.columns[i]);
    } else {
      to.insert(to.end(), rows.columns[i].begin(), rows.columns[i].end());
    }
  }
  return OkStatus();
}

Status SideSegments::Finish() {
  RETURN_IF_ERROR(FlushFrom(1));
  while (!under_way_.empty()) RETURN_IF_ERROR(GiveFirst());
  return OkStatus();
}

Status SideSegments::FlushFrom(size_t least_rows) {
  for (size_t table = 0; table < tables_.size(); ++table) {
    SideRows& rows = tables_[table];
    size_t done = 0;
    while (rows.size() - done >= least_rows && done < rows.size()) {
      const size_t count = std::min(rows.size() - done, kMaxSegmentRows);
      RETURN_IF_ERROR(Start(table, done, count));
      done += count;
    }
    for (std::vector<int64_t>& column : rows.columns) {
      column.erase(column.begin(), column.begin() + static_cast<ptrdiff_t>(done));
    }
  }
  return OkStatus();
}

Status SideSegments::Start(size_t table, size_t first, size_t rows) {
  if (under_way_.size() >= kMostUnderWay) RETURN_IF_ERROR(GiveFirst());
  auto segment = std::make_unique<Segment>();
  segment->table = static_cast<uint32_t>(table);
  for (const std::vector<int64_t>& column : tables_[table].columns) {
    const auto begin = column.begin() + static_cast<ptrdiff_t>(first);
    segment->rows.columns.emplace_back(begin, begin + static_cast<ptrdiff_t>(rows));
  }
  const auto encoded = std::make_shared<std::promise<void>>();  // who waits may go before it has been set whole
  segment->encoded = encoded->get_future();
  const auto encode = [&into = *segment, encoded] {
    into.made = EncodeSideRows(into.table, into.rows, 0, into.rows.size());
    into.rows = {};
    encoded->set_value();
  };
  if (!pool_.Submit(encode).ok()) encode();  // its queue is full: then here
  under_way_.push_back(std::move(segment));
  return OkStatus();
}

Status SideSegments::GiveFirst() {
  const std::unique_ptr<Segment> segment = std::move(under_way_.front());
  under_way_.pop_front();
  segment->encoded.wait();
  return part_.AddSideSegment(segment->made);
}

}  // namespace kprof
