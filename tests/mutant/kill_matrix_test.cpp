#include "tests/mutant/kill_matrix.hpp"

#include <gtest/gtest.h>

#include "tests/mutant/kill_page.hpp"

namespace plumbline {
namespace {

TEST(ClopperPearson, IsTheExactInterval) {
  EXPECT_NEAR(mutant::clopper_pearson(59, 59).low, 0.9394, 1e-4);
  EXPECT_EQ(mutant::clopper_pearson(59, 59).high, 1);
  EXPECT_NEAR(mutant::clopper_pearson(0, 300).high, 0.01222, 1e-5);
  EXPECT_NEAR(mutant::clopper_pearson(1, 2).low, 0.01258, 1e-5);
  EXPECT_NEAR(mutant::clopper_pearson(1, 2).high, 0.98742, 1e-5);
}

TEST(KillSummary, NamesSurvivors) {
  mutant::Trial killed, survivor, harmless;
  killed.name = "killed";
  killed.expected = "loss";
  killed.red = {"loss"};
  survivor.name = "survivor";
  survivor.expected = "loss";
  survivor.red = {"memory"};
  const std::string words = mutant::kill_summary({killed, survivor, harmless});
  EXPECT_NE(words.find("1 of 2"), std::string::npos) << words;
  EXPECT_NE(words.find("SURVIVORS: survivor"), std::string::npos) << words;
  killed.ended_as_expected = false;
  EXPECT_FALSE(killed.killed());
}

TEST(KillPage, ShowsSurvivorsInRedAndEscapesWhatItShows) {
  mutant::Trial killed, survivor;
  killed.name = "killed";
  killed.expected = "loss";
  killed.red = {"loss", "gradients"};
  survivor.name = "<survivor>";
  survivor.expected = "memory";

  const std::string page = mutant::kill_page({killed, survivor});

  EXPECT_NE(page.find("<tr class=\"survives\"><td>&lt;survivor&gt;"), std::string::npos) << page;
  EXPECT_NE(page.find("<tr><td>killed"), std::string::npos) << page;
  EXPECT_NE(page.find("1 of 2"), std::string::npos) << page;
  EXPECT_EQ(page.find("<survivor>"), std::string::npos);
}

}  // namespace
}  // namespace plumbline
