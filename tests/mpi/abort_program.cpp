// SPDX-License-Identifier: BSD-3-Clause
// Rank 1 fails while all others wait for it: mpirun must end the whole job long before the others' deadline.
#include <cstdio>
#include <thread>

#include "pipeline/transport/mpi_transport.hpp"

int main() {
  const auto transport = plumbline::make_mpi_transport({std::chrono::minutes(10)});
  transport->barrier();
  if (transport->rank() == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    transport->abort("the disk is full");
  }
  try {
    transport->barrier();
  } catch (const std::exception& error) {
    std::printf("the wait ended with an exception: %s\n", error.what());
  }
  std::printf("the job continued\n");
  transport->finish();
  return 0;
}
