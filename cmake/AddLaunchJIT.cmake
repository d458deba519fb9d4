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

# lj_add_shared_library(<target> SOURCES <file>... LINK <target>... EXPORTS <map>):
# a library that shows only what the version script names, holds LLVM and the
# C++ runtime inside, and stays loaded: generated code and the handlers of fork
# live in it.
function(lj_add_shared_library target)
  cmake_parse_arguments(ARG "" "EXPORTS" "SOURCES;LINK" ${ARGN})
  add_library(${target} SHARED ${ARG_SOURCES})
  lj_target(${target})
  target_link_libraries(${target} PRIVATE ${ARG_LINK})
  target_link_options(${target} PRIVATE
    -Wl,--version-script=${ARG_EXPORTS} -Wl,-z,nodelete -Wl,-z,defs -Wl,-Bsymbolic
    $<$<CONFIG:Release>:-Wl,-s>)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${ARG_EXPORTS})
  if(LAUNCHJIT_SANITIZER)
    # A sanitized library takes the runtime from the program that loads it.
    get_target_property(options ${target} LINK_OPTIONS)
    list(REMOVE_ITEM options -Wl,-z,defs)
    set_target_properties(${target} PROPERTIES LINK_OPTIONS "${options}")
  else()
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()
