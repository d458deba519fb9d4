# How everything of ours is compiled and linked.
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

set(lj_compile_options -Wall -Wextra -ffunction-sections -fdata-sections)
set(lj_cxx_options -fno-exceptions -fno-rtti $<$<CXX_COMPILER_ID:GNU>:-Wno-redundant-move>)
set(lj_link_options -Wl,--as-needed -Wl,--gc-sections)
if(LAUNCHJIT_SANITIZER)
  list(APPEND lj_compile_options -fsanitize=${LAUNCHJIT_SANITIZER} -fno-omit-frame-pointer -g1)
  list(APPEND lj_link_options -fsanitize=${LAUNCHJIT_SANITIZER})
endif()

# lld 19 or newer where there is one: it links static LLVM in seconds, folds
# identical code and packs relocations. The compiler looks for ld.lld in the
# folder that -B names before it takes an older one from PATH.
find_program(LAUNCHJIT_LLD NAMES ld.lld
  HINTS /usr/lib/llvm-${LAUNCHJIT_LLVM_VERSION}/bin /usr/lib/llvm-22/bin /usr/lib/llvm-21/bin
        /usr/lib/llvm-20/bin /usr/lib/llvm-19/bin
  NO_CACHE)
if(LAUNCHJIT_LLD)
  execute_process(COMMAND ${LAUNCHJIT_LLD} --version OUTPUT_VARIABLE lj_lld_version)
  if(lj_lld_version MATCHES "LLD ([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL 19)
    get_filename_component(lj_lld_dir ${LAUNCHJIT_LLD} DIRECTORY)
    list(APPEND lj_link_options -fuse-ld=lld -B${lj_lld_dir} -Wl,--icf=all)
  else()
    set(LAUNCHJIT_LLD "")
  endif()
endif()
