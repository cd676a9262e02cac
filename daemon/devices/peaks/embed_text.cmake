# cmake -D TEXT=peaks.csv -D FUNCTION=BuiltInPeaksText -D OUTPUT=x.cc -P embed_text.cmake
# Makes of a text file a source file with the function `std::string kprof::FUNCTION()`, which returns the text as it is.
# In pieces, because compilers are only bound to take string literals of 64 KiB.
cmake_minimum_required(VERSION 3.25)

set(piece_bytes 8192)
file(READ "${TEXT}" text)
string(LENGTH "${text}" text_bytes)
file(SIZE "${TEXT}" file_bytes)
string(FIND "${text}" ")kprof\"" end_of_literal)
# CMake counts bytes, and would cut through a character of several. GCC 12 joins lines at a backslash also within a raw
# literal, when spaces follow it.
if(text MATCHES "[^\t\n -~]" OR text MATCHES "\\\\[ \t]*\n" OR NOT text_bytes EQUAL file_bytes
   OR NOT end_of_literal EQUAL -1)
  message(FATAL_ERROR "embed ${TEXT}: it has to be ASCII, without \\r, without \\ at the end of a line, and without "
                      ")kprof\"")
endif()

get_filename_component(name "${TEXT}" NAME)
set(code "// Made of ${name} by embed_text.cmake.\n#include <string>\n\nnamespace kprof {\n\n")
string(APPEND code "std::string ${FUNCTION}();\n\nstd::string ${FUNCTION}() {\n  std::string text;\n")
string(APPEND code "  text.reserve(${text_bytes});\n")
set(start 0)
while(start LESS text_bytes)
  string(SUBSTRING "${text}" ${start} ${piece_bytes} piece)
  string(APPEND code "  text += R\"kprof(${piece})kprof\";\n")
  math(EXPR start "${start} + ${piece_bytes}")
endwhile()
string(APPEND code "  return text;\n}\n\n}  // namespace kprof\n")
file(WRITE "${OUTPUT}" "${code}")
