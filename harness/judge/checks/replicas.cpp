// replicas, of a record that is judged alone: the other pipelines of its run are not there to be held against it. Where
// all are, replica_comparison.hpp.
#include "harness/judge/checks/checks.hpp"

namespace plumbline::judging {
namespace {

class OneReplica : public StepCheck {
 public:
  explicit OneReplica(const CellEvidence& evidence) : name_(evidence.candidate.manifest.mesh->name()) {}

  void step(const StepEvidence&) override {}

  Judged conclude() override {
    Judgement judgement("replicas", "replicas", "");
    judgement.not_shown("other pipelines of the mesh: this is " + name_);
    return judgement.conclude_as(Outcome::not_run,
                                 "this is " + name_ +
                                     ": the others were neither looked at nor held against it; the folder that "
                                     "holds them all, without --replica, is judged whole");
  }

 private:
  std::string name_;
};

}  // namespace

std::unique_ptr<StepCheck> replicas_check(const CellEvidence& evidence) {
  return std::make_unique<OneReplica>(evidence);
}

}  // namespace plumbline::judging
