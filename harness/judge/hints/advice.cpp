// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/advice.hpp"

namespace plumbline::judging {
namespace {

const char* words_of(Advice of) {
  switch (of) {
    case Advice::names:
      return "if only the names differ, give the whole model's by names= (and units=) of watch_model, watch_stage or "
             "watch_pipelining";
    case Advice::units:
      return "the recorder uses the order in which modules are registered: if they run in another order, list them by "
             "units= of watch_model, watch_stage or watch_pipelining";
    case Advice::tied:
      return "a rank finds only its own: list all in both records by tied= of plumbline.Record, with the whole model's "
             "names";
    case Advice::batch:
      return "record.step splits a batch along its first dimension: if the trainer splits it otherwise ([length, "
             "rows]), give record.step lists of microbatches";
    case Advice::crossing:
      return "if the pipeline sends other tensors here than the one device's recorder took, select those by "
             "watch_model(..., crossing=)";
    case Advice::other_norm:
      return "only the 2-norm is judged: if the trainer clips by another, give Record(clip_norm=None), and "
             "record.gradients() before clipping without record.norm()";
    case Advice::own_norm:
      return "if the trainer clips by a norm of its own, give clip_norm= to Record, and call record.gradients() before "
             "clipping and then record.norm(total_norm)";
    case Advice::one_leaf:
      return "if the reference holds one tensor, it adds both uses in one leaf, while the candidate sums two copies; "
             "give the one device two copies (docs/judge-your-trainer.md, \"If your trainer differs\")";
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
