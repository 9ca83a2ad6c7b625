/* omniglot.c - Omniglot as packed arrays: a list of alphabets, one array of images, and three of
 * their labels. The rows may come in any order; every drawing must be there once. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/utf8.h"
#include "images/alphabets.h"
#include "images/u8_files.h"

enum { MAX_LIST = 1 << 20 }; /* bytes of alphabets.txt */

enum { IMAGES, ALPHABET, CHARACTER, VERSION, N_ARRAYS };
static const char *const array_names[N_ARRAYS] = {"omniglot_28x28.npy", "alphabet.npy",
                                                  "character.npy", "version.npy"};

/* The files while they are read. */
typedef struct packed {
    const char *folder, *part;
    char *list_path, *path[N_ARRAYS];
    char *text;              /* alphabets.txt, cut into words */
    wmi_alphabet *alphabets; /* (n), all of them */
    bool *wanted;            /* (n): of the part that is asked for */
    int64_t n;
    uint8_t *array[N_ARRAYS]; /* (rows, 784), (rows), (rows), (rows) */
    int64_t rows;
    int64_t *count; /* (n, WMI_MAX_CHARACTERS): rows of each character */
} packed;

static wm_status read_line(packed *p, char *line, int number, wm_error *err)
{
    char *size = strchr(line, '\t'), *part = size ? strchr(size + 1, '\t') : NULL, *end = NULL;
    long value;

    if (!part || size == line)
        return wmi_fail(err, WM_EFORMAT,
                        "%s:%d: expected name, tab, number of characters, tab, part",
                        wmi_text_tail(p->list_path), number);
    *size++ = *part++ = '\0';
    value = strtol(size, &end, 10);
    if (end == size || *end || value < 1 || value > WMI_MAX_CHARACTERS)
        return wmi_fail(err, WM_EFORMAT, "%s:%d: '%.40s' characters, expected 1 to %d",
                        wmi_text_tail(p->list_path), number, size, WMI_MAX_CHARACTERS);
    if (p->n == WMI_MAX_ALPHABETS)
        return wmi_fail(err, WM_EFORMAT, "%s: more than %d alphabets", wmi_text_tail(p->list_path),
                        WMI_MAX_ALPHABETS);
    p->wanted[p->n] = !p->part || strcmp(part, p->part) == 0;
    p->alphabets[p->n++] = (wmi_alphabet){line, value};
    return WM_OK;
}

static wm_status read_list(packed *p, wm_error *err)
{
    int number = 0;
    size_t size;
    wm_status st;

    if ((st = wmi_file_read(&p->text, &size, p->list_path, MAX_LIST, err)) ||
        (st = wmi_alloc(&p->alphabets, WMI_MAX_ALPHABETS, sizeof *p->alphabets, "list", err)) ||
        (st = wmi_alloc(&p->wanted, WMI_MAX_ALPHABETS, sizeof *p->wanted, "list", err)))
        return st;
    for (char *line = p->text; line && *line && !st;) {
        char *next = strchr(line, '\n');
        size_t length;

        if (next)
            *next++ = '\0';
        length = strlen(line);
        if (length && line[length - 1] == '\r')
            line[length - 1] = '\0';
        number++;
        if (*line)
            st = read_line(p, line, number, err);
        line = next;
    }
    if (!st && !p->n)
        st = wmi_fail(err, WM_EFORMAT, "%s: lists no alphabet", wmi_text_tail(p->list_path));
    return st;
}

static wm_status read_arrays(packed *p, wm_error *err)
{
    wm_status st;

    for (int i = 0; i < N_ARRAYS; i++) {
        int64_t dim = i == IMAGES ? WMI_DRAWING_PIXELS : 1, n;

        if ((st = wmi_u8_read(&p->array[i], &n, &dim, p->path[i], err)))
            return st;
        if (i && n != p->rows)
            return wmi_fail(err, WM_ESHAPE, "%s: %" PRId64 " labels for %" PRId64 " images",
                            wmi_text_tail(p->path[i]), n, p->rows);
        p->rows = n;
    }
    return WM_OK;
}

/* Labels are in range; counts the drawings of each character. */
static wm_status count_drawings(packed *p, wm_error *err)
{
    wm_status st = wmi_alloc(&p->count, p->n * WMI_MAX_CHARACTERS, sizeof *p->count, "count", err);

    for (int64_t i = 0; i < p->rows && !st; i++) {
        const int64_t a = p->array[ALPHABET][i], c = p->array[CHARACTER][i];

        if (a >= p->n)
            st = wmi_fail(err, WM_EFORMAT,
                          "%s: row %" PRId64 " is alphabet %" PRId64
                          ", from 0; alphabets.txt lists %" PRId64,
                          wmi_text_tail(p->path[ALPHABET]), i + 1, a, p->n);
        else if (c >= p->alphabets[a].size)
            st = wmi_fail(err, WM_EFORMAT,
                          "%s: row %" PRId64 " is character %" PRId64
                          ", from 0; '%.40s' has %" PRId64,
                          wmi_text_tail(p->path[CHARACTER]), i + 1, c, p->alphabets[a].name,
                          p->alphabets[a].size);
        else
            p->count[a * WMI_MAX_CHARACTERS + c]++;
    }
    return st;
}

static wm_status none_missing(const packed *p, wm_error *err)
{
    for (int64_t a = 0; a < p->n; a++) {
        int64_t all = 0;

        for (int64_t c = 0; c < p->alphabets[a].size; c++)
            all += p->count[a * WMI_MAX_CHARACTERS + c];
        if (!all)
            return wmi_fail(err, WM_EFORMAT,
                            "%s: no image of the alphabet '%.40s', which alphabets.txt lists",
                            wmi_text_tail(p->path[ALPHABET]), p->alphabets[a].name);
    }
    return WM_OK;
}

