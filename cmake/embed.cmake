# SPDX-License-Identifier: BSD-3-Clause
# Writes the text of FILE into the C++ source WRITE, whose function NAME returns it.
cmake_policy(VERSION 3.25)
file(READ "${FILE}" text)
# The language guarantees string literals of 64 KiB; the compiler joins the pieces of one literal.
string(LENGTH "${text}" length)
set(literal "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 8000 piece)
  string(APPEND literal "R\"EMBEDDED(${piece})EMBEDDED\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE "${WRITE}" "// Made from ${FILE}.\n#include \"${HEADER}\"\n\nconst char* plumbline::${NAME}() {\n  return ${literal};\n}\n")
