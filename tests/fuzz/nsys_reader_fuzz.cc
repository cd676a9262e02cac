// Files that claim to be Nsight Systems exports, with anything in them. The reader ends, in bounds, with whole batches:
// columns of one size, no number of a string, track or shape that was not given before, nothing that segments cannot
// be made of. The seeds are databases of some rows each, made by sqlite3 with pages of 512 bytes, so that a changed
// byte is likely to matter.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/nsys/nsys_reader.h"
#include "storage/base/descriptors.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {
namespace {

class Checked : public BatchSink {
 public:
  Status Take(TraceBatch batch) override {
    for (const std::string& text : batch.strings) KPROF_CHECK(!text.empty());
    strings_ += batch.strings.size();
    tracks_ += batch.tracks.size();
    for (const TrackKey& key : batch.tracks) {
      for (const uint32_t text : {key.pid, key.tid, key.name, key.series}) KPROF_CHECK(text < strings_);
    }
    for (const TrackRow& row : batch.known_tracks) KPROF_CHECK(row.id < tracks_ && !row.kind.empty());
    shapes_.insert(shapes_.end(), batch.shapes.begin(), batch.shapes.end());
    for (size_t index = 0; index < kEventKinds; ++index) Check(static_cast<EventKind>(index + 1), batch);
    return OkStatus();
  }
  Status SetFact(std::string_view name, std::string_view) override { return CheckName(name); }
  Status SetFact(std::string_view name, int64_t) override { return CheckName(name); }
  void Warn(std::string what) override { KPROF_CHECK(!what.empty()); }
  Status Progress(int64_t bytes, int64_t) override {
    KPROF_CHECK(bytes >= bytes_);
    bytes_ = bytes;
    return OkStatus();
  }

 private:
  static Status CheckName(std::string_view name) {
    KPROF_CHECK(!name.empty());
    return OkStatus();
  }

  void Check(EventKind kind, TraceBatch& batch) {
    EventRows& rows = batch.of(kind);
    for (const EventColumn column : ColumnsOf(kind)) KPROF_CHECK(rows.of(column).size() == rows.size());
    if (rows.size() == 0) return;
    for (const int64_t track : rows.of(EventColumn::kTrack))
      KPROF_CHECK(track >= 0 && static_cast<size_t>(track) < tracks_);
    for (const EventColumn column : {EventColumn::kName, EventColumn::kCategory}) {
      for (const int64_t text : rows.of(column)) KPROF_CHECK(text >= 0 && static_cast<size_t>(text) < strings_);
    }
    std::vector<size_t> of_shape(shapes_.size());
    for (const int64_t shape : rows.of(EventColumn::kShape)) ++of_shape.at(static_cast<size_t>(shape));
    for (size_t shape = 1; shape < shapes_.size(); ++shape) {
      if (of_shape[shape] == 0) continue;
      for (size_t slot = 0; slot < shapes_[shape].size(); ++slot) {
        const ArgSlot& of = shapes_[shape][slot];
        KPROF_CHECK(of.key < strings_);
        const std::vector<int64_t>& values = rows.args.at(shape).at(slot);
        KPROF_CHECK(values.size() == (HasColumn(of.type) ? of_shape[shape] : 0));
        if (!IsStringNumber(of.type)) continue;
        for (const int64_t text : values) KPROF_CHECK(text >= 0 && static_cast<size_t>(text) < strings_);
      }
    }
    SegmentMaker maker(kind, rows, 100);
    for (size_t i = 0; i < maker.segments(); ++i) maker.Encode(i);
  }

  size_t strings_ = 1;
  size_t tracks_ = 0;
  int64_t bytes_ = 0;
  std::vector<ArgShape> shapes_{ArgShape()};
};

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  LooksLikeNsys({reinterpret_cast<const char*>(data), size});
  const UniqueFd fd(::memfd_create("export", MFD_CLOEXEC));
  KPROF_CHECK(fd.valid() && ::write(fd.get(), data, size) == static_cast<ssize_t>(size));
  const Result<SourceFile> source = SourceFile::Open(fd.get(), "export");
  KPROF_CHECK(source.ok());
  Checked sink;
  const Status status = ReadNsys(*source, sink);
  KPROF_CHECK(status.ok() || status.code() == ErrorCode::kBadInput || status.code() == ErrorCode::kNotFound);
  return 0;
}
