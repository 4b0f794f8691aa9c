// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/advice.hpp"

namespace plumbline::judging {
namespace {

const char* words_of(Advice of) {
  switch (of) {
    case Advice::names:
      return "if only the names differ, give the whole model's names with names= (and units=) of watch_model, "
             "watch_stage or "
             "watch_pipelining";
    case Advice::units:
      return "the recorder uses the order in which modules are registered; if they run in another order, list them "
             "with units= of watch_model, watch_stage or watch_pipelining";
    case Advice::tied:
      return "a rank sees only its own; list all in both records with tied= of plumbline.Record, by the whole model's "
             "names";
    case Advice::batch:
      return "record.step splits a batch along its first dimension; if the trainer splits it differently ([length, "
             "rows]), give record.step lists of microbatches";
    case Advice::crossing:
      return "if the pipeline sends other tensors here than the recorder took on one device, select those with "
             "watch_model(..., crossing=)";
    case Advice::other_norm:
      return "only the 2-norm is judged; if the trainer clips by another norm, use Record(clip_norm=None), and call "
             "record.gradients() before clipping but not record.norm()";
    case Advice::own_norm:
      return "if the trainer has its own clipping code, give clip_norm= to Record, and call record.gradients() and "
             "then record.norm(total_norm) before clipping";
    case Advice::one_leaf:
      return "if the reference has one tensor, it adds both uses in one leaf, while the candidate sums two copies; use "
             "two copies on one device (docs/judge-your-trainer.md, \"If your trainer differs\")";
    case Advice::order:
      return "if the pipeline sums its microbatches in another order, let the one device do so, too, and give both "
             "records accumulation=";
  }
  return "";
}

}  // namespace

std::string advice(const Manifest& manifest, Advice of) {
  return manifest.conventions.python_recorder ? std::string("; ") + words_of(of) : "";
}

}  // namespace plumbline::judging
