# cmake -DSOURCE= -DBINARY= -DPAGE= -DNODE= -DNPM= -DDEVELOPER= -P make_page.cmake: installs the packages where they are
# not there yet, and makes the page. Packages that cannot be had are no fault of the sources: the build goes on without
# the page, and tries again the next time.
file(REMOVE_RECURSE ${BINARY}/src ${BINARY}/test)
file(COPY ${SOURCE}/ DESTINATION ${BINARY} PATTERN node_modules EXCLUDE PATTERN CMakeLists.txt EXCLUDE
  PATTERN make_page.cmake EXCLUDE PATTERN .gitignore EXCLUDE)

file(SHA256 ${SOURCE}/package-lock.json wanted)
set(wanted "${wanted} ${DEVELOPER}")
set(stamp ${BINARY}/node_modules/.taquin)
set(there "")
if(EXISTS ${stamp})
  file(READ ${stamp} there)
endif()
if(NOT there STREQUAL wanted)
  set(omit "")
  if(NOT DEVELOPER)
    set(omit --omit=dev)  # the tests' packages
  endif()
  execute_process(COMMAND ${NPM} ci --ignore-scripts --prefer-offline --fetch-retries=1 --fetch-timeout=30000 ${omit}
    WORKING_DIRECTORY ${BINARY} RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text TIMEOUT 300)
  if(failed)
    message("${text}")
    message(WARNING "npm cannot install the packages of the report page: taquin report will have no page")
    file(REMOVE ${PAGE})
    return()
  endif()
  file(WRITE ${stamp} "${wanted}")
endif()

execute_process(COMMAND ${NODE} build.mjs ${PAGE} WORKING_DIRECTORY ${BINARY} RESULT_VARIABLE failed
  OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(failed)
  message(FATAL_ERROR "The report page cannot be made:\n${text}")
endif()
