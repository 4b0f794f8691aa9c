// Uses what it does not include, to show that the self-containment test can fail. Part of no program.
#pragma once

inline std::string planted() {
  return "a header that only compiles after another one";
}