/* Every character has as many drawings as the others; *out: how many. */
static wm_status same_number(int64_t *out, const packed *p, wm_error *err)
{
    int64_t most = 0;

    for (int64_t i = 0; i < p->n * WMI_MAX_CHARACTERS; i++)
        most = p->count[i] > most ? p->count[i] : most;
    for (int64_t a = 0; a < p->n; a++)
        for (int64_t c = 0; c < p->alphabets[a].size; c++) {
            const int64_t count = p->count[a * WMI_MAX_CHARACTERS + c];

            if (count != most)
                return wmi_fail(err, WM_EFORMAT,
                                "%s: character %" PRId64 ", from 0, of '%.40s' has %" PRId64
                                " drawings, others have %" PRId64,
                                wmi_text_tail(p->path[CHARACTER]), c, p->alphabets[a].name, count,
                                most);
        }
    *out = most;
    return WM_OK;
}

/* Copies the drawings of the wanted alphabets to their places; each place is taken once. */
static wm_status place_drawings(wm_alphabets *to, const packed *p, const int64_t *place,
                                bool *taken, wm_error *err)
{
    const int64_t drawings = wm_alphabets_drawings(to);

    for (int64_t i = 0; i < p->rows; i++) {
        const int64_t a = p->array[ALPHABET][i], c = p->array[CHARACTER][i];
        const int64_t v = p->array[VERSION][i];
        bool *seen;

        if (v >= drawings)
            return wmi_fail(err, WM_EFORMAT,
                            "%s: row %" PRId64 " is drawing %" PRId64
                            ", from 0; each character has %" PRId64,
                            wmi_text_tail(p->path[VERSION]), i + 1, v, drawings);
        seen = &taken[(a * WMI_MAX_CHARACTERS + c) * drawings + v];
        if (*seen)
            return wmi_fail(err, WM_EFORMAT,
                            "%s: row %" PRId64 " is drawing %" PRId64 " of character %" PRId64
                            " of '%.40s' a second time",
                            wmi_text_tail(p->path[VERSION]), i + 1, v, c, p->alphabets[a].name);
        *seen = true;
        if (p->wanted[a])
            memcpy(wmi_alphabets_pixels(to, place[a], c, v),
                   p->array[IMAGES] + i * WMI_DRAWING_PIXELS, WMI_DRAWING_PIXELS);
    }
    return WM_OK;
}

/* The wanted alphabets, and where each of p->alphabets stands among them. */
static wm_status make_alphabets(wm_alphabets **out, const packed *p, int64_t drawings,
                                int64_t *place, wm_error *err)
{
    wmi_alphabet *chosen = NULL;
    int64_t *at = NULL, n = 0;
    wm_status st;

    if ((st = wmi_alloc(&chosen, p->n, sizeof *chosen, "alphabets", err)) ||
        (st = wmi_alloc(&at, p->n, sizeof *at, "alphabets", err)))
        goto done;
    for (int64_t a = 0; a < p->n; a++)
        if (p->wanted[a])
            chosen[n++] = p->alphabets[a];
    if (!n) {
        st = wmi_fail(err, WM_EINVAL, "%s: has no alphabet of the part '%.40s'",
                      wmi_text_tail(p->list_path), p->part);
        goto done;
    }
    if ((st = wmi_alphabets_new(out, chosen, n, drawings, p->list_path, at, err)))
        goto done;
    n = 0;
    for (int64_t a = 0; a < p->n; a++)
        place[a] = p->wanted[a] ? at[n++] : -1;
done:
    wmi_free(chosen);
    wmi_free(at);
    return st;
}

static void drop(packed *p)
{
    for (int i = 0; i < N_ARRAYS; i++) {
        wmi_free(p->path[i]);
        wmi_free(p->array[i]);
    }
    wmi_free(p->list_path);
    wmi_free(p->text);
    wmi_free(p->alphabets);
    wmi_free(p->wanted);
    wmi_free(p->count);
}

wm_status wmi_alphabets_open_packed(wm_alphabets **out, const char *folder, const char *part,
                                    wm_error *err)
{
    packed p = {.folder = folder, .part = part};
    wm_alphabets *a = NULL;
    int64_t drawings, *place = NULL;
    bool *taken = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_path_join(&p.list_path, folder, "alphabets.txt", err)))
        goto done;
    for (int i = 0; i < N_ARRAYS; i++)
        if ((st = wmi_path_join(&p.path[i], folder, array_names[i], err)))
            goto done;
    if ((st = read_list(&p, err)) || (st = read_arrays(&p, err)) ||
        (st = count_drawings(&p, err)) || (st = none_missing(&p, err)) ||
        (st = same_number(&drawings, &p, err)) ||
        (st = wmi_alloc(&place, p.n, sizeof *place, "alphabets", err)) ||
        (st = make_alphabets(&a, &p, drawings, place, err)) ||
        (st = wmi_alloc(&taken, p.n * WMI_MAX_CHARACTERS * drawings, sizeof *taken, "drawings",
                        err)) ||
        (st = place_drawings(a, &p, place, taken, err)))
        goto done;
    *out = a;
    a = NULL;
done:
    drop(&p);
    wmi_free(place);
    wmi_free(taken);
    wm_alphabets_free(a);
    return st;
}
