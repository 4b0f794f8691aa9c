#include "record/check_claims.hpp"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(CheckClaims, ACheckOfAnotherVersionClaimsNothing) {
  EXPECT_EQ(claim_of_check("repeatability"), "the same run done again has the same bits, row by row.");
  EXPECT_EQ(claim_of_check("of a later version"), "");
}

}  // namespace
}  // namespace plumbline
