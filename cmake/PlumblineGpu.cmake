# SPDX-License-Identifier: BSD-3-Clause
# The component gpu/: the CUDA half, a module (bin/plumbline-gpu.so) that the trainers load by name for --device cuda. No program links it, so that
# the CPU path is as fast as in a CPU build. This file chooses its substitute in training/.
add_library(plumbline_gpu INTERFACE)
target_link_libraries(plumbline_gpu INTERFACE plumbline_options)
add_library(plumbline::gpu ALIAS plumbline_gpu)
if(NOT PLUMBLINE_HAS_CUDA)
  target_sources(plumbline_training PRIVATE training/gpu/no_cuda_module.cpp)
  return()
endif()

target_sources(plumbline_training PRIVATE training/gpu/cuda_module.cpp)
target_link_libraries(plumbline_training PUBLIC ${CMAKE_DL_LIBS})
target_link_libraries(plumbline_gpu INTERFACE plumbline::torch_cuda plumbline::nccl)
file(GLOB gpu_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/gpu/*.cpp")
add_library(plumbline_gpu_module MODULE ${gpu_sources})
target_link_libraries(plumbline_gpu_module PRIVATE plumbline_gpu)
# RUNPATH, not RPATH: a newer libnccl can be put in front with LD_LIBRARY_PATH.
target_link_options(plumbline_gpu_module PRIVATE LINKER:--no-undefined LINKER:--enable-new-dtags)
set_target_properties(plumbline_gpu_module PROPERTIES PREFIX "" OUTPUT_NAME plumbline-gpu
                                                     LIBRARY_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
