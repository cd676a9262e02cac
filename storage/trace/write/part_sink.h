// Takes the contents of a trace part, piece by piece. A reader of a source fills it, straight into the part or through
// a pipe to the part's writer. Each string, track, shape and segment comes once, by its number, dense from 0. A segment
// comes after the shapes of its events, a shape after the strings of its keys; tracks may come last. Each side table
// comes once, before its rows; the strings of their texts may come later.
//
// One thread at a time. After a failure nothing more may be added.
#pragma once

#include <cstdint>
#include <string_view>

#include "storage/base/status.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/side_table.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {

class PartSink {
 public:
  virtual ~PartSink() = default;
  virtual Status AddString(uint32_t id, std::string_view text) = 0;
  virtual Status AddTrack(const TrackRow& track) = 0;
  virtual Status AddShape(uint32_t id, const ArgShape& shape) = 0;
  virtual Status AddSegment(const EncodedSegment& segment) = 0;
  virtual Status AddSideTable(uint32_t id, const SideTable& table) = 0;
  virtual Status AddSideSegment(const EncodedSideSegment& segment) = 0;
  // A later fact takes the place of one of the same name.
  virtual Status SetFact(std::string_view name, std::string_view text) = 0;
  virtual Status SetFact(std::string_view name, int64_t value) = 0;
};

}  // namespace kprof
