// Reports of Nsight Compute (.ncu-rep) as tests make them: messages of protocol buffers, and the container around them.
// tests/system/ncu_report_writer.py writes larger ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fakes/ingest/perfetto_bytes.h"

namespace kprof {

inline std::string ProtoNumber(uint32_t field, uint64_t value) {
  return Fields().Number(field, value).bytes();
}
inline std::string ProtoText(uint32_t field, const std::string& bytes) {
  return Fields().Bytes(field, bytes).bytes();
}
inline std::string ProtoReal(uint32_t field, double value) {
  return Fields().Real(field, value).bytes();
}
inline std::string LittleEndian(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

// Of a metric's value.
inline std::string RealValue(double value) {
  return ProtoReal(3, value);
}
inline std::string WholeValue(uint64_t value) {
  return ProtoNumber(5, value);
}
inline std::string TextValue(const std::string& value) {
  return ProtoText(1, value);
}
// `more`: instances, ProtoText(3, key and value).
inline std::string MetricResultOf(uint64_t name, const std::string& value, const std::string& more = {}) {
  return ProtoText(13, ProtoNumber(1, name) + (value.empty() ? "" : ProtoText(2, value)) + more);
}
inline std::string InstanceOf(const std::string& key, const std::string& value) {
  return ProtoText(3, ProtoText(1, key) + ProtoText(2, value));
}

inline std::string SizedMessage(const std::string& message) {
  return LittleEndian(message.size(), 4) + message;
}

struct ReportBlock {
  std::vector<std::string> names;  // of metrics, that are new
  std::vector<std::string> sources;
  std::vector<std::string> results;
  std::vector<std::string> ranges;
  std::string session;
  std::string process;
};

inline std::string ReportHead(uint64_t version = 7) {
  return std::string("NVR\0", 4) + SizedMessage(ProtoNumber(1, version));
}
inline std::string BlockBytes(const ReportBlock& block) {
  std::string payload;
  for (const auto* entries : {&block.sources, &block.results, &block.ranges}) {
    for (const std::string& entry : *entries) payload += SizedMessage(entry);
  }
  std::string names;
  for (const std::string& name : block.names) names += ProtoText(1, name);
  std::string head = ProtoNumber(1, block.sources.size()) + ProtoNumber(2, block.results.size());
  if (!block.session.empty()) head += ProtoText(3, block.session);
  if (!names.empty()) head += ProtoText(4, names);
  head += ProtoNumber(5, payload.size());
  if (!block.process.empty()) head += ProtoText(6, block.process);
  return SizedMessage(head + ProtoNumber(7, block.ranges.size())) + payload;
}

}  // namespace kprof
