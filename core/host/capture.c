/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/capture.h"

#include "host/fabric_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 512
#define NAME_SIZE 100
#define PREFIX_SIZE 155

/* A header of ustar: numbers are octal digits. */
typedef struct {
    char name[NAME_SIZE];
    char mode[8], uid[8], gid[8];
    char size[12], mtime[12];
    char checksum[8];
    char type;
    char linkname[100];
    char magic[6], version[2];
    char uname[32], gname[32];
    char devmajor[8], devminor[8];
    char prefix[PREFIX_SIZE];
    char rest[12];
} Header;

G_STATIC_ASSERT(sizeof(Header) == BLOCK);

/* ---- ustar ---- */

/* Names that are too long for one field are cut at a slash; FALSE: nowhere. */
static gboolean set_name(Header *header, const char *path)
{
    gsize length = strlen(path);
    const char *cut = length > NAME_SIZE ? strchr(path + length - NAME_SIZE - 1, '/') : NULL;

    if (length > NAME_SIZE && (!cut || cut - path > PREFIX_SIZE || !cut[1]))
        return FALSE;
    if (cut) {
        memcpy(header->prefix, path, (gsize)(cut - path));
        path = cut + 1;
    }
    memcpy(header->name, path, strlen(path));
    return TRUE;
}

static void set_checksum(Header *header)
{
    const guint8 *bytes = (const guint8 *)header;
    guint sum = 0;

    memset(header->checksum, ' ', sizeof header->checksum);
    for (gsize i = 0; i < sizeof *header; i++)
        sum += bytes[i];
    g_snprintf(header->checksum, sizeof header->checksum, "%06o", sum);
}

/* `text` NULL: a directory. */
static gboolean add_entry(GString *archive, const char *path, const GString *text)
{
    Header header = {.type = text ? '0' : '5'};
    static const char zeros[BLOCK];

    if (!set_name(&header, path))
        return FALSE;
    memcpy(header.magic, "ustar", sizeof header.magic);
    memcpy(header.version, "00", sizeof header.version);
    g_snprintf(header.mode, sizeof header.mode, "%07o", text ? 0644u : 0755u);
    g_snprintf(header.uid, sizeof header.uid, "%07o", 0u);
    g_snprintf(header.gid, sizeof header.gid, "%07o", 0u);
    g_snprintf(header.size, sizeof header.size, "%011o", text ? (guint)text->len : 0u);
    g_snprintf(header.mtime, sizeof header.mtime, "%011" G_GINT64_MODIFIER "o", (guint64)time(NULL));
    set_checksum(&header);
    g_string_append_len(archive, (const char *)&header, sizeof header);
    if (text && text->len) {
        g_string_append_len(archive, text->str, (gssize)text->len);
        g_string_append_len(archive, zeros, (gssize)((BLOCK - text->len % BLOCK) % BLOCK));
    }
    return TRUE;
}

/* ---- what goes into it ---- */

/* "/tmp/node7.tar" unpacks to "node7". */
static char *directory_of(const char *file)
{
    char *name = g_path_get_basename(file);

    if (g_str_has_suffix(name, ".tar"))
        name[strlen(name) - strlen(".tar")] = '\0';
    g_strcanon(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-", '_');
    if (name[0] == '.' || name[0] == '-' || !name[0] || strlen(name) > 32) {
        g_free(name);
        return g_strdup(IBH_TREE_MARK);
    }
    return name;
}

static void add_mark(IbhTree *tree)
{
    IbhTreeEntry *mark = g_new0(IbhTreeEntry, 1);

    mark->path = g_strdup(IBH_TREE_MARK);
    mark->text = g_string_new("ib-hook " IBH_VERSION "\n");
    g_ptr_array_add(tree->record, mark);
}

static gboolean add_all(GString *archive, const IbhTree *tree, IbhCaptured *captured, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

    IBH_EACH_POINTER (const IbhTreeEntry, entry, tree->record) {
        g_autofree char *path = g_strconcat(captured->directory, "/", entry->path, entry->text ? "" : "/", NULL);

        if (!g_hash_table_add(seen, entry->path))
            continue;
        if (!add_entry(archive, path, entry->text)) {
            g_set_error(error, IBH_CAPTURE_ERROR, 0, "%s: this path is too long for an archive", path);
            return FALSE;
        }
        captured->files += entry->text != NULL;
    }
    g_string_set_size(archive, archive->len + (gsize)2 * BLOCK);
    memset(archive->str + archive->len - (gsize)2 * BLOCK, 0, (gsize)2 * BLOCK);
    return TRUE;
}

static gboolean write_all(int fd, const GString *text)
{
    gsize done = 0;

    while (done < text->len) {
        gssize n = write(fd, text->str + done, text->len - done);

        if (n < 0 && errno != EINTR)
            return FALSE;
        done += n > 0 ? (gsize)n : 0;
    }
    return TRUE;
}

static gboolean write_new_file(const char *file, const GString *text, GError **error)
{
    g_autofree char *shown = g_strescape(file, NULL);
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), number;
    gboolean written;

    if (fd < 0) {
        number = errno;
        g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(number), "--capture %s: %s%s", shown,
                    g_strerror(number), number == EEXIST ? "; nothing is overwritten: choose another name" : "");
        return FALSE;
    }
    written = write_all(fd, text);
    number = errno;
    if ((close(fd) == 0 || (number = errno, FALSE)) && written)
        return TRUE;
    unlink(file);
    g_set_error(error, IBH_CAPTURE_ERROR, 0, "--capture %s: %s; it was removed again", shown, g_strerror(number));
    return FALSE;
}

/* The readers record which files they read: no other list of them exists. */
gboolean ibh_capture(const char *sysfs, const char *file, IbhCaptured *ret_captured, GError **error)
{
    g_auto(IbhTree) tree = {0};
    g_autoptr(IbhFabric) fabric = NULL;
    g_autoptr(GString) archive = g_string_new(NULL);

    *ret_captured = (IbhCaptured){.directory = directory_of(file)};
    ibh_tree_open(&tree, sysfs);
    ibh_tree_start_recording(&tree);
    add_mark(&tree);
    fabric = ibh_fabric_read_captured(&tree, error);
    if (fabric && tree.problem) {
        g_set_error(error, IBH_CAPTURE_ERROR, 0, "--capture: %s cannot be read completely: %s; nothing was written",
                    tree.sys, g_strerror(tree.problem));
        return FALSE;
    }
    return fabric && add_all(archive, &tree, ret_captured, error) && write_new_file(file, archive, error);
}

void ibh_captured_clear(IbhCaptured *captured)
{
    g_clear_pointer(&captured->directory, g_free);
}
