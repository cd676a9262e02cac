# The Debian package, by cpack. deploy/build-package calls it with a date of its own, so that the same source in the same
# place gives the same bytes.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kprof)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The kprof authors <kprof@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "per-node daemon that owns measurement on accelerators")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"kprofd queues measurements, so that one at a time has a device, runs each as
the user who asked for it, keeps what it leaves, and answers questions about it
with SQL. kprofctl is its client at the command line.
.
Everything a run used is ended with it; what was promised to a client survives
a crash of the daemon, the node or the disk's free space.")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
# Not the umask of whoever builds.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)

set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "init-system-helpers (>= 1.54), systemd | systemd-standalone-sysusers, systemd | systemd-standalone-tmpfiles")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "systemd, dbus, python3, python3-grpcio, python3-protobuf")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-pandas")
set(CPACK_DEBIAN_PACKAGE_PROVIDES "python3-kprof")  # the Python package is in it
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(debian ${CMAKE_CURRENT_SOURCE_DIR}/debian)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${debian}/conffiles ${debian}/postinst ${debian}/prerm ${debian}/postrm)
install(FILES debian/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/lintian/overrides RENAME kprof)

# What was staged gets the package's date.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/set_package_times.cmake)
set(CPACK_OUTPUT_FILE_PREFIX ${CMAKE_BINARY_DIR}/package)
include(CPack)
