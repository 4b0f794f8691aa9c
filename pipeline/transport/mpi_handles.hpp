// SPDX-License-Identifier: BSD-3-Clause
// MPI's handles with an owner.
#pragma once

#include <mpi.h>

namespace plumbline {

/// A message under way. One that its owner leaves is cancelled: it must not touch memory that is freed after.
class MpiRequest {
 public:
  MpiRequest() = default;
  ~MpiRequest() {
    if (request_ == MPI_REQUEST_NULL) return;
    MPI_Cancel(&request_);
    MPI_Request_free(&request_);
  }
  MpiRequest(const MpiRequest&) = delete;
  MpiRequest& operator=(const MpiRequest&) = delete;

  bool ended() const { return request_ == MPI_REQUEST_NULL; }
  MPI_Request* address() { return &request_; }

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// A communicator of all ranks that nobody else uses; its calls return their errors. To free it is collective, so that
/// `free` does it, and a job that ends otherwise leaves it to MPI.
class MpiCommunicator {
 public:
  /// Collective. Throws RunError.
  MpiCommunicator();
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  MPI_Comm get() const { return communicator_; }
  void free();

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

}  // namespace plumbline
