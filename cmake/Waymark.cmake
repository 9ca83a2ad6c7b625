# Flags that every target of ours shares, and the recipe for a test.
set(WAYMARK_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
    -Wmissing-prototypes -Wvla)

# -ffp-contract=fast: fused multiply-add where the machine has it. -fno-math-errno and
# -fno-trapping-math let sqrt and selects become vector code; isfinite() keeps its meaning.
set(WAYMARK_NUMERICS -ffp-contract=fast -fno-math-errno -fno-trapping-math)

if(WAYMARK_SANITIZE)
  add_link_options(-fsanitize=${WAYMARK_SANITIZE})
endif()

function(waymark_flags target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L)
  target_compile_options(${target} PRIVATE ${WAYMARK_WARNINGS} ${WAYMARK_NUMERICS})
  target_link_libraries(${target} PRIVATE waymark_deps)
  if(WAYMARK_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(WAYMARK_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${WAYMARK_SANITIZE} -fno-omit-frame-pointer
                           -fno-sanitize-recover=all)
  endif()
endfunction()

# waymark_test(name LABELS label... [SOURCES extra...]): a cmocka program from test_<name>.c
function(waymark_test name)
  cmake_parse_arguments(ARG "" "" "LABELS;SOURCES" ${ARGN})
  add_executable(test_${name} test_${name}.c ${ARG_SOURCES})
  waymark_flags(test_${name})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(test_${name} PRIVATE waymark_static PkgConfig::CMOCKA)
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND test_${name} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  # passive: tests run side by side, and threads that spin would take the cores from each other
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600
                       ENVIRONMENT OMP_WAIT_POLICY=passive)
endfunction()
