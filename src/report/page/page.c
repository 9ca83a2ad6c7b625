/* page.c - one self-contained HTML page of a run folder: the answer first, then why, then how. It
 * needs no script, no font and no other file; what it shows comes from summary.json, config.json,
 * metrics.jsonl, figures/ and the pictures that the summary names, and all of it is taken for text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/page/page_html.h"
#include "waymark/report.h"
#include "waymark/version.h"

#define MAX_JSON (16 << 20) /* bytes */

/* The object in folder/name; NULL, and WM_OK, if there is no such file. */
static wm_status load(json_t **out, const char *folder, const char *name, wm_error *err)
{
    char *path = NULL, *text = NULL;
    size_t n;
    wm_status st;

    *out = NULL;
    if ((st = wmi_path_join(&path, folder, name, err)))
        return st;
    if (!wmi_file_exists(path))
        goto done;
    if ((st = wmi_file_read(&text, &n, path, MAX_JSON, err)))
        goto done;
    st = wmi_json_read(out, text, n, wmi_path_tail(path), err);
done:
    wmi_free(text);
    wmi_free(path);
    return st;
}

static wm_status load_run(wmi_page *p, wm_error *err)
{
    struct stat info;
    wm_status st;

    if (stat(p->folder, &info))
        return wmi_fail(err, WM_EIO, "%s: %s", wmi_path_tail(p->folder), strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return wmi_fail(err, WM_EINVAL, "%s: not a folder; a report is made of a run folder (-o)",
                        wmi_path_tail(p->folder));
    if ((st = load(&p->config, p->folder, "config.json", err)) ||
        (st = load(&p->summary, p->folder, "summary.json", err)))
        return st;
    if (!p->config && !p->summary)
        return wmi_fail(err, WM_EINVAL,
                        "%s: not a run folder: it has neither config.json nor summary.json",
                        wmi_path_tail(p->folder));
    if (!p->summary && !json_is_string(json_object_get(p->config, "command")))
        return wmi_fail(err, WM_EINVAL, "%s: not a run folder: its config.json names no command",
                        wmi_path_tail(p->folder));
    return WM_OK;
}

/* --- the frame ---------------------------------------------------------------------------------*/

/* The command and its arguments, for the title and the heading. */
static const char *command_of(const wmi_page *p)
{
    const char *command = json_string_value(json_object_get(p->summary, "command"));

    if (!command)
        command = json_string_value(json_object_get(p->config, "command"));
    return command ? command : "run";
}

static bool put_arguments(const wmi_page *p, const char *before, FILE *out)
{
    const json_t *arguments = json_object_get(p->config, "arguments");
    bool any = false;

    for (size_t i = 0; i < json_array_size(arguments); i++) {
        const char *text = json_string_value(json_array_get(arguments, i));

        if (!text)
            continue;
        fputs(any ? ", " : before, out);
        wmi_html_text(text, out);
        any = true;
    }
    return any;
}

static void put_head(const wmi_page *p, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          /* Nothing is fetched and nothing runs, whatever the files of the run say. */
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; img-src data:\">\n<title>waymark ",
          out);
    wmi_html_text(command_of(p), out);
    put_arguments(p, ": ", out);
    fputs("</title>\n<style>\n", out);
    for (const char *const *piece = wmi_page_style; *piece; piece++)
        fputs(*piece, out);
    fputs("</style>\n</head>\n<body>\n<header>\n<h1>waymark ", out);
    wmi_html_text(command_of(p), out);
    fputs("</h1>\n<p class=\"about\">", out);
    if (!put_arguments(p, "", out))
        fputs("Report of a run", out);
    fputs("</p>\n<nav aria-label=\"Sections\"><ul>\n", out);
    for (int i = 0; i < p->n_sections; i++)
        fprintf(out, "<li><a href=\"#%s\">%s</a></li>\n", p->section[i].id, p->section[i].title);
    fputs("</ul></nav>\n</header>\n<main>\n", out);
}

static wm_status put_body(wmi_page *p, wm_error *err)
{
    wm_status st;

    if (!p->summary)
        wmi_page_problem(p, "This run has not ended: there is no summary.json yet.");
    wmi_page_answer(p);
    if ((st = wmi_page_columns(p, err)))
        return st;
    wmi_page_reasons(p);
    wmi_page_results(p);
    if ((st = wmi_page_pictures(p, err)) || (st = wmi_page_figures(p, err)) ||
        (st = wmi_page_training(p, err)))
        return st;
    wmi_page_others(p);
    wmi_page_settings(p);
    return WM_OK;
}

static wm_status write_file(const wmi_page *p, const char *path, const char *body, int64_t *bytes,
                            wm_error *err)
{
    wmi_file *file = NULL;
    wm_status st = wmi_file_open(&file, path, err);
    FILE *out;

    if (st)
        return st;
    out = wmi_file_stream(file);
    put_head(p, out);
    fputs(body, out);
    fprintf(out,
            "</main>\n<footer>Made by waymark %s. This file needs no "
            "other.</footer>\n</body>\n</html>\n",
            wm_version());
    *bytes = ftello(out);
    return wmi_file_commit(file, err);
}

wm_status wm_report_write(wm_report_info *info, const char *folder, const char *path,
                          const wm_sink *sink, wm_error *err)
{
    wmi_page p = {.folder = folder, .sink = sink};
    char *body = NULL;
    size_t n = 0;
    int64_t bytes = 0;
    wm_status st;

    if (info)
        *info = (wm_report_info){0};
    if ((st = load_run(&p, err)))
        goto done;
    if (!(p.out = open_memstream(&body, &n))) {
        st = wmi_fail(err, WM_ENOMEM, "no memory for the page");
        goto done;
    }
    st = put_body(&p, err);
    if (fclose(p.out) && !st)
        st = wmi_fail(err, WM_ENOMEM, "no memory for the page");
    if (!st)
        st = write_file(&p, path, body, &bytes, err);
    if (!st && info)
        *info = (wm_report_info){.bytes = bytes, .figures = p.figures, .problems = p.problems};
done:
    free(body);
    json_decref(p.summary);
    json_decref(p.config);
    wmi_arena_free(&p.arena);
    return st;
}
