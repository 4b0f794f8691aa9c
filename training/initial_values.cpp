#include "training/initial_values.hpp"

#include "model/initialise.hpp"
#include "model/load_weights.hpp"

namespace plumbline {

void set_initial_values(LlamaSlice& slice, const RunFile& run) {
  if (run.weights) {
    load_weights(slice, *run.weights);
  } else {
    initialise(slice, run.train.seed);
  }
}

}  // namespace plumbline
