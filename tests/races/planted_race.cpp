// SPDX-License-Identifier: BSD-3-Clause
// A sender that changes its tensor before its send has completed: ThreadSanitizer must report this race in the threads
// transport. With the argument "right" it waits first, and ThreadSanitizer must report nothing.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "pipeline/transport/threads_transport.hpp"
#include "pipeline/transport/transport.hpp"
#include "tests/pipeline/transport/ranks.hpp"

int main(int count, char** arguments) {
  using namespace plumbline;
  const bool right = count > 1 && std::string(arguments[1]) == "right";
  run_on_threads(make_threads_transports(2, TransportSettings{}), Ending::clean, [&](Transport& transport) {
    if (transport.rank() == 1) {
      post_one(transport, receive_from(transport, 0, 0, {1, 4, 8}))->wait();
      return;
    }
    const at::Tensor payload = content(0, 0, {1, 4, 8});
    post(transport, {send_to(transport, 1, 0, payload)});
    if (right) transport.wait_for_sends();
    // Without that wait, nothing orders the other thread's copy before this, however much later it happens.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    payload.mutable_data_ptr<float>()[0] = 1;
    transport.wait_for_sends();
  });
  std::puts("came to its end");
  return 0;
}
