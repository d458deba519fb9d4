# Finds cuda.h: in a toolkit, or in the nvidia-cuda-runtime wheel that
# tools/dev deps puts into the private virtual environment.
find_path(CUDAHeaders_INCLUDE_DIR cuda.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda /opt/cuda
  PATH_SUFFIXES include)
if(NOT CUDAHeaders_INCLUDE_DIR)
  file(GLOB lj_wheel_headers
    ${PROJECT_SOURCE_DIR}/build/venv/lib/python*/site-packages/nvidia/cu*/include
    ${PROJECT_SOURCE_DIR}/build/venv/lib/python*/site-packages/nvidia/cuda_runtime/include)
  find_path(CUDAHeaders_INCLUDE_DIR cuda.h PATHS ${lj_wheel_headers} NO_DEFAULT_PATH)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDAHeaders
  REQUIRED_VARS CUDAHeaders_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run tools/dev deps, or set CUDA_HOME to a toolkit")
if(CUDAHeaders_FOUND AND NOT TARGET CUDAHeaders::CUDAHeaders)
  add_library(CUDAHeaders::CUDAHeaders INTERFACE IMPORTED)
  target_include_directories(CUDAHeaders::CUDAHeaders SYSTEM INTERFACE ${CUDAHeaders_INCLUDE_DIR})
endif()
