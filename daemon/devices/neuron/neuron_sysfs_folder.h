// A folder of the Neuron driver's sysfs tree, to read. The one door to that tree, so that nothing else is ever done
// there: no write, no link followed, nothing opened but folders and regular files, and never `reset` or `notify_delay`.
//
// Any thread. Blocks as long as the kernel takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/unique_fd.h"

namespace kprof {

// Open, or not valid: then there is nothing in it.
class NeuronSysfsFolder {
 public:
  // The path itself may lead over links.
  explicit NeuronSysfsFolder(const std::string& path);

  bool valid() const { return fd_.valid(); }
  int error() const { return error_; }  // errno where it is not valid

  // One that is some steps down: "info/architecture".
  NeuronSysfsFolder Open(std::string_view path) const;

  // The whole of a file of at most 4 KiB, without the spaces and line ends around it; some steps down, too. Nothing
  // where it cannot be read.
  std::optional<std::string> ReadText(std::string_view path) const;
  // Not below 0.
  std::optional<int64_t> ReadCount(std::string_view path) const;

  // Names in it, sorted; no more than `limit` are looked at.
  std::vector<std::string> ListFolders(size_t limit) const;
  std::vector<std::string> ListFiles(size_t limit) const;

 private:
  NeuronSysfsFolder(UniqueFd fd, int error) : fd_(std::move(fd)), error_(error) {}
  std::vector<std::string> List(size_t limit, unsigned kind) const;

  UniqueFd fd_;
  int error_ = 0;
};

}  // namespace kprof
