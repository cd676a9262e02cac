// Emphasis of text on a terminal. The words must say the same, for terminals without colours. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace kprof::cli {

enum class TextStyle { kPlain, kTitle, kFaint, kWarning, kTrouble };

struct StyledText {
  std::string text;  // safe for a terminal
  TextStyle style = TextStyle::kPlain;
};

// `safe_text` in its style: a warning is yellow, trouble red. Unchanged without `has_colours`, and where it is plain or
// empty.
std::string Styled(std::string_view safe_text, TextStyle style, bool has_colours);

}  // namespace kprof::cli
