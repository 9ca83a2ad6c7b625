/* mnist.c - MNIST and the sets that took over its files (Fashion-MNIST, KMNIST): four IDX files,
 * found by their names in a folder that the user knows, or the npy files made of them. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/utf8.h"
#include "data/formats/bytes.h"
#include "images/u8_files.h"
#include "waymark/images.h"

enum { DEPTH = 3, MAX_SIDE = 1024, HEAD = 16 };

struct wm_image_set {
    char *folder;
    int64_t height, width;
    wm_image_part part[3]; /* borrowed from the blocks below */
    uint8_t *pixels[3], *labels[3];
};

/* The names in use: as published, as some archives unpack them; each also gzipped. */
static const char *const idx_names[4][2] = {
    {"train-images-idx3-ubyte", "train-images.idx3-ubyte"},
    {"train-labels-idx1-ubyte", "train-labels.idx1-ubyte"},
    {"t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte"},
    {"t10k-labels-idx1-ubyte", "t10k-labels.idx1-ubyte"},
};
enum { TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS };
static const char *const split_names[3] = {"train", "valid", "test"};

/* --- finding -----------------------------------------------------------------------------------*/

/* The path of one of the four files in a folder; *out is NULL if it is not there. */
static wm_status find_idx(char **out, const char *folder, int which, wm_error *err)
{
    static const char *const ends[] = {"", ".gz"};

    for (int i = 0; i < 4; i++) {
        char name[64];
        wm_status st;

        snprintf(name, sizeof name, "%s%s", idx_names[which][i / 2], ends[i % 2]);
        if ((st = wmi_path_join(out, folder, name, err)))
            return st;
        if (wmi_file_exists(*out))
            return WM_OK;
        wmi_free(*out);
        *out = NULL;
    }
    return WM_OK;
}

/* Whether a folder holds the images of train: IDX, or npy of our own making. */
static wm_status holds_train(bool *yes, const char *folder, wm_error *err)
{
    static const char *const npy[2] = {"train.npy", "train_labels.npy"};
    char *path = NULL;
    int found = 0;
    wm_status st = find_idx(&path, folder, TRAIN_IMAGES, err);

    *yes = path != NULL;
    wmi_free(path);
    for (int i = 0; i < 2 && !st && !*yes; i++)
        if (!(st = wmi_path_join(&path, folder, npy[i], err))) {
            found += wmi_file_exists(path);
            wmi_free(path);
        }
    *yes = *yes || found == 2;
    return st;
}

static wm_status search(char **found, const char *folder, int depth, wm_error *err);

/* Looks into the folders of a folder. */
static wm_status search_below(char **found, const char *folder, int depth, wm_error *err)
{
    const struct dirent *entry;
    wm_status st = WM_OK;
    DIR *dir = opendir(folder);

    if (!dir) /* below what the user named there may be folders that are closed to us */
        return depth == DEPTH
                   ? wmi_fail(err, WM_EIO, "%s: %s", wmi_text_tail(folder), strerror(errno))
                   : WM_OK;
    while (!st && (entry = readdir(dir))) {
        struct stat info;
        char *inner = NULL;

        if (entry->d_name[0] == '.')
            continue;
        if (!(st = wmi_path_join(&inner, folder, entry->d_name, err)) && !stat(inner, &info) &&
            S_ISDIR(info.st_mode))
            st = search(found, inner, depth - 1, err);
        wmi_free(inner);
    }
    closedir(dir);
    return st;
}

/* *found: the one folder with the files, itself or at most depth below; two are refused. */
static wm_status search(char **found, const char *folder, int depth, wm_error *err)
{
    bool here;
    wm_status st = holds_train(&here, folder, err);

    if (st)
        return st;
    if (!here)
        return depth > 0 ? search_below(found, folder, depth, err) : WM_OK;
    if (*found) {
        const bool first = strcmp(*found, folder) < 0; /* not in the order of the disk */

        return wmi_fail(err, WM_EINVAL, "%s and %s both hold such images: name one of them",
                        wmi_text_tail(first ? *found : folder),
                        wmi_text_tail(first ? folder : *found));
    }
    return wmi_path_join(found, "", folder, err);
}

/* --- IDX ---------------------------------------------------------------------------------------*/

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

/* The values after the header: want bytes and no more. Memory grows with what comes, because the
 * header of a gzipped file may lie. */
