# cmake --install: the shared library, the headers, waymark.pc and a CMake package (waymark::waymark). Components are the packages
# of cmake/Package.cmake.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/waymark)

# OpenBLAS's OpenMP flavour lives in a folder of its own: the library must still find it installed.
set_target_properties(waymark_shared PROPERTIES EXPORT_NAME waymark INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS waymark_shared EXPORT waymark
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/waymark DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

file(RELATIVE_PATH include_from_lib ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr") # elsewhere the loader may not look
  set(pc_rpath "-Wl,-rpath,\${libdir} ")
endif()
configure_file(cmake/waymark.pc.in waymark.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/waymark.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

install(EXPORT waymark NAMESPACE waymark:: FILE waymark-config.cmake DESTINATION ${package_dir} COMPONENT dev)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/waymark-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/waymark-config-version.cmake DESTINATION ${package_dir} COMPONENT dev)
