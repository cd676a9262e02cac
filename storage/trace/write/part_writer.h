// Writes a trace part (docs/trace_format.md). There is no part until Finish: the data lies in PATH.partial. This object
// removes that file if Finish does not succeed, and the next start does if we die before.
//
// The input may come from a process that reads hostile files: it is checked here, and later readers trust nothing in
// it. Input that no reader would take (a number that comes twice, a segment without its columns, a time out of all
// bounds) fails with kBadInput.
//
// After the first failure all calls fail with it, Finish too: there will be no part.
//
// One thread. Blocks.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/db/db.h"
#include "storage/db/statement.h"
#include "storage/trace/levels/slice_pass.h"
#include "storage/trace/write/part_sink.h"

namespace kprof {

// Sets a finished part's fact `rank`, its rank in a job. The rank may depend on other parts of the run, so it is known
// only once the part is finished. None: nobody knows it, and the fact is removed. Returns the part's size; the change
// is on the disk then. Blocks.
// REQUIRES: nobody has opened the part, and nobody will before this returns. If it fails, or we die before it returns,
// the part is of no use any more.
Result<int64_t> SetPartRank(Files& files, const std::string& path, std::optional<int64_t> rank);

constexpr std::string_view kPartialEnding = ".partial";
constexpr int kPartPageBytes = 8192;
constexpr int kSmallPartPageBytes = 1024;

class PartWriter : public PartSink {
 public:
  // REQUIRES: `path` ends in kTracePartEnding. Removes a .partial that an earlier writer left. `vfs`: Db::Options::vfs.
  // `page_bytes`: fewer for a small source, as most of its file would be the unused rest of pages.
  static Result<std::unique_ptr<PartWriter>> Create(Files& files, const std::string& path, const char* vfs = nullptr,
                                                    int page_bytes = kPartPageBytes);
  ~PartWriter() override;
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;

  Status AddString(uint32_t id, std::string_view text) override;
  Status AddTrack(const TrackRow& track) override;
  Status AddShape(uint32_t id, const ArgShape& shape) override;
  Status AddSegment(const EncodedSegment& segment) override;
  Status AddSideTable(uint32_t id, const SideTable& table) override;
  Status AddSideSegment(const EncodedSideSegment& segment) override;
  Status SetFact(std::string_view name, std::string_view text) override;
  Status SetFact(std::string_view name, int64_t value) override;

  // Makes all that did not come with the events: depths and levels of detail of slices, levels of instants and of
  // counters. Then makes the file a part: it is on the disk when this returns, and its name once the caller has synced
  // the folder. Nothing more may be added. Returns its size. Fails with kCancelled when told to stop, with kBadInput
  // when numbers of strings, tracks or shapes are not dense, and as those passes do.
  Result<int64_t> Finish(const std::stop_token& stop);

  int64_t rows(EventKind kind) const { return rows_[IndexOf(kind)]; }
  int64_t tracks() const { return tracks_.count; }
  // True if there is a side table of that name.
  bool HasSideTable(std::string_view name) const;
  // About the depths that Finish made; says nothing of depths that came with their slices.
  const MadeDepths& made_depths() const { return made_depths_; }

 private:
  // Numbers that come once each.
  struct Numbers {
    int64_t count = 0;
    int64_t end = 0;  // one more than the greatest
    void Note(int64_t number);
  };
  PartWriter(Files& files, std::string path);
  Status Open(const char* vfs, int page_bytes);
  Status Insert(Statement& insert);
  Status InsertTrack(const TrackRow& track);
  Status InsertShape(uint32_t id, const ArgShape& shape);
  Status InsertSegment(const EncodedSegment& segment);
  Status InsertSideTable(uint32_t id, const SideTable& table);
  Status InsertSideSegment(const EncodedSideSegment& segment);
  Status Keep(Status status);
  Status CheckNumbers() const;
  Status AddStringBlocks();
  Status SetSideRows();
  Status SetColumnChecksums();
  Status MakeDepthsAndLevels(const std::stop_token& stop);
  Status MakeLevelsOfPoints(const std::stop_token& stop);
  Status CloseTables(const std::stop_token& stop);
  Result<int64_t> MakeDurable();

  Files& files_;
  const std::string path_;
  std::optional<Db> db_;  // until it is finished
  Status failed_;         // the first one
  std::array<int64_t, kEventKinds> rows_{};
  Numbers strings_;
  std::map<int64_t, uint64_t> string_blocks_;  // their checksums so far
  Numbers tracks_;
  Numbers shapes_;
  int64_t segments_ = 0;
  struct WrittenSideTable {
    SideTable table;
    int64_t rows = 0;
  };
  std::vector<WrittenSideTable> side_tables_;  // by number
  int64_t side_bytes_ = 0;
  std::array<std::vector<WrittenSegment>, kEventKinds> written_;  // slices, instants, counters
  size_t with_depth_ = 0;                                         // of the slices
  MadeDepths made_depths_;
  bool finished_ = false;
};

}  // namespace kprof
