# list_files(VARIABLE HOW FOLDER PATTERN [CONFIGURE_DEPENDS]): the files below FOLDER that match PATTERN,
# relative to FOLDER; HOW is GLOB or GLOB_RECURSE. What `file` reads as a pattern in the name of
# FOLDER itself, such as a bracket, stands for itself.
function(list_files variable how folder pattern)
  string(REGEX REPLACE "([[*?])" "[\\1]" literal "${folder}")
  file(${how} found RELATIVE "${folder}" ${ARGN} "${literal}/${pattern}")
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

# Lists of CMake take a bracket without its pair for the beginning of one item, and no quotes help.
function(require_paired_brackets folder)
  string(REGEX REPLACE "[^[]" "" opening "${folder}")
  string(REGEX REPLACE "[^]]" "" closing "${folder}")
  string(LENGTH "${opening}" opened)
  string(LENGTH "${closing}" closed)
  if(NOT opened EQUAL closed)
    message(FATAL_ERROR "CMake cannot build in a folder whose name has a bracket without its pair: "
                        "${folder}. Rename the folder, or build in another one.")
  endif()
endfunction()
