/* fitting.c - shared parts of the commands that fit by many steps (fitting.h). */
#include "options/fitting.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "waymark/read.h"

const char *const choice_names[] = WM_CHOICE_NAMES;

bool image_parse(int64_t shape[3], const char *text)
{
    long long h = 0, w = 0, c = 1;
    int used = 0;

    if (sscanf(text, "%lldx%lld%n", &h, &w, &used) < 2 ||
        (text[used] && (sscanf(text, "%lldx%lldx%lld%n", &h, &w, &c, &used) < 3 || text[used])) ||
        h < 1 || w < 1 || c < 1 || h > 65536 || w > 65536 || c > 65536)
        return false;
    shape[0] = h;
    shape[1] = w;
    shape[2] = c;
    return true;
}

wm_status image_find(bool *found, int64_t shape[3], const char *path, const wm_sink *sink,
                     wm_error *err)
{
    wm_reader *r = NULL;
    struct stat info;
    wm_status st;

    *found = false;
    /* Pipes can be read only once, so they are not opened here. A name that stat() does not know
     * may be "FILE:ARRAY". */
    if (strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode)))
        return WM_OK;
    if ((st = wm_reader_open(&r, path, NULL, NULL, err)))
        return st;
    *found = wm_reader_shape(r, shape) >= 2;
    wm_reader_close(r);
    if (*found)
        wm_say(sink, WM_LOG_INFO,
               shape[2] == 1 ? "%s: images of %" PRId64 " x %" PRId64
                               ", from the shape of the array"
                             : "%s: images of %" PRId64 " x %" PRId64 " x %" PRId64
                               ", from the shape of the array",
               path, shape[0], shape[1], shape[2]);
    return WM_OK;
}

wm_status take_spacing(wm_spacing *out, int64_t *bridges, const char *text, cli_call *call,
                       wm_error *err)
{
    wm_alphas alphas;
    wm_error why = {0};

    if (wm_spacing_parse(out, text, &why))
        return cli_usage(call, err, "--spacing: %s", why.text);
    if (out->kind != WM_SPACING_LIST)
        return WM_OK;
    if (wm_spacing_alphas(&alphas, out, *bridges > 0 ? *bridges : 0, &why))
        return cli_usage(call, err, "--spacing: %s", why.text);
    *bridges = alphas.bridges;
    return WM_OK;
}

wm_status fit_interrupted(const cli_call *call, bool finished, const char *model, wm_error *err)
{
    if (finished || !*call->stop)
        return WM_OK;
    return WM_FAIL(err, WM_EINTERRUPTED, "%s",
                   model ? "--resume goes on; model.safetensors has what was learned so far"
                         : "without -o nothing is kept");
}
