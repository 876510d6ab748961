/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages between a hook and --watch, and their socket. Of the C library alone.
 *
 * One request and one reply, by SOCK_SEQPACKET. A hook without the answer "done" does the work itself: so both may
 * refuse, end or be of different builds at any time.
 */
#pragma once

#include "hook/trigger.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IBH_RUN_DIR "/run/ib-hook"
#define IBH_REQUEST_MAX 256
#define IBH_KEY_MAX 64  /* of a namespace's key */
#define IBH_PATH_MAX 96 /* of the files below, which are shorter than a socket's address may be */

/* The ends of the names of three files in IBH_RUN_DIR, which begin with "watch-" and the namespace's key. */
#define IBH_REQUEST_SOCKET ""
#define IBH_REQUEST_LOCK ".held" /* the process that has its lock listens */
#define IBH_REQUEST_SLOW ".slow" /* the daemon that did not answer a hook */

typedef struct {
    uint32_t magic;
    uint16_t version;
    uint8_t early, down; /* as in a trigger */
    int32_t ifindex;     /* 0: no interface has that name */
    char iface[IFNAMSIZ];
    char build[32]; /* hash of the sources: a hook and --watch of different ones do not rely on each other */
} IbhRequest;

_Static_assert(sizeof(IbhRequest) <= IBH_REQUEST_MAX, "a request");

typedef enum {
    IBH_REPLY_DONE = 1, /* done by a look that began after the request was read */
    IBH_REPLY_OTHER,    /* of another build, or not understood */
    IBH_REPLY_BUSY      /* another process has the lock */
} IbhReplyType;

typedef struct {
    uint32_t magic;
    uint16_t version;
    uint8_t type;
    uint8_t status; /* the exit status of the run: failures are logged by --watch */
} IbhReply;

IbhRequest ibh_request_make(const IbhTrigger *trigger, int ifindex);
/* TRUE if ibh_request_make() of this build could have made it: then it is copied. */
bool ibh_request_read(const void *bytes, size_t length, IbhRequest *ret_request);

IbhReply ibh_reply_make(IbhReplyType type, int status);
bool ibh_reply_is_done(const void *bytes, size_t length);

/* The network namespace's name in files, made of its cookie; 0: it has none (before Linux 5.14). */
void ibh_namespace_key(uint64_t cookie, char ret_key[IBH_KEY_MAX]);
/* The path of one of the three files above, for the namespace of this socket. */
void ibh_request_path(int fd, const char *end, char ret_path[IBH_PATH_MAX]);

/* TRUE if the path is of this type (S_IFDIR, S_IFSOCK), belongs to root, and only root may write it. */
bool ibh_request_trusts(const char *path, mode_t type);
