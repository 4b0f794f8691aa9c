// SPDX-License-Identifier: BSD-3-Clause
#include "support/hash.hpp"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

// As `printf '' | xxh128sum` prints it.
constexpr const char* of_nothing = "99aa06d3014798d86001c324468d497f";

TEST(Hash, EqualsThePublishedValueOfNothing) {
  EXPECT_EQ(hash_hex(""), of_nothing);
  EXPECT_EQ(Hasher().hex(), of_nothing);
}

TEST(Hash, PiecesGiveTheHashOfTheWhole) {
  const std::string text(1000, 'x');
  Hasher hasher;

  hasher.update(text.substr(0, 1));
  hasher.update(nullptr, 0);
  hasher.update(text.substr(1, 300));
  hasher.update(text.substr(301));

  EXPECT_EQ(hasher.hex(), hash_hex(text));
}

TEST(Hash, Hash64IsTheLowHalf) {
  EXPECT_EQ(hash64(""), 0x6001c324468d497full) << "high 64 bits are printed first";
}

}  // namespace
}  // namespace plumbline
