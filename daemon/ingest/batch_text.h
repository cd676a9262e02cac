// How a text stands among the strings of a TraceBatch: the first character says what the rest is, so that who puts
// batches together makes of all of them the text that a part has. The empty string has none.
#pragma once

namespace kprof {

constexpr char kPlainText = '=';     // what it is
constexpr char kEscapedText = '\\';  // what stood between the quotes of a JSON string that has escapes
constexpr char kJsonText = '{';      // a list or an object, with the space that it was written with

}  // namespace kprof
