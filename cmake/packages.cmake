# Makes packages of what is installed, without LibTorch: a deb, in /opt/ferry, whose
# libraries are Debian's, with the units of systemd; and a tarball of the programs
# alone.
#
#   cd build/release && cpack              # ferry_<version>_<arch>.deb, .tar.gz
#
# All of the build has to be built. scripts/check_package.py tries both.
# docs/deploy.md, "Packages".
# Whatever the umask of the builder is.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(units ${CMAKE_SOURCE_DIR}/deploy/systemd)
install(FILES ${units}/slice.env DESTINATION share/ferry)
install(PROGRAMS ${CMAKE_SOURCE_DIR}/deploy/cloud/ferry_notice.py DESTINATION bin)
# Of the deb alone, as their places are no choice.
install(FILES ${units}/ferry@.service ${units}/ferry.target
    ${units}/ferry-sleep.target ${units}/ferry-sleep.timer ${units}/ferry-wake.timer
    ${units}/ferry-notice.service
  DESTINATION /usr/lib/systemd/system COMPONENT system EXCLUDE_FROM_ALL)
install(DIRECTORY DESTINATION /etc/ferry COMPONENT system EXCLUDE_FROM_ALL)
install(DIRECTORY DESTINATION /var/lib/ferry/models COMPONENT system
  EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME ferry)
set(CPACK_PACKAGE_VENDOR Ferry)
set(CPACK_PACKAGE_CONTACT "Ferry <ferry@example.invalid>" CACHE STRING
  "Whom the deb names as its maintainer")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "dynamic-batching inference server")
set(CPACK_PACKAGE_DESCRIPTION
  "Serves models to clients of KServe v2 and Triton over gRPC, in batches, one
process a GPU or MIG slice. LibTorch 2.11 is not in it: FERRY_TORCH names its
folder, else that of python3 is taken.")
set(CPACK_VERBATIM_VARIABLES ON)
# What differs between deb and tarball.
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/package_kinds.cmake)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)

set(scripts ${CMAKE_SOURCE_DIR}/deploy/package)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3, nvidia-modprobe")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What is linked but in no package: LibTorch, and libraries of Ferry's own.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
  ${LibTorch_LIBRARY_DIR} ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${scripts}/postinst ${scripts}/prerm ${scripts}/postrm)
include(CPack)
