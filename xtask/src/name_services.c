/* Linked into static programs that use glibc.
 *
 * /etc/nsswitch.conf can name modules that glibc loads at run time. In a static program that means a second C library, of
 * another version, in the same process: it may crash. Only the services that are part of the program are used. */
#include <nss.h>

__attribute__((constructor)) static void use_builtin_services(void) {
    __nss_configure_lookup("hosts", "files dns");
    __nss_configure_lookup("passwd", "files");
}
