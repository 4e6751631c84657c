# Says what is in the package that CPack makes just now, and where it goes;
# packages.cmake names this file.
set(CPACK_COMPONENTS_ALL Unspecified)
if(CPACK_GENERATOR STREQUAL "DEB")
  list(APPEND CPACK_COMPONENTS_ALL system)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_SET_DESTDIR ON)
  set(CPACK_INSTALL_PREFIX /opt/ferry)
else()
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  # The version may be another one: cpack -R.
  set(CPACK_PACKAGE_FILE_NAME ferry-${CPACK_PACKAGE_VERSION}-${CPACK_SYSTEM_NAME})
endif()
