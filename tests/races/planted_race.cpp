// SPDX-License-Identifier: BSD-3-Clause
// A sender that writes into what it sends before its send has ended: what ThreadSanitizer must see of the threads
// transport. With "right" as its argument it waits first, and nothing may be said.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "pipeline/transport/threads_transport.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "tests/pipeline/transport/ranks.hpp"

int main(int count, char** arguments) {
  using namespace plumbline;
  const bool right = count > 1 && std::string(arguments[1]) == "right";
  run_on_threads(make_threads_transports(2, TransportSettings{}), Ending::clean, [&](Transport& transport) {
    if (transport.rank() == 1) {
      transport.wait(transport.post({receive_from(transport, 0, 0, {1, 4, 8})}).at(0));
      return;
    }
    const at::Tensor payload = content(0, 0, {1, 4, 8});
    transport.post({send_to(transport, 1, 0, payload)});
    if (right) transport.reap_sends();
    // Without that wait nothing stands between the other thread's copy and this, however much later it is.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    payload.mutable_data_ptr<float>()[0] = 1;
    transport.reap_sends();
  });
  std::puts("came to its end");
  return 0;
}
