#include "client/cli/text/text_style.h"

namespace kprof::cli {
namespace {

std::string_view ColourOf(TextStyle style) {
  switch (style) {
    case TextStyle::kPlain:
      return "";
    case TextStyle::kTitle:
      return "\x1b[1m";
    case TextStyle::kFaint:
      return "\x1b[2m";
    case TextStyle::kWarning:
      return "\x1b[33m";
    case TextStyle::kTrouble:
      return "\x1b[1;31m";
  }
  return "";
}

constexpr std::string_view kPlainAgain = "\x1b[0m";

}  // namespace

std::string Styled(std::string_view safe_text, TextStyle style, bool has_colours) {
  const std::string_view colour = has_colours && !safe_text.empty() ? ColourOf(style) : "";
  std::string text(colour);
  text += safe_text;
  if (!colour.empty()) text += kPlainAgain;
  return text;
}

}  // namespace kprof::cli
