/* run_manifest.c - which files are a run's own (run_manifest.h). */
#include "report/run/run_manifest.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "waymark/version.h"

#define MAX_MANIFEST (16 << 20) /* bytes */
#define TENSORS ".safetensors"

json_t *wmi_manifest_load(const char *dir)
{
    char *path = NULL, *text = NULL;
    json_t *manifest = NULL;
    size_t n;

    if (!wmi_path_join(&path, dir, WMI_MANIFEST, NULL) && wmi_file_exists(path) &&
        !wmi_file_read(&text, &n, path, MAX_MANIFEST, NULL) &&
        wmi_json_read(&manifest, text, n, path, NULL))
        manifest = NULL;
    if (!json_is_array(json_object_get(manifest, "files"))) {
        json_decref(manifest);
        manifest = NULL;
    }
    wmi_free(text);
    wmi_free(path);
    return manifest;
}

json_t *wmi_manifest_of_any_run(void)
{
    return json_pack("{s:[s,s,s,s,s,s]}", "files", "config.json", "summary.json", "metrics.jsonl",
                     "model.safetensors", "state.safetensors", "report.html");
}

static bool ends_with(const char *text, size_t n, const char *end)
{
    const size_t m = strlen(end);

    return n >= m && strncmp(text + n - m, end, m) == 0;
}

/* Endings of what a figure is: its pictures, numbers, description and script. */
static bool is_figure_end(const char *end)
{
    static const char *const ends[] = {".svg", ".png", ".csv", ".json", ".gp"};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(end, ends[i]) == 0)
            return true;
    return false;
}

static bool stands_for(const char *name, const char *file)
{
    const size_t n = strlen(name), stem = n - strlen(TENSORS);

    if (strcmp(name, file) == 0)
        return true;
    if (strncmp(name, "figures/", 8) == 0)
        return strncmp(name, file, n) == 0 && is_figure_end(file + n);
    if (strchr(file, '/') || !ends_with(file, strlen(file), TENSORS))
        return false;
    if (ends_with(name, n, "-"))
        return strncmp(name, file, n) == 0;
    return ends_with(name, n, TENSORS) && strncmp(name, file, stem) == 0 && file[stem] == '.';
}

bool wmi_manifest_names(const json_t *manifest, const char *file)
{
    const json_t *files = json_object_get(manifest, "files");

    for (size_t i = 0; i < json_array_size(files); i++) {
        const char *name = json_string_value(json_array_get(files, i));

        if (name && stands_for(name, file))
            return true;
    }
    return strcmp(file, WMI_MANIFEST) == 0 && manifest;
}

static bool has(const json_t *files, const char *name)
{
    for (size_t i = 0; i < json_array_size(files); i++) {
        const char *there = json_string_value(json_array_get(files, i));

        if (there && strcmp(there, name) == 0)
            return true;
    }
    return false;
}

wm_status wmi_manifest_add(json_t **manifest, const char *dir, const char *name, wm_error *err)
{
    json_t *files;
    char *path = NULL;
    wmi_file *f = NULL;
    wm_status st;

    if (!*manifest)
        *manifest = json_pack("{s:s, s:[]}", "waymark", wm_version(), "files");
    files = json_object_get(*manifest, "files");
    if (has(files, name))
        return WM_OK;
    if (json_array_append_new(files, json_string(name)))
        return wmi_fail(err, WM_ENOMEM, "%s: no memory for its manifest", wmi_path_tail(dir));
    if (!(st = wmi_path_join(&path, dir, WMI_MANIFEST, err)) &&
        !(st = wmi_file_open(&f, path, err))) {
        wmi_json_print(*manifest, wmi_file_stream(f));
        st = wmi_file_commit(f, err);
    }
    wmi_free(path);
    return st;
}
