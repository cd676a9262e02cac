// A source that comes bit by bit while somebody reads it: from a thread of its own, into a file in memory.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "daemon/ingest/source/source_file.h"
#include "storage/base/descriptors.h"

namespace kprof {

class GrowingSource {
 public:
  GrowingSource() : fd_(::memfd_create("source", MFD_CLOEXEC)) {}
  ~GrowingSource() {
    if (thread_.joinable()) thread_.join();
  }
  GrowingSource(const GrowingSource&) = delete;
  GrowingSource& operator=(const GrowingSource&) = delete;

  int fd() const { return fd_.get(); }
  SourceGrowth& growth() { return growth_; }

  void Add(const std::string& bytes, bool is_whole = false) {
    KPROF_CHECK(::write(fd_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    growth_.Tell({growth_.state().bytes + static_cast<int64_t>(bytes.size()), is_whole});
  }
  // All of it, so many bytes at a time; then it is whole.
  void Send(std::string content, size_t step_bytes) {
    thread_ = std::thread([this, content = std::move(content), step_bytes] {
      for (size_t done = 0; done < content.size(); done += step_bytes) Add(content.substr(done, step_bytes));
      Add("", true);
    });
  }

 private:
  UniqueFd fd_;
  SourceGrowth growth_;
  std::thread thread_;
};

}  // namespace kprof
