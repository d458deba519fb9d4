# Finds the LLVM that LAUNCHJIT_LLVM_VERSION names and maps the host's code
# generator. Sets HostLLVM_FOUND, LJ_TARGET_ARCH (X86 or AArch64), and defines
# lj_llvm_libraries(<variable> <component>...).

# LLVM's package refuses a request for a bare major version.
foreach(minor 1 0 2)
  if(NOT LLVM_FOUND)
    find_package(LLVM ${LAUNCHJIT_LLVM_VERSION}.${minor} QUIET CONFIG
      HINTS /usr/lib/llvm-${LAUNCHJIT_LLVM_VERSION}/lib/cmake/llvm)
  endif()
endforeach()
if(NOT LLVM_FOUND OR NOT LLVM_VERSION_MAJOR EQUAL LAUNCHJIT_LLVM_VERSION)
  message(FATAL_ERROR "LLVM ${LAUNCHJIT_LLVM_VERSION} was not found: run tools/dev deps, install "
    "llvm-${LAUNCHJIT_LLVM_VERSION}-dev, or set LLVM_DIR")
endif()
if(LLVM_VERSION_MAJOR LESS 19 OR LLVM_VERSION_MAJOR GREATER 22)
  message(FATAL_ERROR "LLVM ${LLVM_PACKAGE_VERSION} is not supported: 19 to 22 are")
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(LJ_TARGET_ARCH X86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(LJ_TARGET_ARCH AArch64)
else()
  message(FATAL_ERROR "launchjit supports x86-64 and AArch64, not ${CMAKE_SYSTEM_PROCESSOR}")
endif()

# LLVM's support library names the shared zlib and zstd; ours must need only
# the C library, so the archives take their place.
foreach(pair "ZLIB::ZLIB;libz.a" "zstd::libzstd_shared;libzstd.a")
  list(GET pair 0 lj_target)
  list(GET pair 1 lj_archive)
  if(TARGET ${lj_target})
    find_library(LJ_${lj_archive} ${lj_archive} REQUIRED)
    set_target_properties(${lj_target} PROPERTIES
      IMPORTED_LOCATION ${LJ_${lj_archive}} IMPORTED_LOCATION_RELEASE ${LJ_${lj_archive}}
      IMPORTED_LOCATION_NONE ${LJ_${lj_archive}} IMPORTED_LOCATION_RELWITHDEBINFO ${LJ_${lj_archive}})
  endif()
endforeach()

macro(lj_llvm_libraries variable)
  llvm_map_components_to_libnames(${variable} ${ARGN})
endmacro()

set(HostLLVM_FOUND TRUE)
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} (${LLVM_DIR}), target ${LJ_TARGET_ARCH}")
