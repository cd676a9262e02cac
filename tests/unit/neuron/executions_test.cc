// Which rows of physical cores are one execution, and which host call it is of, where ids begin again or are not told.
#include <gtest/gtest.h>

#include <vector>

#include "daemon/analysis/functions/neuron/neuron_attribution.h"
#include "daemon/analysis/functions/neuron/neuron_executions.h"

namespace kprof {
namespace {

constexpr int64_t kUs = 1'000;

struct RowOf {
  int64_t start_us = 0;
  int64_t end_us = 0;
  int64_t core = kNoValue;
  int64_t exec_id = kNoValue;
  uint32_t model = 0;
};

NeuronEvents EventsOf(const std::vector<RowOf>& rows) {
  NeuronEvents events;
  int64_t tracking_id = 100;
  for (const RowOf& row : rows) {
    NeuronCoreRow one;
    one.core = row.core;
    one.exec_id = row.exec_id;
    one.tracking_id = tracking_id++;
    one.start_ns = row.start_us * kUs;
    one.end_ns = row.end_us * kUs;
    one.model = row.model;
    events.core_rows.push_back(one);
  }
  return events;
}

// The numbers of rows of executions, in their order.
std::vector<int64_t> RowsOfExecutions(const NeuronEvents& events) {
  std::vector<int64_t> rows;
  for (const NeuronExecution& execution : NeuronExecutionsOf(events)) rows.push_back(execution.rows);
  return rows;
}

using Counts = std::vector<int64_t>;

TEST(NeuronExecutions, RowsThatOverlapAreOneWithoutAnId) {
  const NeuronEvents events = EventsOf({{0, 900, 0}, {10, 930, 1}, {1000, 1900, 0}, {1010, 1930, 1}});
  EXPECT_EQ(RowsOfExecutions(events), Counts({2, 2}));
  EXPECT_EQ(NeuronExecutionsOf(events)[0].ns, 930 * kUs);
  EXPECT_EQ(NeuronExecutionsOf(events)[0].core_ns, 1820 * kUs);
  EXPECT_TRUE(NeuronExecutionsOf(events)[0].is_by_time);
  EXPECT_EQ(Attribute(events).by_overlap, 2);
}

TEST(NeuronExecutions, RowsThatOverlapAreOneWithoutACore) {
  EXPECT_EQ(RowsOfExecutions(EventsOf({{0, 900, kNoValue, 7}, {10, 930, kNoValue, 7}, {1000, 1900, kNoValue, 8}})),
            Counts({2, 1}));
  EXPECT_EQ(RowsOfExecutions(EventsOf({{0, 900}, {10, 930}, {1000, 1900}, {1010, 1930}})), Counts({2, 2}));
}

TEST(NeuronExecutions, WhatFollowsWithoutAnIdIsAnother) {
  // One core each time: a row of each was lost, and they overlap a little, as clocks are put together.
  EXPECT_EQ(RowsOfExecutions(EventsOf({{0, 905, 1}, {900, 1800, 0}})), Counts({1, 1}));
  EXPECT_EQ(RowsOfExecutions(EventsOf({{0, 900, 0}, {0, 900, 0}})), Counts({1, 1}));
  EXPECT_EQ(RowsOfExecutions(EventsOf({{0, 900, 0, kNoValue, 1}, {0, 900, 1, kNoValue, 2}})), Counts({1, 1}));
}

TEST(NeuronExecutions, AnIdThatBeginsAgainIsAnotherExecution) {
  // Of each one row is lost: they are 5 ms apart, or of two models.
  EXPECT_EQ(RowsOfExecutions(EventsOf({{0, 800, 1, 1}, {5000, 5800, 0, 1}})), Counts({1, 1}));
  EXPECT_EQ(RowsOfExecutions(EventsOf({{0, 800, 1, 1, 1}, {10, 810, 0, 1, 2}})), Counts({1, 1}));
  // Cores that begin a little apart are of one.
  EXPECT_EQ(RowsOfExecutions(EventsOf({{0, 5, 0, 1}, {20, 25, 1, 1}})), Counts({2}));
}

TEST(NeuronExecutions, RowsWithoutIdAndTimeAreCounted) {
  NeuronEvents events = EventsOf({{0, 900, 0}, {10, 930, 1}});
  for (NeuronCoreRow& row : events.core_rows) {
    row.device_start_ns = row.start_ns;
    row.device_end_ns = row.end_ns;
    row.start_ns = row.end_ns = kNoValue;
  }
  EXPECT_EQ(RowsOfExecutions(events), Counts({1, 1}));
  EXPECT_EQ(RowsOfUnknownExecutions(events), 2);
  for (NeuronCoreRow& row : events.core_rows) row.exec_id = 4;
  EXPECT_EQ(RowsOfExecutions(events), Counts({2}));
  EXPECT_EQ(RowsOfUnknownExecutions(events), 0);
}

// Three models with ids from 0 on: each execution has the host call before it.
TEST(NeuronExecutions, ARepeatedIdIsFoundByItsTime) {
  std::vector<RowOf> rows;
  NeuronEvents calls;
  for (int64_t i = 0; i < 12; ++i) {
    rows.push_back({i * 1000 + 50, i * 1000 + 250, 0, i % 4});
    NeuronHostCall call;
    call.exec_id = i % 4;
    call.start_ns = i * 1000 * kUs;
    call.end_ns = call.start_ns + 900 * kUs;
    calls.host_calls.push_back(call);
  }
  NeuronEvents events = EventsOf(rows);
  events.host_calls = calls.host_calls;
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(Attribute(events).host_of_execution[i], i);
  // What the host call of the first model has is not given to the second one's execution too, whose own was lost.
  events.host_calls.erase(events.host_calls.begin() + 4);
  const NeuronAttribution lost = Attribute(events);
  EXPECT_EQ(lost.host_of_execution[0], 0u);
  EXPECT_EQ(lost.host_of_execution[4], kNobody);
  EXPECT_EQ(lost.host_of_execution[5], 4u);
}

}  // namespace
}  // namespace kprof
