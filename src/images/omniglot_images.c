/* omniglot_images.c - Omniglot as its authors publish it: Alphabet/character01/0709_01.png, in
 * folders or zip files. Alphabets, characters and drawings are what the sorted paths say. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "images/alphabets.h"
#include "images/image_files.h"
#include "images/png_read.h"

/* A path, taken apart from its end: [.../images_PART/]ALPHABET/CHARACTER/NAME.png */
typedef struct parts {
    const char *part, *alphabet, *character; /* part NULL: none */
    int part_n, alphabet_n, character_n;     /* bytes of each */
} parts;

/* The folder that ends before `end`, or NULL; *n its bytes. */
static const char *folder_before(const char *path, const char *end, int *n)
{
    const char *from = end;

    if (end <= path)
        return NULL;
    while (from > path && from[-1] != '/')
        from--;
    *n = (int)(end - from);
    return from;
}

static bool take_apart(parts *p, const char *path)
{
    static const char prefix[] = "images_";
    const char *name = strrchr(path, '/');

    *p = (parts){0};
    if (!name || !(p->character = folder_before(path, name, &p->character_n)) ||
        !(p->alphabet = folder_before(path, p->character - 1, &p->alphabet_n)))
        return false;
    p->part = folder_before(path, p->alphabet - 1, &p->part_n);
    if (p->part &&
        (p->part_n <= (int)sizeof prefix - 1 || strncmp(p->part, prefix, sizeof prefix - 1) != 0))
        p->part = NULL;
    if (p->part) {
        p->part += sizeof prefix - 1;
        p->part_n -= (int)sizeof prefix - 1;
    }
    return true;
}

static bool same(const char *a, int na, const char *b, int nb)
{
    return na == nb && strncmp(a, b, (size_t)na) == 0;
}

/* images_background_small1 is of the part "background" too. */
static bool is_part(const parts *p, const char *part)
{
    const int n = (int)strlen(part);

    return p->part_n >= n && strncmp(p->part, part, (size_t)n) == 0 &&
           (p->part_n == n || p->part[n] == '_');
}

/* A character, and its first image in the chosen list. */
typedef struct character {
    int64_t first, count, alphabet;
} character;

/* The images while they are sorted out. */
typedef struct gathering {
    wmi_image_files *files;
    int64_t *chosen, n_chosen; /* images of the wanted part */
    character *characters;
    int64_t n_characters;
    wmi_alphabet *alphabets; /* names are in texts */
    char (*texts)[256];
    int64_t n_alphabets;
} gathering;

static wm_status choose(gathering *g, const char *part, wm_error *err)
{
    bool has_parts = false;
    wm_status st = wmi_alloc(&g->chosen, g->files->n, sizeof *g->chosen, "images", err);
    parts p;

    if (st)
        return st;
    for (int64_t i = 0; i < g->files->n; i++)
        has_parts = has_parts || (take_apart(&p, g->files->names[i]) && p.part);
    for (int64_t i = 0; i < g->files->n; i++)
        /* Where there are parts, images outside them are of something else. */
        if (take_apart(&p, g->files->names[i]) && (p.part || !has_parts) &&
            (!part || !p.part || is_part(&p, part)))
            g->chosen[g->n_chosen++] = i;
    if (g->n_chosen)
        return WM_OK;
    if (part && has_parts)
        return wmi_fail(err, WM_EINVAL, "%s: has no images_%.40s", wmi_text_tail(g->files->place),
                        part);
    return wmi_fail(err, WM_EFORMAT,
                    "%s: no images as ALPHABET/CHARACTER/NAME.png, as Omniglot has them",
                    wmi_text_tail(g->files->place));
}

