#include "daemon/exports/part_texts.h"

#include <string>
#include <string_view>

#include "daemon/ingest/text/environment_text.h"

namespace kprof {
namespace {

constexpr char kSettings = 's';   // texts, lists and objects that have some
constexpr char kTexts = 't';      // and all texts
constexpr char kVariables = 'v';  // and numbers

std::string WhatGoes(std::string_view key) {
  const EnvironmentName of = EnvironmentNameOf(key);
  if (of == EnvironmentName::kNone) return "";
  if (of == EnvironmentName::kWord) return {kSettings};
  return {IsVariableName(VariableOf(key)) ? kVariables : kTexts};
}

}  // namespace

EnvironmentArgs::EnvironmentArgs(PartReader& part)
    : keys_(part, WhatGoes),
      settings_(part, [](std::string_view text) { return std::string(HoldsSettings(text) ? "s" : ""); }) {}

Result<bool> EnvironmentArgs::MayBe(uint32_t key) {
  ASSIGN_OR_RETURN(const std::string_view goes, keys_.Text(key));
  return !goes.empty();
}

Result<bool> EnvironmentArgs::Is(const SegmentRows::Arg& arg) {
  ASSIGN_OR_RETURN(const std::string_view goes, keys_.Text(arg.slot.key));
  if (goes.empty()) return false;
  if (goes[0] == kVariables) return true;
  if (arg.slot.type == ArgType::kString && goes[0] == kTexts) return true;
  if (arg.slot.type != ArgType::kString && arg.slot.type != ArgType::kJson) return false;
  ASSIGN_OR_RETURN(const std::string_view settings, settings_.Text(arg.value));
  return !settings.empty();
}

void EnvironmentArgs::Trim() {
  keys_.Trim();
  settings_.Trim();
}

}  // namespace kprof
