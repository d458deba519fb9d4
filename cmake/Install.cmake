# The targets that other projects link, and what `cmake --install` leaves:
# headers, libraries, a CMake package and a pkg-config file. The
# component `python` is the wheel's: the two libraries, inside the package.

# launchjit::cpp: the rooms as static libraries, for a host with its own LLVM.
# In the order in which a linker that reads archives once must see them: JIT
# and Launch call Codegen without naming it, see lib/JIT/CMakeLists.txt.
set(lj_rooms Launch JIT Cache Driver Binary Codegen CodegenRequest Signature Support)
list(TRANSFORM lj_rooms PREPEND LaunchJIT)
add_library(launchjit-cpp INTERFACE)
add_library(launchjit::cpp ALIAS launchjit-cpp)
set_target_properties(launchjit-cpp PROPERTIES EXPORT_NAME cpp)
target_link_libraries(launchjit-cpp INTERFACE ${lj_rooms})
target_include_directories(launchjit-cpp INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(launchjit-cpp INTERFACE cxx_std_17)

# launchjit::launchjit: the shared library with the C interface.
add_library(launchjit::launchjit ALIAS launchjit)
target_include_directories(launchjit INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

if(NOT LAUNCHJIT_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

install(TARGETS launchjit EXPORT launchjit-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Opened by the other at run time, from the same folder: nobody links it.
install(TARGETS launchjit-codegen LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS launchjit-cpp ${lj_rooms} EXPORT launchjit-cpp-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Not the glue: CPython is spoken to through the C interface only.
install(DIRECTORY include/launchjit-c include/launchjit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  PATTERN Bindings EXCLUDE)
set(lj_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/launchjit)
install(EXPORT launchjit-targets NAMESPACE launchjit:: DESTINATION ${lj_package_dir})
install(EXPORT launchjit-cpp-targets NAMESPACE launchjit:: DESTINATION ${lj_package_dir})
configure_package_config_file(cmake/launchjit-config.cmake.in launchjit-config.cmake
  INSTALL_DESTINATION ${lj_package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(launchjit-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/FindCUDAHeaders.cmake
  ${PROJECT_BINARY_DIR}/launchjit-config.cmake ${PROJECT_BINARY_DIR}/launchjit-config-version.cmake
  DESTINATION ${lj_package_dir})

file(RELATIVE_PATH lj_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/launchjit.pc.in launchjit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/launchjit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# At the root of a wheel's packages: see launchjit.triton.
install(FILES lib/Bindings/Python/launchjit_triton.pth lib/Bindings/Python/_launchjit_triton.py
  DESTINATION . COMPONENT python EXCLUDE_FROM_ALL)
# Copies under one name each: a wheel keeps no links.
foreach(library launchjit launchjit-codegen)
  install(FILES $<TARGET_FILE:${library}> RENAME lib${library}.so
    DESTINATION launchjit/lib COMPONENT python EXCLUDE_FROM_ALL)
endforeach()