/* Runs of images with the same folders are characters, runs of these are alphabets. */
static wm_status group(gathering *g, wm_error *err)
{
    parts last = {.alphabet = "", .character = ""};
    wm_status st;

    if ((st = wmi_alloc(&g->characters, g->n_chosen, sizeof *g->characters, "characters", err)) ||
        (st =
             wmi_alloc(&g->alphabets, WMI_MAX_ALPHABETS, sizeof *g->alphabets, "alphabets", err)) ||
        (st = wmi_alloc(&g->texts, WMI_MAX_ALPHABETS, sizeof *g->texts, "alphabets", err)))
        return st;
    for (int64_t i = 0; i < g->n_chosen; i++) {
        parts p;
        bool new_alphabet, new_character;

        if (!take_apart(&p, g->files->names[g->chosen[i]]))
            continue; /* never: choose() has done so */
        new_alphabet = !i || !same(p.alphabet, p.alphabet_n, last.alphabet, last.alphabet_n);
        new_character =
            new_alphabet || !same(p.character, p.character_n, last.character, last.character_n);
        last = p;
        if (new_alphabet) {
            char *text = g->texts[g->n_alphabets];

            if (g->n_alphabets == WMI_MAX_ALPHABETS - 1)
                return wmi_fail(err, WM_EFORMAT, "%s: more than %d alphabets",
                                wmi_text_tail(g->files->place), WMI_MAX_ALPHABETS - 1);
            snprintf(text, sizeof g->texts[0], "%.*s", p.alphabet_n, p.alphabet);
            g->alphabets[g->n_alphabets++] = (wmi_alphabet){text, 0};
        }
        if (new_character) {
            g->characters[g->n_characters++] = (character){i, 0, g->n_alphabets - 1};
            g->alphabets[g->n_alphabets - 1].size++;
        }
        g->characters[g->n_characters - 1].count++;
    }
    return WM_OK;
}

static wm_status same_number(const gathering *g, int64_t *drawings, wm_error *err)
{
    *drawings = 0;
    for (int64_t i = 0; i < g->n_characters; i++)
        if (g->characters[i].count > *drawings)
            *drawings = g->characters[i].count;
    for (int64_t i = 0; i < g->n_characters; i++)
        if (g->characters[i].count != *drawings) {
            char label[512], *slash;

            wmi_image_files_label(g->files, g->chosen[g->characters[i].first], label, sizeof label);
            slash = strrchr(label, '/');
            if (slash)
                *slash = '\0';
            return wmi_fail(err, WM_EFORMAT,
                            "%s: %" PRId64 " drawings, other characters have %" PRId64,
                            wmi_text_tail(label), g->characters[i].count, *drawings);
        }
    return WM_OK;
}

static wm_status read_drawing(const gathering *g, int64_t image, uint8_t *pixels, wm_error *err)
{
    wmi_picture picture = {0};
    uint8_t *bytes = NULL;
    char label[512];
    size_t n;
    wm_status st;

    wmi_image_files_label(g->files, image, label, sizeof label);
    if (!(st = wmi_image_files_read(g->files, image, &bytes, &n, err)) &&
        !(st = wmi_png_read(&picture, bytes, n, label, err)))
        wmi_picture_ink(&picture, WM_DRAWING_SIDE, pixels);
    wmi_free(picture.pixels);
    wmi_free(bytes);
    return st;
}

static wm_status read_all(wm_alphabets *a, const gathering *g, const int64_t *place, wm_error *err)
{
    int64_t within = 0; /* characters of the same alphabet before this one */
    wm_status st;

    for (int64_t i = 0; i < g->n_characters; i++) {
        const character *c = &g->characters[i];

        within = i && c->alphabet == c[-1].alphabet ? within + 1 : 0;
        for (int64_t k = 0; k < c->count; k++)
            if ((st = read_drawing(g, g->chosen[c->first + k],
                                   wmi_alphabets_pixels(a, place[c->alphabet], within, k), err)))
                return st;
    }
    return WM_OK;
}

/* Takes the files over. */
static wm_status open_files(wm_alphabets **out, wmi_image_files *files, const char *part,
                            wm_error *err)
{
    gathering g = {.files = files};
    int64_t drawings, *place = NULL;
    wm_alphabets *a = NULL;
    wm_status st;

    if ((st = choose(&g, part, err)) || (st = group(&g, err)) ||
        (st = same_number(&g, &drawings, err)) ||
        (st = wmi_alloc(&place, g.n_alphabets, sizeof *place, "alphabets", err)) ||
        (st = wmi_alphabets_new(&a, g.alphabets, g.n_alphabets, drawings, files->place, place,
                                err)) ||
        (st = read_all(a, &g, place, err)))
        goto done;
    *out = a;
    a = NULL;
done:
    wm_alphabets_free(a);
    wmi_free(place);
    wmi_free(g.chosen);
    wmi_free(g.characters);
    wmi_free(g.alphabets);
    wmi_free(g.texts);
    wmi_image_files_close(files);
    return st;
}

wm_status wmi_alphabets_open_folder(wm_alphabets **out, const char *folder, const char *part,
                                    wm_error *err)
{
    wmi_image_files *files = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_image_files_folder(&files, folder, err)))
        return st;
    return open_files(out, files, part, err);
}

wm_status wmi_alphabets_open_zip(wm_alphabets **out, const char *path, const char *part,
                                 wm_error *err)
{
    wmi_image_files *files = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_image_files_zip(&files, path, err)))
        return st;
    return open_files(out, files, part, err);
}
