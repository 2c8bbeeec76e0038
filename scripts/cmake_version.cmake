# `cmake -P` on this file fails where CMake is too old for the project.
if(CMAKE_VERSION VERSION_LESS 3.20)
  message(FATAL_ERROR "CMake ${CMAKE_VERSION} is older than 3.20")
endif()
