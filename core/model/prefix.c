/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses and prefixes. */
#include "model/model.h"

#include <arpa/inet.h>
#include <string.h>

guint ibh_ip_bits(const IbhIp *ip)
{
    return ip->family == AF_INET6 ? 128 : ip->family == AF_INET ? 32 : 0;
}

gboolean ibh_ip_parse(const char *text, IbhIp *ret_ip)
{
    IbhIp ip = {.family = strchr(text, ':') ? AF_INET6 : AF_INET};

    if (inet_pton(ip.family, text, ip.bytes) != 1)
        return FALSE;
    *ret_ip = ip;
    return TRUE;
}

IbhIp ibh_ip_from_bytes(int family, const void *bytes)
{
    IbhIp ip = {.family = family};

    memcpy(ip.bytes, bytes, ibh_ip_bits(&ip) / 8);
    return ip;
}

const char *ibh_ip_format(const IbhIp *ip, char buffer[IBH_IP_STRLEN])
{
    if (!inet_ntop(ip->family, ip->bytes, buffer, IBH_IP_STRLEN)) /* AF_UNSPEC */
        g_strlcpy(buffer, "none", IBH_IP_STRLEN);
    return buffer;
}

int ibh_ip_compare(const IbhIp *a, const IbhIp *b)
{
    IBH_COMPARE_MEMBER(a, b, family);
    return memcmp(a->bytes, b->bytes, ibh_ip_bits(a) / 8);
}

gboolean ibh_ip_equal(const IbhIp *a, const IbhIp *b)
{
    return ibh_ip_compare(a, b) == 0;
}

guint ibh_ip_hash(gconstpointer data)
{
    const IbhIp *ip = data;
    guint hash = (guint)ip->family;

    for (guint i = 0; i < ibh_ip_bits(ip) / 8; i++)
        hash = hash * 33 + ip->bytes[i];
    return hash;
}

gboolean ibh_ip_is_unicast(const IbhIp *ip)
{
    static const guint8 zeros[15] = {0};

    if (ip->family == AF_INET)
        return ip->bytes[0] && ip->bytes[0] != 127 && ip->bytes[0] < 224;
    return ip->bytes[0] != 0xff && memcmp(ip->bytes, zeros, sizeof zeros) != 0; /* ::/120 has :: and ::1 */
}

gboolean ibh_ip_is_link_local(const IbhIp *ip)
{
    return ibh_ip_is_fe80(ip) || (ip->family == AF_INET && ip->bytes[0] == 169 && ip->bytes[1] == 254);
}

gboolean ibh_ip_is_fe80(const IbhIp *ip)
{
    return ip->family == AF_INET6 && ip->bytes[0] == 0xfe && (ip->bytes[1] & 0xc0) == 0x80;
}

IbhPrefix ibh_prefix_of(const IbhIp *ip, guint length)
{
    IbhPrefix prefix = {.ip = *ip, .length = MIN(length, ibh_ip_bits(ip))};

    /* In the byte where the prefix ends, keep the first `rest` bits; in later bytes, keep none. */
    for (guint byte = prefix.length / 8, rest = prefix.length % 8; byte < ibh_ip_bits(ip) / 8; byte++, rest = 0)
        prefix.ip.bytes[byte] &= (guint8) ~(0xffu >> rest);
    return prefix;
}

IbhPrefix ibh_prefix_of_host(const IbhIp *ip)
{
    return (IbhPrefix){*ip, ibh_ip_bits(ip)};
}

gboolean ibh_prefix_parse(const char *text, IbhPrefix *ret_prefix)
{
    g_autofree char *address = g_strdup(text);
    char *slash = strchr(address, '/');
    guint64 length;
    IbhIp ip;

    if (slash)
        *slash = '\0';
    if (!ibh_ip_parse(address, &ip))
        return FALSE;
    length = ibh_ip_bits(&ip);
    if (slash && !g_ascii_string_to_unsigned(slash + 1, 10, 0, length, &length, NULL))
        return FALSE;
    *ret_prefix = ibh_prefix_of(&ip, (guint)length);
    return TRUE;
}

const char *ibh_prefix_format(const IbhPrefix *prefix, char buffer[IBH_PREFIX_STRLEN])
{
    char ip[IBH_IP_STRLEN];

    g_snprintf(buffer, IBH_PREFIX_STRLEN, "%s/%u", ibh_ip_format(&prefix->ip, ip), prefix->length);
    return buffer;
}

int ibh_prefix_compare(const IbhPrefix *a, const IbhPrefix *b)
{
    IBH_COMPARE(ibh_ip_compare(&a->ip, &b->ip), 0);
    IBH_COMPARE_MEMBER(a, b, length);
    return 0;
}

gboolean ibh_prefix_equal(const IbhPrefix *a, const IbhPrefix *b)
{
    return ibh_prefix_compare(a, b) == 0;
}

gboolean ibh_prefix_contains(const IbhPrefix *outer, const IbhIp *ip)
{
    guint whole = outer->length / 8, rest = outer->length % 8;

    /* Compare the whole bytes of the prefix, then the first `rest` bits of the next byte. */
    return outer->ip.family == ip->family && memcmp(outer->ip.bytes, ip->bytes, whole) == 0 &&
           (!rest || (outer->ip.bytes[whole] ^ ip->bytes[whole]) >> (8 - rest) == 0);
}

gboolean ibh_prefix_covers(const IbhPrefix *outer, const IbhPrefix *inner)
{
    return outer->length <= inner->length && ibh_prefix_contains(outer, &inner->ip);
}

gboolean ibh_prefix_overlaps(const IbhPrefix *a, const IbhPrefix *b)
{
    return ibh_prefix_covers(a, b) || ibh_prefix_covers(b, a);
}

gboolean ibh_prefix_is_inside(const IbhPrefix *inner, const IbhPrefix *outer)
{
    return inner->length > outer->length && ibh_prefix_contains(outer, &inner->ip);
}

gboolean ibh_prefixes_have(const GArray *prefixes, const IbhPrefix *prefix)
{
    IBH_EACH (const IbhPrefix, other, prefixes) {
        if (ibh_prefix_equal(other, prefix))
            return TRUE;
    }
    return FALSE;
}