static wm_status read_values(uint8_t **out, wmi_bytes *bytes, int64_t want, const char *path,
                             wm_error *err)
{
    int64_t room = 0, used = 0;
    size_t got;
    uint8_t extra;
    wm_status st;

    while (used < want) {
        int64_t next = want - used;

        if (used == room) {
            room = room ? 2 * room : 1 << 22;
            room = room < want ? room : want;
            if ((st = wmi_u8_grow(out, used, room, err)))
                return st;
        }
        next = next < room - used ? next : room - used;
        if ((st = wmi_bytes_read(bytes, *out + used, (size_t)next, &got, err)))
            return st;
        used += (int64_t)got;
        if ((int64_t)got < next)
            return wmi_fail(err, WM_EFORMAT,
                            "%s: cut short: %" PRId64 " values are there, its header says %" PRId64,
                            wmi_text_tail(path), used, want);
    }
    if ((st = wmi_bytes_read(bytes, &extra, 1, &got, err)))
        return st;
    return got ? wmi_fail(err, WM_EFORMAT, "%s: more values than the %" PRId64 " of its header",
                          wmi_text_tail(path), want)
               : WM_OK;
}

/* An IDX file of bytes of this rank, 1 or 3; its sizes into dim. */
static wm_status read_idx(uint8_t **out, int64_t dim[3], int rank, const char *path, wm_error *err)
{
    unsigned char head[HEAD];
    wmi_bytes *bytes = NULL;
    int64_t want;
    size_t got;
    wm_status st;

    if ((st = wmi_bytes_open(&bytes, path, NULL, err)) ||
        (st = wmi_bytes_read(bytes, head, 4 + 4 * (size_t)rank, &got, err)))
        goto done;
    if (got < 4 + 4 * (size_t)rank || big_endian(head) != (uint32_t)(0x800 + rank)) {
        st = wmi_fail(err, WM_EFORMAT,
                      "%s: does not begin as an IDX file of bytes with %d ax%s does (00 00 08 0%d)",
                      wmi_text_tail(path), rank, rank == 1 ? "is" : "es", rank);
        goto done;
    }
    for (int i = 0; i < 3; i++)
        dim[i] = i < rank ? (int64_t)big_endian(head + 4 + 4 * i) : 1;
    if (dim[0] < 1 || dim[1] < 1 || dim[2] < 1 || dim[1] > MAX_SIDE || dim[2] > MAX_SIDE) {
        st = wmi_fail(err, WM_EFORMAT,
                      "%s: %" PRId64 " images of %" PRId64 " x %" PRId64
                      ": each must be at least 1, a side at most %d",
                      wmi_text_tail(path), dim[0], dim[1], dim[2], MAX_SIDE);
        goto done;
    }
    want = dim[0] * dim[1] * dim[2];
    if (wmi_bytes_size(bytes) >= 0 && wmi_bytes_size(bytes) - 4 - 4 * rank < want) {
        st = wmi_fail(err, WM_EFORMAT,
                      "%s: cut short: %" PRId64 " values are there, its header says %" PRId64,
                      wmi_text_tail(path), wmi_bytes_size(bytes) - 4 - 4 * rank, want);
        goto done;
    }
    st = read_values(out, bytes, want, path, err);
done:
    wmi_bytes_close(bytes);
    return st;
}

/* Images and labels of train (0) or test (2) into the set. */
static wm_status read_pair(wm_image_set *s, int split, wm_error *err)
{
    const int images = split ? TEST_IMAGES : TRAIN_IMAGES;
    char *path[2] = {NULL, NULL};
    int64_t dim[3], n_labels[3];
    wm_status st;

    for (int i = 0; i < 2; i++) {
        if ((st = find_idx(&path[i], s->folder, images + i, err)))
            goto done;
        if (!path[i]) {
            st = wmi_fail(err, WM_EIO, "%s: has no %s, nor one with .gz", wmi_text_tail(s->folder),
                          idx_names[images + i][0]);
            goto done;
        }
    }
    if ((st = read_idx(&s->pixels[split], dim, 3, path[0], err)) ||
        (st = read_idx(&s->labels[split], n_labels, 1, path[1], err)))
        goto done;
    if (dim[0] != n_labels[0])
        st = wmi_fail(err, WM_ESHAPE, "%s: %" PRId64 " labels for %" PRId64 " images",
                      wmi_text_tail(path[1]), n_labels[0], dim[0]);
    else if (split && (dim[1] != s->height || dim[2] != s->width))
        st = wmi_fail(err, WM_ESHAPE,
                      "%s: images of %" PRId64 " x %" PRId64 ", those of train have %" PRId64
                      " x %" PRId64,
                      wmi_text_tail(path[0]), dim[1], dim[2], s->height, s->width);
    s->height = dim[1];
    s->width = dim[2];
    s->part[split] = (wm_image_part){dim[0], s->pixels[split], s->labels[split]};
done:
    wmi_free(path[0]);
    wmi_free(path[1]);
    return st;
}

static wm_status open_idx(wm_image_set *s, int64_t valid, wm_error *err)
{
    wm_image_part *part = s->part;
    wm_status st;

    if ((st = read_pair(s, WM_SPLIT_TRAIN, err)) || (st = read_pair(s, WM_SPLIT_TEST, err)))
        return st;
    if (valid < 0 || valid >= part[0].n)
        return wmi_fail(err, WM_EINVAL,
                        "%s: %" PRId64 " images of %" PRId64 " for validation: some must be left",
                        wmi_text_tail(s->folder), valid, part[0].n);
    part[0].n -= valid;
    part[1] = (wm_image_part){valid, part[0].pixels + part[0].n * s->height * s->width,
                              part[0].labels + part[0].n};
    return WM_OK;
}

