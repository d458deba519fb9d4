# lj_target(<target>): our warnings, includes and link options on a target.
function(lj_target target)
  target_compile_options(${target} PRIVATE ${lj_compile_options}
    $<$<COMPILE_LANGUAGE:CXX>:${lj_cxx_options}>)
  target_link_options(${target} PRIVATE ${lj_link_options})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${target} PRIVATE ${LLVM_DEFINITIONS_LIST})
endfunction()

# lj_add_room(<Room> SOURCES <file>... [LINK <target>...]): the static library
# LaunchJIT<Room> of one folder below lib.
function(lj_add_room room)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(LaunchJIT${room} STATIC ${ARG_SOURCES})
  lj_target(LaunchJIT${room})
  target_link_libraries(LaunchJIT${room} PUBLIC ${ARG_LINK})
endfunction()
