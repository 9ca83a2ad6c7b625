/* event_file.c - metrics for TensorBoard (event_file.h). Of its protocol buffers three messages are
 * needed, written here by hand:
 *   Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
 *   Summary { repeated Value value = 1; }    Value { string tag = 1; float simple_value = 2; } */
#include "report/run/event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 }; /* wire types */

uint32_t wmi_crc32c(const void *data, size_t n)
{
    const unsigned char *bytes = data;
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

/* ---- bytes, least first whatever the machine ---- */

static void put_fixed(uint64_t v, int bytes, FILE *out)
{
    for (int i = 0; i < bytes; i++)
        fputc((int)(v >> 8 * i & 0xff), out);
}

static void put_varint(uint64_t v, FILE *out)
{
    for (; v > 0x7f; v >>= 7)
        fputc((int)(v & 0x7f) | 0x80, out);
    fputc((int)v, out);
}

static void put_tag(int field, int wire, FILE *out)
{
    put_varint((uint64_t)(field << 3 | wire), out);
}

static void put_bytes(int field, const void *data, size_t n, FILE *out)
{
    put_tag(field, BYTES, out);
    put_varint(n, out);
    fwrite(data, 1, n, out);
}

/* The checksum of a record, turned so that checksums of checksums do not come out trivial. */
static void put_masked_crc(const void *data, size_t n, FILE *out)
{
    const uint32_t crc = wmi_crc32c(data, n);

    put_fixed((uint32_t)((crc >> 15 | crc << 17) + 0xa282ead8), 4, out);
}

/* ---- messages ---- */

/* Bytes that are gathered before their length is known. */
typedef struct gathered {
    FILE *f;
    char *text;
    size_t n;
} gathered;

static bool gather(gathered *g)
{
    *g = (gathered){0};
    return (g->f = open_memstream(&g->text, &g->n)) != NULL;
}

/* Ends gathering; g->text is to be freed, also where this fails. */
static bool gathered_whole(gathered *g)
{
    return g->f && fclose(g->f) == 0;
}

/* One scalar into a summary. */
static bool put_scalar(const char *tag, double value, FILE *summary)
{
    const float single = (float)value;
    gathered g;
    uint32_t bits;
    bool done;

    if (!gather(&g))
        return false;
    memcpy(&bits, &single, sizeof bits);
    put_bytes(1, tag, strlen(tag), g.f);
    put_tag(2, FIXED32, g.f);
    put_fixed(bits, 4, g.f);
    if ((done = gathered_whole(&g)))
        put_bytes(1, g.text, g.n, summary);
    free(g.text);
    return done;
}

/* The numbers of an object; k < 0: the line itself, else bridge k of it. */
static bool put_numbers(const json_t *object, const char *name, int64_t k, FILE *summary)
{
    const char *key;
    const json_t *v;
    char tag[200], of[40] = "";

    if (k >= 0)
        snprintf(of, sizeof of, " of bridge %" PRId64, k);
    json_object_foreach((json_t *)object, key, v)
    {
        if (!json_is_number(v) || strcmp(key, k < 0 ? "step" : "k") == 0)
            continue;
        snprintf(tag, sizeof tag, "%.80s/%.60s%s", name, key, of);
        if (!put_scalar(tag, json_number_value(v), summary))
            return false;
    }
    return true;
}

static bool put_summary(const json_t *line, FILE *out)
{
    const char *stage = json_string_value(json_object_get(line, "stage"));
    const char *model = json_string_value(json_object_get(line, "model"));
    const char *name = stage ? stage : model ? model : "run";
    const json_t *rows = json_object_get(line, "bridges"),
                 *losses = json_object_get(line, "bridge");
    bool done = put_numbers(line, name, -1, out);

    for (size_t k = 0; done && k < json_array_size(rows); k++)
        done = put_numbers(json_array_get(rows, k), name, (int64_t)k, out);
    for (size_t k = 0; done && k < json_array_size(losses); k++) {
        json_t *row = json_pack("{s:O}", "loss", json_array_get(losses, k));

        done = row && put_numbers(row, name, (int64_t)k, out);
        json_decref(row);
    }
    return done;
}

/* An event as a record. line: NULL is the first of a file. */
static bool put_record(const json_t *line, double seconds, FILE *out)
{
    static const char version[] = "brain.Event:2";
    gathered event, summary;
    uint64_t bits;
    unsigned char length[8];
    bool done = gather(&event);

    if (!done)
        return false;
    memcpy(&bits, &seconds, sizeof bits);
    put_tag(1, FIXED64, event.f);
    put_fixed(bits, 8, event.f);
    if (line && (done = gather(&summary))) {
        put_tag(2, VARINT, event.f);
        put_varint((uint64_t)json_integer_value(json_object_get(line, "step")), event.f);
        done = put_summary(line, summary.f);
        if ((done = gathered_whole(&summary) && done))
            put_bytes(5, summary.text, summary.n, event.f);
        free(summary.text);
    } else if (done) {
        put_bytes(3, version, sizeof version - 1, event.f);
    }
    if ((done = gathered_whole(&event) && done)) {
        for (int i = 0; i < 8; i++)
            length[i] = (unsigned char)((uint64_t)event.n >> 8 * i & 0xff);
        fwrite(length, 1, 8, out);
        put_masked_crc(length, 8, out);
        fwrite(event.text, 1, event.n, out);
        put_masked_crc(event.text, event.n, out);
    }
    free(event.text);
    return done;
}

/* ---- the file ---- */

wm_status wmi_events_add(int fd, const json_t *line, double seconds, wm_error *err)
{
    gathered g;
    struct stat info;
    bool done;
    wm_status st = WM_OK;

    if (!gather(&g))
        return wmi_fail(err, WM_ENOMEM, "events: no memory");
    done = put_record(line, seconds, g.f);
    if (!(gathered_whole(&g) && done)) {
        st = wmi_fail(err, WM_ENOMEM, "events: no memory");
    } else if (fstat(fd, &info) || wmi_io_write(fd, g.text, g.n)) {
        st = wmi_fail(err, WM_EIO, "events for TensorBoard: %s", strerror(errno));
        (void)wmi_io_truncate(fd, info.st_size);
    }
    free(g.text);
    return st;
}

wm_status wmi_events_open(int *fd, const char *path, wm_error *err)
{
    struct stat info;
    wm_status st = WM_OK;

    *fd = wmi_io_open(path, O_RDWR | O_CREAT | O_APPEND, 0666);
    if (*fd < 0 || fstat(*fd, &info))
        st = wmi_fail(err, WM_EIO, "%s: %s", path, strerror(errno));
    else if (info.st_size == 0)
        st = wmi_events_add(*fd, NULL, 0, err);
    if (st && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return st;
}
