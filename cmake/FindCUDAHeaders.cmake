# Finds cuda.h of CUDA 13 or later: in a toolkit, in the nvidia-cuda-runtime
# wheel that tools/dev deps puts into the private virtual environment, or below
# CMAKE_PREFIX_PATH (as pip's build does it). Driver entries that a machine's
# driver lacks are looked up when the library runs, so newer headers do no harm.
if(NOT CUDAHeaders_INCLUDE_DIR)
  file(GLOB lj_wheel_headers
    ${PROJECT_SOURCE_DIR}/build/venv/lib/python*/site-packages/nvidia/cu13/include)
  set(lj_prefixes ${CMAKE_PREFIX_PATH})
  list(TRANSFORM lj_prefixes APPEND /nvidia/cu13/include)
  foreach(dir $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include /usr/local/cuda/include /opt/cuda/include
          /usr/local/include /usr/include ${lj_wheel_headers} ${lj_prefixes})
    if(EXISTS ${dir}/cuda.h)
      file(STRINGS ${dir}/cuda.h lj_version LIMIT_COUNT 1 REGEX "^#define CUDA_VERSION [0-9]+")
      if(lj_version MATCHES "([0-9]+)$" AND CMAKE_MATCH_1 GREATER_EQUAL 13000)
        set(CUDAHeaders_INCLUDE_DIR ${dir} CACHE PATH "Folder of CUDA 13's cuda.h")
        break()
      endif()
    endif()
  endforeach()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDAHeaders
  REQUIRED_VARS CUDAHeaders_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run tools/dev deps, or set CUDA_HOME to a toolkit of CUDA 13 or later")
if(CUDAHeaders_FOUND AND NOT TARGET CUDAHeaders::CUDAHeaders)
  add_library(CUDAHeaders::CUDAHeaders INTERFACE IMPORTED)
  target_include_directories(CUDAHeaders::CUDAHeaders SYSTEM INTERFACE ${CUDAHeaders_INCLUDE_DIR})
endif()
