#include "host.h"

#include <sys/stat.h>

/* The entries of /proc/PID/net are made anew for each network namespace, so their inodes tell namespaces apart. Unlike
 * /proc/1/ns/net they may be looked at without the right to trace process 1, which --show does not have. */
static gboolean is_namespace_of_init(void)
{
    struct stat init, own;

    return stat("/proc/1/net/dev", &init) == 0 && stat("/proc/self/net/dev", &own) == 0 && init.st_dev == own.st_dev &&
           init.st_ino == own.st_ino;
}

char *ibh_host_root(const char *sysfs)
{
    if (!g_str_equal(sysfs, "/sys"))
        return g_path_get_dirname(sysfs);
    return is_namespace_of_init() ? g_strdup("") : NULL;
}
