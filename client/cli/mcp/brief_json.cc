#include "client/cli/mcp/brief_json.h"

#include <utility>

namespace kprof::cli {
namespace {

bool IsContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// The quoted name of the member that counts what another one lacks.
std::string NameOfCount(const std::string& name) {
  return name.substr(0, name.size() - 1) + "_left_out\"";
}

}  // namespace

void BriefJson::Add(std::string_view bytes) {
  for (const char c : bytes) {
    if (in_ == In::kName || in_ == In::kText) {
      AddToText(c);
      continue;
    }
    const bool ends_word = in_ == In::kWord && std::string_view(",]} \t\r\n").find(c) != std::string_view::npos;
    if (ends_word) {
      in_ = In::kNothing;
      EndValue();
    }
    if (in_ == In::kWord) {
      if (!is_dropping()) text_ += c;
    } else {
      AddOutside(c);
    }
  }
}

void BriefJson::AddOutside(char c) {
  switch (c) {
    case ' ':
    case '\t':
    case '\r':
    case '\n':
    case ':':
      return;
    case ',':
      awaits_name_ = !levels_.empty() && !levels_.back().is_list;
      return;
    case '{':
    case '[':
      return Open(c);
    case '}':
    case ']':
      return Close(c);
    case '"':
      escape_bytes_ = 0;
      text_bytes_ = 0;
      cut_bytes_ = 0;
      if (awaits_name_ && !levels_.empty()) {
        in_ = In::kName;
        levels_.back().name = c;
        return;
      }
      BeginValue(options_.most_values);
      in_ = In::kText;
      if (!is_dropping()) text_ += c;
      return;
    default:
      BeginValue(options_.most_values);
      in_ = In::kWord;
      if (!is_dropping()) text_ += c;
  }
}

void BriefJson::AddToText(char c) {
  const bool is_end = c == '"' && escape_bytes_ == 0;
  // An escape and a character of several bytes are whole, or not there.
  const bool may_cut = escape_bytes_ == 0 && !IsContinuation(c);
  if (escape_bytes_ > 0) {
    if (--escape_bytes_ == 0 && c == 'u' && !is_end) escape_bytes_ = 4;
  } else if (c == '\\') {
    escape_bytes_ = 1;
  }
  if (in_ == In::kName) {
    levels_.back().name += c;
    if (is_end) EndName();
    return;
  }
  if (is_end) return EndText();
  ++text_bytes_;
  if (cut_bytes_ > 0 || (may_cut && text_bytes_ > options_.most_text_bytes)) {
    ++cut_bytes_;
  } else if (!is_dropping()) {
    text_ += c;
  }
}

void BriefJson::EndName() {
  in_ = In::kNothing;
  awaits_name_ = false;
  Level& object = levels_.back();
  if (is_dropping()) return;
  const std::string_view name(object.name.data() + 1, object.name.size() - 2);
  if (options_.leave_out.contains(name)) return Drop(false);
  if (object.kept >= options_.most_members) return Drop(true);
  if (object.kept++ > 0) text_ += ',';
  text_ += object.name + ":";
}

void BriefJson::EndText() {
  in_ = In::kNothing;
  if (!is_dropping()) {
    if (cut_bytes_ > 0) {
      text_ += "... (" + std::to_string(cut_bytes_) + " more bytes)";
      has_left_out_ = true;
    }
    text_ += '"';
  }
  EndValue();
}

void BriefJson::Drop(bool counts) {
  dropping_from_ = levels_.size();
  if (!counts) return;
  ++levels_.back().left_out;
  has_left_out_ = true;
}

void BriefJson::BeginValue(size_t most_items) {
  if (levels_.empty() || !levels_.back().is_list || is_dropping()) return;
  Level& list = levels_.back();
  if (list.kept >= most_items) return Drop(true);
  if (list.kept++ > 0) text_ += ',';
}

void BriefJson::EndValue() {
  if (levels_.size() == dropping_from_) dropping_from_ = 0;
}

void BriefJson::Open(char c) {
  BeginValue(options_.most_items);
  levels_.push_back({.is_list = c == '[', .name = {}});
  awaits_name_ = c == '{';
  if (!is_dropping()) text_ += c;
}

void BriefJson::Close(char c) {
  if (levels_.empty()) return;
  awaits_name_ = false;
  const Level closed = std::move(levels_.back());
  levels_.pop_back();
  const bool is_member = !levels_.empty() && !levels_.back().is_list;
  if (!is_dropping()) {
    const std::string count = std::to_string(closed.left_out);
    const std::string comma = closed.kept > 0 ? "," : "";
    if (closed.left_out > 0 && !closed.is_list) text_ += comma + "\"left_out\":" + count;
    if (closed.left_out > 0 && closed.is_list && !is_member) text_ += comma + "\"and " + count + " more\"";
    text_ += c;
    if (closed.left_out > 0 && closed.is_list && is_member) {
      text_ += "," + NameOfCount(levels_.back().name) + ":" + count;
    }
  }
  EndValue();
}

}  // namespace kprof::cli