/* --- npy ---------------------------------------------------------------------------------------*/

static wm_status read_part(wm_image_set *s, int split, wm_error *err)
{
    char name[2][32], *path[2] = {NULL, NULL};
    int64_t n, n_labels, one = 1, pixels = s->height * s->width, side;
    wm_status st;

    snprintf(name[0], sizeof name[0], "%s.npy", split_names[split]);
    snprintf(name[1], sizeof name[1], "%s_labels.npy", split_names[split]);
    if ((st = wmi_path_join(&path[0], s->folder, name[0], err)) ||
        (st = wmi_path_join(&path[1], s->folder, name[1], err)) ||
        (st = wmi_u8_read(&s->pixels[split], &n, &pixels, path[0], err)) ||
        (st = wmi_u8_read(&s->labels[split], &n_labels, &one, path[1], err)))
        goto done;
    side = (int64_t)lround(sqrt((double)pixels));
    if (side * side != pixels)
        st = wmi_fail(err, WM_ESHAPE, "%s: %" PRId64 " pixels an image do not make a square",
                      wmi_text_tail(path[0]), pixels);
    else if (n != n_labels)
        st = wmi_fail(err, WM_ESHAPE, "%s: %" PRId64 " labels for %" PRId64 " images",
                      wmi_text_tail(path[1]), n_labels, n);
    s->height = s->width = side;
    s->part[split] = (wm_image_part){n, s->pixels[split], s->labels[split]};
done:
    wmi_free(path[0]);
    wmi_free(path[1]);
    return st;
}

/* --- the set -----------------------------------------------------------------------------------*/

wm_status wm_image_set_open(wm_image_set **out, const char *folder, int64_t valid, wm_error *err)
{
    wm_image_set *s = NULL;
    char *path = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&s, 1, sizeof *s, "image set", err)) ||
        (st = search(&s->folder, folder, DEPTH, err)))
        goto done;
    if (!s->folder) {
        st = wmi_fail(err, WM_EIO, "%s: has no %s, nor one with .gz, nor has a folder in it",
                      wmi_text_tail(folder), idx_names[0][0]);
        goto done;
    }
    if ((st = find_idx(&path, s->folder, TRAIN_IMAGES, err)))
        goto done;
    if (path)
        st = open_idx(s, valid, err);
    else
        for (int i = 0; i < 3 && !st; i++)
            st = read_part(s, i, err);
    if (st)
        goto done;
    *out = s;
    s = NULL;
done:
    wmi_free(path);
    wm_image_set_free(s);
    return st;
}

void wm_image_set_free(wm_image_set *s)
{
    if (!s)
        return;
    for (int i = 0; i < 3; i++) {
        wmi_free(s->pixels[i]);
        wmi_free(s->labels[i]);
    }
    wmi_free(s->folder);
    wmi_free(s);
}

int64_t wm_image_set_height(const wm_image_set *s)
{
    return s->height;
}

int64_t wm_image_set_width(const wm_image_set *s)
{
    return s->width;
}

wm_image_part wm_image_set_part(const wm_image_set *s, wm_split split)
{
    return split <= WM_SPLIT_TEST ? s->part[split] : (wm_image_part){0};
}

const char *wm_image_set_folder(const wm_image_set *s)
{
    return s->folder;
}

static wm_status fill(const wmi_u8_file *file, int64_t first, int64_t n, uint8_t *to, wm_error *err)
{
    const int64_t width = file->rank == 3 ? file->dim[1] * file->dim[2] : 1;

    (void)err;
    memcpy(to, (const uint8_t *)file->ctx + first * width, (size_t)(n * width));
    return WM_OK;
}

wm_status wm_image_set_write(const wm_image_set *s, const char *folder, bool overwrite,
                             wm_error *err)
{
    wmi_u8_file files[6] = {0};
    int n = 0;

    for (int i = 0; i < 3; i++) {
        const wm_image_part *part = &s->part[i];

        if (!part->n)
            continue;
        files[n] = (wmi_u8_file){
            .rank = 3, .dim = {part->n, s->height, s->width}, .fill = fill, .ctx = part->pixels};
        snprintf(files[n++].name, sizeof files->name, "%s", split_names[i]);
        files[n] = (wmi_u8_file){.rank = 1, .dim = {part->n}, .fill = fill, .ctx = part->labels};
        snprintf(files[n++].name, sizeof files->name, "%s_labels", split_names[i]);
    }
    return wmi_u8_files_write(files, n, folder, overwrite, err);
}
