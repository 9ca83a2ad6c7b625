# The libraries of docs/dependencies.md, gathered in one interface target.
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_library(LAPACKE_LIBRARY lapacke REQUIRED)
find_library(LBFGS_LIBRARY lbfgs REQUIRED)
find_path(LBFGS_INCLUDE lbfgs.h REQUIRED)
find_path(RANDOM123_INCLUDE Random123/philox.h REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(POPT REQUIRED IMPORTED_TARGET popt)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(LIBPNG REQUIRED IMPORTED_TARGET libpng)

# MPI is optional, and never linked: see src/dist. Its own leaks would be a sanitizer's findings.
if(NOT WAYMARK_SANITIZE)
  find_package(MPI QUIET COMPONENTS C)
endif()
option(WAYMARK_MPI "Build the module for several processes (needs MPI)" ${MPI_C_FOUND})

# OpenBLAS must be its OpenMP flavour: one thread pool with our own kernels. Where the pthread
# flavour is installed too, Debian's openblas.pc and libopenblas.so are links to that one, so the
# flavour's own folder is looked at first (Fedora calls it libopenblaso).
set(flavour openblas-openmp)
find_library(OPENBLAS_LIBRARY NAMES openblaso openblas PATH_SUFFIXES ${flavour} REQUIRED)
find_path(OPENBLAS_INCLUDE cblas.h REQUIRED
          PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/${flavour} ${flavour} openblas)
find_path(LAPACKE_INCLUDE lapacke.h REQUIRED PATH_SUFFIXES lapacke openblas)
if(NOT DEFINED OPENBLAS_IS_OPENMP AND NOT CMAKE_CROSSCOMPILING)
  file(WRITE ${CMAKE_BINARY_DIR}/openblas_flavour.c
       "int openblas_get_parallel(void); int main(void) { return openblas_get_parallel() != 2; }\n")
  try_run(ran built ${CMAKE_BINARY_DIR}/openblas_flavour ${CMAKE_BINARY_DIR}/openblas_flavour.c
          LINK_LIBRARIES ${OPENBLAS_LIBRARY})
  if(NOT built OR NOT ran EQUAL 0)
    message(FATAL_ERROR "${OPENBLAS_LIBRARY} is not the OpenMP flavour of OpenBLAS "
            "(Debian: libopenblas-openmp-dev). If it is installed, delete the build folder.")
  endif()
  set(OPENBLAS_IS_OPENMP TRUE CACHE INTERNAL "openblas_get_parallel() said 2")
endif()

add_library(waymark_deps INTERFACE)
target_include_directories(waymark_deps SYSTEM INTERFACE ${OPENBLAS_INCLUDE} ${LAPACKE_INCLUDE}
                           ${LBFGS_INCLUDE} ${RANDOM123_INCLUDE})
# OpenBLAS stands before LAPACKE, whose own BLAS is whatever the system prefers: first found wins.
target_link_libraries(waymark_deps INTERFACE OpenMP::OpenMP_C ${OPENBLAS_LIBRARY}
                      ${LAPACKE_LIBRARY} ${LBFGS_LIBRARY} PkgConfig::JANSSON
                      PkgConfig::LIBZIP PkgConfig::LIBPNG PkgConfig::ZLIB ${CMAKE_DL_LIBS} m)
