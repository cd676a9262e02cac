// A look at a source, before it is read whole: takes from its reader what it says of its job, and nothing else, and
// ends the reading once that is known.
//
// One thread. Used in the process that takes hostile files apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/source/source_facts.h"
#include "storage/base/status.h"
#include "storage/trace/write/trace_batch.h"

namespace kprof {

class LookingSink final : public BatchSink {
 public:
  // `needs_time_alone`: the source says nothing of a job, so that enough is known with the time of its first events.
  // `joins_trace`, `is_table`: as the facts have it.
  explicit LookingSink(bool needs_time_alone = false, bool joins_trace = false, bool is_table = false)
      : has_distribution_(needs_time_alone) {
    facts_.joins_trace = joins_trace;
    facts_.is_table = is_table;
  }

  // The reader fails with what this returns once enough is known; see has_enough().
  Status Take(TraceBatch batch) override;
  Status SetFact(std::string_view name, std::string_view text) override;
  Status SetFact(std::string_view name, int64_t value) override;
  void SeeJob(std::string_view key, std::string_view value) override;
  void Warn(std::string /*what*/) override {}
  Status Progress(int64_t bytes, int64_t events) override;

  // True: the reader was ended, and its failure is none.
  bool has_enough() const { return has_enough_; }
  SourceFacts TakeFacts();

 private:
  Status EndIfEnough();

  SourceFacts facts_;
  std::optional<int64_t> base_unix_ns_;
  std::optional<int64_t> first_ns_;  // of the events of the first batch that has any
  bool has_distribution_ = false;    // or there will be none
  bool begins_at_base_ = false;      // base_unix_ns_ says when it began
  bool has_enough_ = false;
};

// Reads the list of groups of a distributedInfo (pg_config): those with a name and with ranks, as far as the limits of
// source_facts.h go. Pure; reads as json_scan.h does.
std::vector<SourceFacts::Group> ReadRankGroups(std::string_view json);

}  // namespace kprof
