#include "daemon/analysis/functions/host/operator_shapes.h"

#include <string>
#include <utility>

#include "daemon/analysis/operators/event_filter.h"

namespace kprof {
namespace {

constexpr size_t kExternalId = 3;  // its place among the arguments that are read

}  // namespace

Result<OperatorShapes> OperatorShapes::Find(const TracePart& part, bool has_external_ids, MemoryCharge& charge) {
  ASSIGN_OR_RETURN(SliceArgs args,
                   SliceArgs::Find(*part.reader, {"Input Dims", "Input type", "Concrete Inputs", "External id"}));
  EventFilter filter;
  filter.categories = {"cpu_op", "Operator"};
  ASSIGN_OR_RETURN(PartFilter operators, PartFilter::Bind(filter, part, EventKind::kSlice));
  DeviceRoof roof;
  if (!args.never()) {
    ASSIGN_OR_RETURN(roof, DeviceRoof::Find(part));
  }
  return OperatorShapes(*part.reader, std::move(args), std::move(operators), std::move(roof), has_external_ids, charge);
}

OperatorShapes::OperatorShapes(PartReader& reader, SliceArgs args, PartFilter operators, DeviceRoof roof,
                               bool has_external_ids, MemoryCharge& charge)
    : reader_(&reader),
      args_(std::move(args)),
      operators_(std::move(operators)),
      roof_(std::move(roof)),
      has_external_ids_(has_external_ids),
      charge_(&charge) {}

Status OperatorShapes::Read(std::span<const Segment> segments) {
  inputs_.clear();
  for (const Segment& segment : segments) {
    RETURN_IF_ERROR(ReadInputs(segment, inputs_[segment.id]));
  }
  return OkStatus();
}

ShapeOfCall OperatorShapes::Of(const HostCall& call) {
  if (call.segment == nullptr) return {};
  const auto of_segment = inputs_.find(call.segment->id);
  if (of_segment == inputs_.end()) return {};
  const SegmentInputs& of_calls = of_segment->second;
  if (call.row >= of_calls.of_rows.size() || of_calls.of_rows[call.row] == ShapeOfCall::kNone) return {};
  const Inputs& inputs = of_calls.all[of_calls.of_rows[call.row]];
  if (inputs.strings[0] == kNoValue) return {.external_id = inputs.external_id};
  const auto [found, is_new] = numbers_.try_emplace({call.name, inputs.strings}, static_cast<uint32_t>(shapes_.size()));
  if (is_new) {
    ShapeSum shape{.name = call.name, .inputs = inputs.strings};
    NoteFailure(FindCost(shape));
    shapes_.push_back(shape);
    NoteFailure(charge_->Grow(static_cast<int64_t>(sizeof(ShapeSum) + sizeof(Key) + 32)));
  }
  return {found->second, inputs.external_id};
}

Status OperatorShapes::ReadInputs(const Segment& segment, SegmentInputs& inputs) {
  if (args_.never()) return OkStatus();
  const auto see = [&](const Segment& of, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(args_.Read(of, selection, values_));
    const size_t rows = values_.front().size();
    RETURN_IF_ERROR(charge_->Grow(static_cast<int64_t>(rows * sizeof(Inputs) + of.rows * sizeof(uint32_t))));
    inputs.of_rows.assign(of.rows, ShapeOfCall::kNone);
    for (size_t i = 0; i < rows; ++i) {
      Inputs call;
      for (size_t key = 0; key < call.strings.size(); ++key) {
        if (values_[key][i].is_text()) call.strings[key] = values_[key][i].value;
      }
      const SliceArg& id = values_[kExternalId][i];
      if (has_external_ids_ && id.type == ArgType::kInteger) call.external_id = id.value;
      inputs.of_rows[selection.all ? i : selection.rows[i]] = static_cast<uint32_t>(i);
      inputs.all.push_back(call);
    }
    return OkStatus();
  };
  return operators_.ForOne(segment, selection_, see);
}

Status OperatorShapes::FindCost(ShapeSum& shape) {
  std::array<std::string, 4> texts;
  ASSIGN_OR_RETURN(texts[0], reader_->ReadString(shape.name));
  for (size_t i = 0; i < shape.inputs.size(); ++i) {
    if (shape.inputs[i] == kNoValue) continue;
    ASSIGN_OR_RETURN(texts[i + 1], reader_->ReadString(shape.inputs[i]));
  }
  shape.cost = CostOfOperator(texts[0], texts[1], texts[2], texts[3]);
  if (shape.cost) shape.roof = roof_.TimeOf(*shape.cost, texts[2]);
  has_costs_ |= shape.cost.has_value();
  return OkStatus();
}

void OperatorShapes::NoteFailure(Status status) {
  if (status_.ok() && !status.ok()) status_ = std::move(status);
}

}  // namespace kprof
